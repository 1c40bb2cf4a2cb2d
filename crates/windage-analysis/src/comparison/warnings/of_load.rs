//! Warnings about comparing two runs under one load.

use windage_model::{Metric, Role};

use super::{ComparisonWarningCode, Found, of_runs};
use crate::comparison::{Pair, listed, regime, same_arm};
use crate::{Analysis, ArmAnalysis};

pub(super) fn of_load(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    let of = |code| (code, regime(pair));
    let (of_a, of_b) = (&a.design, &b.design);
    let models = [of_a.load, of_b.load].map(|load| load.as_str());
    found.unless_same(of(ComparisonWarningCode::OtherLoadModel), models, |a, b| {
        format!("The kinds of load differ: {a} in A, {b} in B.")
    });
    let rates = [of_a.rate_per_s, of_b.rate_per_s];
    found.unless_same(of(ComparisonWarningCode::OtherRate), rates, |a, b| {
        let [a, b] = [a, b].map(|rate| rate.map_or("none".to_owned(), |rate| format!("{rate}/s")));
        format!("The rates differ: {a} in A, {b} in B.")
    });
    let connections = [of_a.connections, of_b.connections];
    found.unless_same(
        of(ComparisonWarningCode::OtherConnections),
        connections,
        |a, b| format!("Connections per arm differ: {a} in A, {b} in B."),
    );
    if let (Some(of_a), Some(of_b)) = (&of_a.request, &of_b.request) {
        found.unless_same(
            of(ComparisonWarningCode::OtherRequest),
            [of_a, of_b],
            |a, b| format!("The requests differ: {a} in A, {b} in B."),
        );
    }
    of_arms(found, pair);
    of_design(found, pair);
    of_runs::of_both(found, pair);
    if !has_common(a, b) {
        let text = "No arm except the baseline has a metric in both runs.".to_owned();
        found.push(ComparisonWarningCode::NothingInCommon, regime(pair), text);
    }
    for (name, [run, other]) in [("A", [a, b]), ("B", [b, a])] {
        let alone = saturated_alone(run, other);
        if !alone.is_empty() {
            let text = format!(
                "Only in run {name} was the subject saturated ({}): overhead at saturation and \
                 overhead below it answer different questions.",
                listed(&alone)
            );
            found.push(ComparisonWarningCode::SaturatedInOne, regime(pair), text);
        }
    }
}

fn of_arms(found: &mut Found, pair: Pair<'_>) {
    let is_other = |a: &ArmAnalysis, b: &ArmAnalysis| (&a.levels, a.role) != (&b.levels, b.role);
    let other = shared_arms(pair.0, pair.1).filter(|(a, b)| is_other(a, b));
    let other: Vec<&str> = other.map(|(arm, _)| arm.id.as_str()).collect();
    if !other.is_empty() {
        let text = format!(
            "Arms of the same id differ in levels or role: {}.",
            listed(&other)
        );
        found.push(ComparisonWarningCode::OtherLevel, regime(pair), text);
    }
}

fn of_design(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    let of = |code| (code, regime(pair));
    let (of_a, of_b) = (&a.design, &b.design);
    let orders = [of_a.order, of_b.order].map(|order| order.as_str());
    found.unless_same(of(ComparisonWarningCode::OtherOrder), orders, |a, b| {
        format!("The orders of windows differ: {a} in A, {b} in B.")
    });
    let sources = [of_a.cpu_source, of_b.cpu_source].map(|source| source.as_str());
    found.unless_same(
        of(ComparisonWarningCode::OtherCpuSource),
        sources,
        |a, b| format!("CPU was read from {a} in A and {b} in B, which count differently."),
    );
    found.unless_same(
        of(ComparisonWarningCode::OtherPrimary),
        [a.primary, b.primary],
        |a, b| {
            let [a, b] = [a, b].map(|metric| metric.as_str());
            format!("The primary metric is {a} in A and {b} in B; the comparison uses {a}.")
        },
    );
}

/// Arms that both runs have, in pairs.
pub(super) fn shared_arms<'a>(
    of: &'a Analysis,
    other: &'a Analysis,
) -> impl Iterator<Item = (&'a ArmAnalysis, &'a ArmAnalysis)> {
    let arms = of.arms.iter();
    arms.filter_map(|arm| Some((arm, same_arm(other, arm)?)))
}

fn has_common(a: &Analysis, b: &Analysis) -> bool {
    let mut pairs = shared_arms(a, b).filter(|(arm, _)| arm.role != Role::Baseline);
    pairs.any(|(a, b)| {
        let mut metrics = a.metrics.keys();
        metrics.any(|&metric| is_in_both(metric, a, b))
    })
}

/// Whether an arm's overhead is known in both runs.
pub(super) fn is_in_both(metric: Metric, a: &ArmAnalysis, b: &ArmAnalysis) -> bool {
    [a, b].into_iter().all(|arm| {
        let of = arm.metrics.get(&metric);
        of.is_some_and(|of| of.difference.is_ok())
    })
}

/// Ids of arms that were saturated in only one run.
fn saturated_alone<'a>(run: &'a Analysis, other: &'a Analysis) -> Vec<&'a str> {
    let is_saturated = |arm: &ArmAnalysis| arm.metrics.values().any(|of| of.saturated);
    let shared = shared_arms(run, other);
    let alone = shared.filter(|(arm, in_other)| is_saturated(arm) && !is_saturated(in_other));
    alone.map(|(arm, _)| arm.id.as_str()).collect()
}
