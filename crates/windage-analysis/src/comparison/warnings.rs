//! What speaks against comparing two runs.

mod of_load;
mod of_runs;

use super::{Comparable, Pair};
use crate::Analysis;

/// One reason to read a comparison with care, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonWarning {
    /// Its kind.
    pub code: ComparisonWarningCode,
    /// The load that it is about; `None` for the runs as a whole, and where they have only one.
    pub regime: Option<String>,
    /// A sentence for people.
    pub text: String,
}

macro_rules! warnings {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $grave:literal;)+) => {
        /// The kinds of warning, the grave ones first.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ComparisonWarningCode { $($(#[doc = $doc])+ $variant,)+ }

        impl ComparisonWarningCode {
            /// Every code.
            pub const ALL: &'static [ComparisonWarningCode] = &[$(ComparisonWarningCode::$variant,)+];

            /// The code used in files.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(ComparisonWarningCode::$variant => $name,)+ }
            }

            /// Whether verdicts are withheld for it.
            #[must_use]
            pub fn is_grave(self) -> bool {
                match self { $(ComparisonWarningCode::$variant => $grave,)+ }
            }
        }
    };
}

warnings! {
    /// A run is void.
    Void = "void", true;
    /// The kinds of load differ: overheads under an open and a closed loop answer different
    /// questions.
    OtherLoadModel = "other_load_model", true;
    /// The baselines differ: overheads are shares of different things.
    OtherBaseline = "other_baseline", true;
    /// No load, or no arm but the baseline with a metric, is in both.
    NothingInCommon = "nothing_in_common", true;
    /// It is the same run twice.
    SameRun = "same_run", false;
    /// The plans have different names.
    OtherPlan = "other_plan", false;
    /// A load was measured in one run only.
    LoadMissing = "load_missing", false;
    /// The rates differ.
    OtherRate = "other_rate", false;
    /// What is asked for differs.
    OtherRequest = "other_request", false;
    /// An arm of both has other levels or another role.
    OtherLevel = "other_level", false;
    /// The connections differ.
    OtherConnections = "other_connections", false;
    /// The orders of windows differ.
    OtherOrder = "other_order", false;
    /// The runs answer by different metrics.
    OtherPrimary = "other_primary", false;
    /// CPU was read from different counters.
    OtherCpuSource = "other_cpu_source", false;
    /// The processors differ.
    OtherMachine = "other_machine", false;
    /// The kernels differ.
    OtherKernel = "other_kernel", false;
    /// Other versions of windage measured.
    OtherWindage = "other_windage", false;
    /// What arms do later for their requests is in the figures of one run only: the verdicts of
    /// these figures are withheld.
    DeferredInOne = "deferred_in_one", false;
    /// A run is suspect.
    Suspect = "suspect", false;
    /// Single figures of a run are suspect, such as times that the generator was late for.
    SuspectMetric = "suspect_metric", false;
    /// The control of a run is not zero.
    ControlDiffers = "control_differs", false;
    /// A run has one launch: its luck can't be told from a change.
    SingleLaunch = "single_launch", false;
    /// The subject was saturated in one run only.
    SaturatedInOne = "saturated_in_one", false;
}

/// Facts of the machine by which its speed is another one. What one of the runs does not know is none.
const MACHINE: &[(&str, &str)] = &[
    ("cpu_model", "the processor"),
    ("cpus_online", "cores online"),
    ("virtualised", "virtualisation"),
    ("hypervisor", "the hypervisor"),
    ("cpu_governors", "the governor"),
    ("boost", "boost"),
    ("smt", "threads that share a core"),
];

