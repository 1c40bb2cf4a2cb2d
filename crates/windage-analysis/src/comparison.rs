//! Compares two runs of one plan, A the reference: did the overhead change?
//!
//! Overheads are compared, not the arms' own figures: each overhead is relative to a baseline
//! measured beside it, so a machine that became faster changes both sides. The runs are
//! independent, so their intervals combine as those of independent estimates
//! ([`windage_stats::difference`]).

mod change;
mod deferred;
mod differs;
mod metric;
mod plan_diff;
mod shared_arms;
#[cfg(test)]
mod tests;
mod warnings;

use std::collections::BTreeMap;

use windage_model::{ArmId, Metric, Role, Soundness};
use windage_record::{RecordError, RunDir};
use windage_stats::BetweenRuns;

use crate::of_run_directory;
use crate::{Analysis, ArmAnalysis};

pub use differs::{Differing, Differs};
pub use metric::{Change, ChangeInFamily, ChangeVerdict, ComparedMetric, Side};
pub use plan_diff::{PlanLine, PlanTag};
pub use warnings::{ComparisonEvidence, ComparisonWarning, ComparisonWarningCode};

/// The comparison of two runs, and the differences between their plans.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// The results.
    pub comparison: Comparison,
    /// The resolved plans compared line by line; `None` where one of them is unknown.
    pub plan_diff: Option<Vec<PlanLine>>,
}

impl Compared {
    /// Compares two analysed runs, with the texts of their resolved plans.
    #[must_use]
    pub fn new(a: &Analysis, b: &Analysis, plans: Option<[&str; 2]>) -> Compared {
        Compared {
            comparison: compare(a, b),
            plan_diff: plans.map(|[a, b]| plan_diff::plan_diff(a, b)),
        }
    }

    /// Reads and compares two runs.
    ///
    /// # Errors
    /// When one of them can't be read.
    pub fn of_run_directories(a: &RunDir, b: &RunDir) -> Result<Compared, RecordError> {
        let plans = a.resolved_text().ok().zip(b.resolved_text().ok());
        let plans = plans.as_ref().map(|(a, b)| [a.as_str(), b.as_str()]);
        let (a, b) = (of_run_directory(a)?, of_run_directory(b)?);
        Ok(Compared::new(&a, &b, plans))
    }
}

/// Two runs: A the earlier or the reference, B the later.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The reference run.
    pub a: ComparedRun,
    /// The run that is compared with it.
    pub b: ComparedRun,
    /// Warnings about the comparison, gravest first.
    pub warnings: Vec<ComparisonWarning>,
    /// Each load that both have, in A's order.
    pub loads: Vec<ComparedLoad>,
    /// Loads that only A has, by name.
    pub only_in_a: Vec<String>,
    /// Loads that only B has, by name.
    pub only_in_b: Vec<String>,
    /// What differs between the runs.
    pub differs: Differs,
    /// The scatter of `cpu_per_request` between runs of this machine, as a share of the baseline,
    /// which intervals of its changes include; `None` while it is unknown.
    pub between_runs: Option<BetweenRuns>,
}

impl Comparison {
    /// Keeps only these metrics; the first of them becomes the primary one.
    ///
    /// # Errors
    /// The first of them that neither run has for any arm but the baseline; nothing is removed
    /// then.
    pub fn only(&mut self, metrics: &[Metric]) -> Result<(), Metric> {
        let arms = || self.loads.iter().flat_map(|load| &load.arms);
        let compared = || arms().filter(|arm| arm.role != Role::Baseline);
        let has = |metric: &Metric| compared().any(|arm| arm.metrics.contains_key(metric));
        if let Some(&absent) = metrics.iter().find(|metric| !has(metric)) {
            return Err(absent);
        }
        for load in &mut self.loads {
            load.primary = metrics.first().copied().unwrap_or(load.primary);
            for arm in &mut load.arms {
                arm.metrics.retain(|metric, _| metrics.contains(metric));
            }
        }
        Ok(())
    }

    /// Whether the runs can be compared: not at all where no load can, with care where there is any
    /// warning.
    #[must_use]
    pub fn comparable(&self) -> Comparable {
        let of_loads = self.loads.iter().map(|load| load.comparable);
        let best = of_loads.min().unwrap_or(Comparable::No);
        match best {
            Comparable::Yes if !self.warnings.is_empty() => Comparable::WithCare,
            best => best,
        }
    }
}

