//! Warnings about comparing two runs.

mod of_load;
mod of_runs;

use windage_model::WarningCode;

use super::{Comparable, Pair};
use crate::{Analysis, RunSide};

/// One reason to read a comparison with care, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonWarning {
    /// Its kind.
    pub code: ComparisonWarningCode,
    /// The load it is about; `None` for the runs as a whole, and where they have only one load.
    pub regime: Option<String>,
    /// What it is based on.
    pub evidence: ComparisonEvidence,
}

/// What a warning about a comparison is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparisonEvidence {
    /// The code says everything.
    Nothing,
    /// What A and B have; `None` for a side that has none.
    Values([Option<String>; 2]),
    /// A fact about the machine, by its key, and its values in A and B.
    Fact(&'static str, [String; 2]),
    /// One of the runs.
    Run(RunSide),
    /// Ids or codes, of one of the runs or of both.
    Items(Option<RunSide>, Vec<String>),
    /// Warnings about figures of one of the runs, each with the ids of its arms.
    OfArms(RunSide, Vec<(WarningCode, Vec<String>)>),
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
    /// The runs share no load.
    NoCommonLoad = "no_common_load", true;
    /// The runs share no metric of an arm other than the baseline.
    NoCommonMetric = "no_common_metric", true;
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
    /// CPU was measured while arms took turns in one run, and in isolated windows in the other.
    MeasuredDifferently = "measured_differently", false;
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
const MACHINE: &[&str] = &[
    "cpu_model",
    "cpus_online",
    "virtualised",
    "hypervisor",
    "cpu_governors",
    "boost",
    "smt",
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
    for (run, loads) in [RunSide::A, RunSide::B].into_iter().zip(lone_loads) {
        for load in loads {
            let evidence = ComparisonEvidence::Items(Some(run), vec![load.clone()]);
            found.push(ComparisonWarningCode::LoadMissing, None, evidence);
        }
    }
    if pairs.is_empty() {
        let nothing = ComparisonEvidence::Nothing;
        found.push(ComparisonWarningCode::NoCommonLoad, None, nothing);
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
    fn push(
        &mut self,
        code: ComparisonWarningCode,
        regime: Option<String>,
        evidence: ComparisonEvidence,
    ) {
        self.0.push(ComparisonWarning {
            code,
            regime,
            evidence,
        });
    }

    /// Adds a warning when two values differ.
    fn unless_same<T: PartialEq + ToString>(
        &mut self,
        (code, regime): (ComparisonWarningCode, Option<String>),
        values: [Option<T>; 2],
    ) {
        if values[0] != values[1] {
            let values = values.map(|value| value.map(|value| value.to_string()));
            self.push(code, regime, ComparisonEvidence::Values(values));
        }
    }
}

fn of_runs(found: &mut Found, a: &Analysis, b: &Analysis) {
    if (&a.run, &a.started) == (&b.run, &b.started) {
        let nothing = ComparisonEvidence::Nothing;
        found.push(ComparisonWarningCode::SameRun, None, nothing);
    }
    found.unless_same(
        (ComparisonWarningCode::OtherPlan, None),
        [Some(&a.plan), Some(&b.plan)],
    );
    found.unless_same(
        (ComparisonWarningCode::OtherWindage, None),
        [Some(&a.windage), Some(&b.windage)],
    );
    found.unless_same(
        (ComparisonWarningCode::OtherBaseline, None),
        [a, b].map(super::baseline_id),
    );
    for key in MACHINE {
        if let Some(values) = differing_fact(key, [a, b]) {
            let fact = ComparisonEvidence::Fact(key, values);
            found.push(ComparisonWarningCode::OtherMachine, None, fact);
        }
    }
    if let Some(values) = differing_fact("kernel", [a, b]) {
        let values = ComparisonEvidence::Values(values.map(Some));
        found.push(ComparisonWarningCode::OtherKernel, None, values);
    }
}

/// A fact of the machine in both runs, where both know it and it differs.
fn differing_fact(key: &str, runs: [&Analysis; 2]) -> Option<[String; 2]> {
    let [a, b] = runs.map(|run| run.host.get(key).and_then(super::differs::text));
    let (a, b) = a.zip(b)?;
    (a != b).then_some([a, b])
}