/// Everything that speaks against it, the gravest first.
pub(super) fn warnings(
    a: &Analysis,
    b: &Analysis,
    pairs: &[Pair<'_>],
    lone_loads: [&[String]; 2],
) -> Vec<ComparisonWarning> {
    let mut found = Found::default();
    of_runs(&mut found, a, b);
    for (run, loads) in ["A", "B"].into_iter().zip(lone_loads) {
        for load in loads {
            let text = format!("Only run {run} has the load `{load}`.");
            found.push(ComparisonWarningCode::LoadMissing, None, text);
        }
    }
    if pairs.is_empty() {
        let text = "The runs have no load in common.".to_owned();
        found.push(ComparisonWarningCode::NothingInCommon, None, text);
    }
    for pair in pairs {
        of_load::of_load(&mut found, *pair);
    }
    found.0.sort_by_key(|warning| warning.code);
    found.0
}

/// What these warnings leave of a load.
pub(super) fn comparable(warnings: &[ComparisonWarning], regime: Option<&str>) -> Comparable {
    let about = |warning: &&ComparisonWarning| {
        warning.regime.is_none() || warning.regime.as_deref() == regime
    };
    let of_load = || warnings.iter().filter(about);
    if of_load().any(|warning| warning.code.is_grave()) {
        Comparable::No
    } else if of_load().next().is_some() {
        Comparable::WithCare
    } else {
        Comparable::Yes
    }
}

#[derive(Default)]
struct Found(Vec<ComparisonWarning>);

impl Found {
    fn push(&mut self, code: ComparisonWarningCode, regime: Option<String>, text: String) {
        self.0.push(ComparisonWarning { code, regime, text });
    }

    /// When two values are not the same.
    fn unless_same<T: PartialEq>(
        &mut self,
        (code, regime): (ComparisonWarningCode, Option<String>),
        [a, b]: [T; 2],
        text: impl Fn(&T, &T) -> String,
    ) {
        if a != b {
            let text = text(&a, &b);
            self.push(code, regime, text);
        }
    }
}

fn of_runs(found: &mut Found, a: &Analysis, b: &Analysis) {
    if (&a.run, &a.started) == (&b.run, &b.started) {
        let text = "A and B are the same run: there is nothing to find.".to_owned();
        found.push(ComparisonWarningCode::SameRun, None, text);
    }
    found.unless_same(
        (ComparisonWarningCode::OtherPlan, None),
        [&a.plan, &b.plan],
        |a, b| {
            format!(
                "The plans are different ones, `{a}` and `{b}`: what arms share is their id alone."
            )
        },
    );
    found.unless_same(
        (ComparisonWarningCode::OtherWindage, None),
        [&a.windage, &b.windage],
        |a, b| format!("A was measured by windage {a}, B by windage {b}."),
    );
    found.unless_same(
        (ComparisonWarningCode::OtherBaseline, None),
        [a, b].map(super::baseline_id),
        |a, b| {
            let [a, b] = [a, b].map(|id| id.map_or("none".to_owned(), |id| format!("`{id}`")));
            format!(
                "The baselines differ, {a} and then {b}: overheads are shares of different things."
            )
        },
    );
    for (key, name) in MACHINE {
        of_host(
            found,
            [a, b],
            (ComparisonWarningCode::OtherMachine, key),
            |a, b| {
                format!(
                    "The machines differ: {name} was {a}, then {b}. Shares of the baseline survive \
                 that better than differences in time do, and neither does wholly."
                )
            },
        );
    }
    of_host(
        found,
        [a, b],
        (ComparisonWarningCode::OtherKernel, "kernel"),
        |a, b| {
            format!(
                "The kernels differ: {a}, then {b}. What service and telemetry ask of the kernel may \
             cost something else."
            )
        },
    );
}

/// When a fact of the machine is not the same, where both runs know it.
fn of_host(
    found: &mut Found,
    runs: [&Analysis; 2],
    (code, key): (ComparisonWarningCode, &str),
    text: impl Fn(&str, &str) -> String,
) {
    let known = runs.map(|run| run.host.get(key).and_then(super::differs::text));
    if let [Some(a), Some(b)] = known {
        found.unless_same((code, None), [a, b], |a, b| text(a, b));
    }
}