/// Identifies a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedRun {
    /// The run's id.
    pub run: String,
    /// The name by which commands find it.
    pub found_at: String,
    /// The plan's name.
    pub plan: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The version of windage that measured.
    pub windage: String,
    /// Its validity: the worst of its loads.
    pub validity: Soundness,
}

/// Whether one run can be compared with the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparable {
    /// No warning.
    Yes,
    /// Yes, with the warnings in mind.
    WithCare,
    /// Figures are shown, verdicts are withheld.
    No,
}

impl Comparable {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Comparable::Yes => "yes",
            Comparable::WithCare => "with_care",
            Comparable::No => "no",
        }
    }
}

/// Both runs under one load.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedLoad {
    /// The name of the load; `None` where the plans have only one.
    pub regime: Option<String>,
    /// Whether the runs can be compared under it.
    pub comparable: Comparable,
    /// The metric that answers "did the overhead change?".
    pub primary: Metric,
    /// The equivalence margin: the larger of both plans', a share. Smaller changes of an overhead
    /// do not matter.
    pub margin: f64,
    /// Arms that both have, in A's order.
    pub arms: Vec<ComparedArm>,
    /// Arms that only A has.
    pub only_in_a: Vec<LoneArm>,
    /// Arms that only B has.
    pub only_in_b: Vec<LoneArm>,
}

impl ComparedLoad {
    /// The first arm with that role.
    #[must_use]
    pub fn arm_of(&self, role: Role) -> Option<&ComparedArm> {
        self.arms.iter().find(|arm| arm.role == role)
    }
}

/// An arm that only one run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoneArm {
    /// Its id in files.
    pub id: ArmId,
    /// Its name for people.
    pub name: String,
}

/// An arm that both runs have.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedArm {
    /// Its id in files, which identifies it in both runs.
    pub id: ArmId,
    /// Its name for people, as B has it.
    pub name: String,
    /// Its role in B.
    pub role: Role,
    /// Whether it is a bystander in B.
    pub is_bystander: bool,
    /// Metrics that either run has for it.
    pub metrics: BTreeMap<Metric, ComparedMetric>,
}

/// Compares run B with run A.
#[must_use]
pub fn compare(a: &Analysis, b: &Analysis) -> Comparison {
    let pairs = pairs(a, b);
    let in_pairs = |load: &Analysis| {
        let is = |of: &Analysis| std::ptr::eq(of, load);
        pairs.iter().any(|(a, b)| is(a) || is(b))
    };
    let lone = |of: &Analysis| -> Vec<String> {
        let lone = of.regimes().filter(|load| !in_pairs(load));
        lone.map(load_name).collect()
    };
    let (only_in_a, only_in_b) = (lone(a), lone(b));
    let between_runs = between_runs(b).or_else(|| between_runs(a));
    let warnings = warnings::warnings(a, b, &pairs, [&only_in_a, &only_in_b]);
    Comparison {
        loads: pairs
            .iter()
            .map(|(a, b)| under_load(a, b, &warnings, between_runs))
            .collect(),
        differs: differs::differs(a, b, &pairs),
        a: compared_run(a),
        b: compared_run(b),
        warnings,
        only_in_a,
        only_in_b,
        between_runs,
    }
}

/// The scatter between runs that `windage calibrate --runs` found on the run's machine, from enough
/// runs.
fn between_runs(of: &Analysis) -> Option<BetweenRuns> {
    let kept = of
        .host
        .pointer("/calibration/between_runs/cpu_per_request")?;
    let figure = |name: &str| kept.get(name)?.as_f64().filter(|value| *value >= 0.0);
    let runs = kept.get("runs")?.as_u64()?;
    let found = BetweenRuns {
        standard_deviation: figure("standard_deviation")?,
        low: figure("low")?,
        high: figure("high")?,
        runs: usize::try_from(runs).ok()?,
    };
    found.is_known().then_some(found)
}

/// A load of both runs.
type Pair<'a> = (&'a Analysis, &'a Analysis);

