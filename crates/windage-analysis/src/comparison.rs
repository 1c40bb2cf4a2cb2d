//! Two runs of one plan, the later held against the earlier: did the overhead change?
//!
//! What is compared is overheads, not the arms' own figures: each was measured against a baseline
//! beside it, so that a machine that became faster changes both sides of each. The runs know
//! nothing of each other, so that their intervals combine as those of independent estimates
//! ([`windage_stats::difference`]).

mod change;
mod deferred;
mod differs;
mod metric;
mod plan_diff;
#[cfg(test)]
mod tests;
mod warnings;

use std::collections::BTreeMap;

use windage_model::{ArmId, Metric, Role, Soundness};
use windage_record::{RecordError, RunDir};

use crate::of_run_directory;
use crate::{Analysis, ArmAnalysis};

pub use differs::{Differing, Differs};
pub use metric::{Change, ChangeInFamily, ChangeVerdict, ComparedMetric, Side};
pub use plan_diff::{PlanLine, PlanTag};
pub use warnings::{ComparisonWarning, ComparisonWarningCode};

/// What is known of two runs, and what differs between their plans.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// What was concluded.
    pub comparison: Comparison,
    /// The plans as they were resolved, line by line; `None` where one of them is not known.
    pub plan_diff: Option<Vec<PlanLine>>,
}

impl Compared {
    /// Compares two runs that were analysed already, with the texts of their resolved plans.
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

/// Two runs, A the earlier or the reference and B the later.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The run that is held to.
    pub a: ComparedRun,
    /// The run that is held against it.
    pub b: ComparedRun,
    /// What speaks against comparing them, the gravest first.
    pub warnings: Vec<ComparisonWarning>,
    /// Each load that both have, in A's order.
    pub loads: Vec<ComparedLoad>,
    /// Loads that only A has, by name.
    pub only_in_a: Vec<String>,
    /// Loads that only B has, by name.
    pub only_in_b: Vec<String>,
    /// What is not the same in both.
    pub differs: Differs,
}

impl Comparison {
    /// Leaves only these metrics, the first of which is asked first.
    ///
    /// # Errors
    /// The first of them that neither run has for an arm but the baseline; nothing is left out then.
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

    /// Whether the runs can be compared: not at all where no load can, with care where anything
    /// speaks against it.
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

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedRun {
    /// The run's id.
    pub run: String,
    /// The plan's name.
    pub plan: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The version of windage that measured.
    pub windage: String,
    /// How far it may be believed: the worst of its loads.
    pub validity: Soundness,
}

/// Whether one run can be held against the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparable {
    /// Nothing speaks against it.
    Yes,
    /// With the warnings in mind.
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
    /// The metric by which "did the overhead change?" is answered.
    pub primary: Metric,
    /// Changes of an overhead below it do not matter: the larger of both plans', a share.
    pub margin: f64,
    /// Arms that both have, in A's order.
    pub arms: Vec<ComparedArm>,
    /// Arms that only A has.
    pub only_in_a: Vec<LoneArm>,
    /// Arms that only B has.
    pub only_in_b: Vec<LoneArm>,
}

impl ComparedLoad {
    /// The first arm of that role.
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

/// An arm of both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedArm {
    /// Its id in files, by which it was found in both.
    pub id: ArmId,
    /// Its name for people, as B has it.
    pub name: String,
    /// What it is there for in B.
    pub role: Role,
    /// Whether agents are attached in its windows that watch another arm, in B.
    pub is_bystander: bool,
    /// Metrics that any of the runs has of it.
    pub metrics: BTreeMap<Metric, ComparedMetric>,
}

/// Holds run B against run A.
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
    let warnings = warnings::warnings(a, b, &pairs, [&only_in_a, &only_in_b]);
    Comparison {
        loads: pairs
            .iter()
            .map(|(a, b)| under_load(a, b, &warnings))
            .collect(),
        differs: differs::differs(a, b, &pairs),
        a: compared_run(a),
        b: compared_run(b),
        warnings,
        only_in_a,
        only_in_b,
    }
}

/// Names that are told in a sentence.
const TOLD: usize = 5;

/// A load of both runs.
type Pair<'a> = (&'a Analysis, &'a Analysis);

/// Loads by their names; one that has none, because its run had no other, by what it is; the only
/// ones of both in any case.
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

/// The name of a load, or what it is where it has none.
fn load_name(load: &Analysis) -> String {
    let kind = || load.design.load.as_str().to_owned();
    load.regime.clone().unwrap_or_else(kind)
}

fn regime((a, b): Pair<'_>) -> Option<String> {
    a.regime.clone().or_else(|| b.regime.clone())
}

/// Names for a sentence, the first of many.
fn listed(names: &[&str]) -> String {
    let (told, left) = names.split_at(names.len().min(TOLD));
    let mut text = told.join(", ");
    if !left.is_empty() {
        text.push_str(&format!(" and {} more", left.len()));
    }
    text
}

fn compared_run(of: &Analysis) -> ComparedRun {
    let worst = of.regimes().map(|load| load.validity.soundness()).max();
    ComparedRun {
        run: of.run.clone(),
        plan: of.plan.clone(),
        started: of.started.clone(),
        windage: of.windage.clone(),
        validity: worst.unwrap_or(Soundness::Valid),
    }
}

fn under_load(a: &Analysis, b: &Analysis, warnings: &[ComparisonWarning]) -> ComparedLoad {
    let regime = regime((a, b));
    let comparable = warnings::comparable(warnings, regime.as_deref());
    let margin = a.design.margin.max(b.design.margin);
    let rules = change::Rules {
        margin,
        judges: comparable != Comparable::No,
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

/// Against which overheads are told; `None` for a run without a baseline.
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
