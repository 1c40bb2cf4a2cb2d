//! Warnings about comparing two runs.

mod of_load;
mod of_runs;

use super::{Comparable, Pair};
use crate::Analysis;

/// One reason to read a comparison with care, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonWarning {
    /// Its kind.
    pub code: ComparisonWarningCode,
    /// The load it is about; `None` for the runs as a whole, and where they have only one load.
    pub regime: Option<String>,
    /// A sentence for people.
    pub text: String,
}

macro_rules! warnings {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $grave:literal;)+) => {
        /// The kinds of warning, grave ones first.
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

            /// Whether it withholds verdicts.
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
    /// One load is open and the other closed: their overheads answer different questions.
    OtherLoadModel = "other_load_model", true;
    /// The baselines differ: overheads are shares of different figures.
    OtherBaseline = "other_baseline", true;
    /// The runs share no load, or no metric of an arm other than the baseline.
    NothingInCommon = "nothing_in_common", true;
    /// It is the same run twice.
    SameRun = "same_run", false;
    /// The plans have different names.
    OtherPlan = "other_plan", false;
    /// A load was measured in one run only.
    LoadMissing = "load_missing", false;
    /// The rates differ.
    OtherRate = "other_rate", false;
    /// The requests differ.
    OtherRequest = "other_request", false;
    /// An arm has different levels or a different role.
    OtherLevel = "other_level", false;
    /// The connections differ.
    OtherConnections = "other_connections", false;
    /// The orders of windows differ.
    OtherOrder = "other_order", false;
    /// The primary metrics differ.
    OtherPrimary = "other_primary", false;
    /// CPU was read from different counters.
    OtherCpuSource = "other_cpu_source", false;
    /// The processors differ.
    OtherMachine = "other_machine", false;
    /// The kernels differ.
    OtherKernel = "other_kernel", false;
    /// Different versions of Windage measured.
    OtherWindage = "other_windage", false;
    /// Only one run's figures include deferred cost: the verdicts on these figures are withheld.
    DeferredInOne = "deferred_in_one", false;
    /// A run is suspect.
    Suspect = "suspect", false;
    /// Some figures of a run are suspect, such as times when the generator was late.
    SuspectMetric = "suspect_metric", false;
    /// A run's A/A control differs from zero.
    ControlDiffers = "control_differs", false;
    /// A run has one launch: launch luck can't be distinguished from a change.
    SingleLaunch = "single_launch", false;
    /// The subject was saturated in one run only.
    SaturatedInOne = "saturated_in_one", false;
}

/// Facts of the machine that affect its speed. A fact that only one run knows is not a difference.
const MACHINE: &[(&str, &str)] = &[
    ("cpu_model", "the processor"),
    ("cpus_online", "cores online"),
    ("virtualised", "virtualisation"),
    ("hypervisor", "the hypervisor"),
    ("cpu_governors", "the governor"),
    ("boost", "boost"),
    ("smt", "threads that share a core"),
];

/// All warnings about the comparison, gravest first.
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

/// Whether a load can be compared, given these warnings.
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

    /// Adds a warning when two values differ.
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
        let text = "A and B are the same run: there is no change to find.".to_owned();
        found.push(ComparisonWarningCode::SameRun, None, text);
    }
    found.unless_same(
        (ComparisonWarningCode::OtherPlan, None),
        [&a.plan, &b.plan],
        |a, b| format!("The plans differ, `{a}` and `{b}`: their arms share only their ids."),
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
                "The baselines differ, {a} in A and {b} in B: overheads are shares of different \
                 figures."
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
                    "The machines differ: {name} was {a} in A, {b} in B. Relative overheads are \
                     less affected by that than absolute ones, but neither is unaffected."
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
                "The kernels differ: {a} in A, {b} in B. System calls of the service and its \
                 telemetry may cost more or less."
            )
        },
    );
}

/// Adds a warning when a fact of the machine differs, where both runs know it.
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