/// Pairs loads by name. A load without a name, because its run has only one, is named by its kind;
/// the only loads of both runs are always paired.
fn pairs<'a>(a: &'a Analysis, b: &'a Analysis) -> Vec<Pair<'a>> {
    if a.other_loads.is_empty() && b.other_loads.is_empty() {
        return vec![(a, b)];
    }
    let is_same = |one: &Analysis, other: &Analysis| match (&one.regime, &other.regime) {
        (Some(one), Some(other)) => one == other,
        _ => {
            let scope = |of: &Analysis| {
                let design = &of.design;
                (design.load, design.rate_per_s, design.connections)
            };
            scope(one) == scope(other)
        }
    };
    let mut left: Vec<&Analysis> = b.regimes().collect();
    let mut pairs = Vec::new();
    for one in a.regimes() {
        if let Some(at) = left.iter().position(|other| is_same(one, other)) {
            pairs.push((one, left.remove(at)));
        }
    }
    pairs
}

/// The name of a load, or its kind where it has no name.
fn load_name(load: &Analysis) -> String {
    let kind = || load.design.load.as_str().to_owned();
    load.regime.clone().unwrap_or_else(kind)
}

fn regime((a, b): Pair<'_>) -> Option<String> {
    a.regime.clone().or_else(|| b.regime.clone())
}

fn compared_run(of: &Analysis) -> ComparedRun {
    let worst = of.regimes().map(|load| load.validity.soundness()).max();
    ComparedRun {
        run: of.run.clone(),
        found_at: of.found_at.clone(),
        plan: of.plan.clone(),
        started: of.started.clone(),
        windage: of.windage.clone(),
        validity: worst.unwrap_or(Soundness::Valid),
    }
}

fn under_load(
    a: &Analysis,
    b: &Analysis,
    warnings: &[ComparisonWarning],
    between_runs: Option<BetweenRuns>,
) -> ComparedLoad {
    let regime = regime((a, b));
    let comparable = warnings::comparable(warnings, regime.as_deref());
    let margin = a.design.margin.max(b.design.margin);
    let rules = change::Rules {
        margin,
        judges: comparable != Comparable::No,
        between_runs,
    };
    let arms = a.arms.iter().filter_map(|in_a| {
        let in_b = same_arm(b, in_a)?;
        Some(compared_arm(in_a, in_b, rules))
    });
    ComparedLoad {
        arms: arms.collect(),
        only_in_a: lone_arms(a, b),
        only_in_b: lone_arms(b, a),
        primary: a.primary,
        regime,
        comparable,
        margin,
    }
}

/// The arm with which overheads are compared; `None` for a run without a baseline.
fn baseline_id(of: &Analysis) -> Option<&ArmId> {
    let mut arms = of.arms.iter();
    arms.find(|arm| arm.role == Role::Baseline)
        .map(|arm| &arm.id)
}

fn same_arm<'a>(of: &'a Analysis, arm: &ArmAnalysis) -> Option<&'a ArmAnalysis> {
    of.arms.iter().find(|other| other.id == arm.id)
}

fn lone_arms(of: &Analysis, other: &Analysis) -> Vec<LoneArm> {
    let lone = of.arms.iter().filter(|arm| same_arm(other, arm).is_none());
    lone.map(|arm| LoneArm {
        id: arm.id.clone(),
        name: arm.name.clone(),
    })
    .collect()
}

fn compared_arm(a: &ArmAnalysis, b: &ArmAnalysis, rules: change::Rules) -> ComparedArm {
    let of_any = |metric: &Metric| a.metrics.contains_key(metric) || b.metrics.contains_key(metric);
    let metrics = Metric::ALL.iter().copied().filter(of_any);
    let compared = |metric: Metric| {
        let sides = [a.metrics.get(&metric), b.metrics.get(&metric)];
        let judges = rules.judges && !deferred::is_in_one(metric, [a, b]);
        let rules = change::Rules { judges, ..rules };
        let found = change::compared_metric((metric, b.role), sides, rules);
        (metric, found)
    };
    ComparedArm {
        id: b.id.clone(),
        name: b.name.clone(),
        role: b.role,
        is_bystander: b.bystander_of.is_some(),
        metrics: metrics.map(compared).collect(),
    }
}
