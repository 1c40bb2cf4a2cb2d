//! Warnings about comparing two runs under one load.

use windage_model::{Metric, Role};

use super::{ComparisonEvidence, ComparisonWarningCode, Found, of_runs};
use crate::comparison::shared_arms::{is_in_both, shared_arms};
use crate::comparison::{Pair, regime};
use crate::{Analysis, ArmAnalysis, Measured, RunSide};

pub(super) fn of_load(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    let of = |code| (code, regime(pair));
    let (of_a, of_b) = (&a.design, &b.design);
    let models = [of_a.load, of_b.load].map(|load| Some(load.as_str()));
    found.unless_same(of(ComparisonWarningCode::OtherLoadModel), models);
    let rates = [of_a.rate_per_s, of_b.rate_per_s];
    found.unless_same(of(ComparisonWarningCode::OtherRate), rates);
    let connections = [of_a.connections, of_b.connections].map(Some);
    found.unless_same(of(ComparisonWarningCode::OtherConnections), connections);
    if let (Some(of_a), Some(of_b)) = (&of_a.request, &of_b.request) {
        let requests = [Some(of_a), Some(of_b)];
        found.unless_same(of(ComparisonWarningCode::OtherRequest), requests);
    }
    of_arms(found, pair);
    of_design(found, pair);
    of_runs::of_both(found, pair);
    if !has_common(a, b) {
        let (code, regime) = of(ComparisonWarningCode::NoCommonMetric);
        found.push(code, regime, ComparisonEvidence::Nothing);
    }
    for (name, [run, other]) in [(RunSide::A, [a, b]), (RunSide::B, [b, a])] {
        let alone = saturated_alone(run, other);
        if !alone.is_empty() {
            let arms = ComparisonEvidence::Items(Some(name), alone);
            found.push(ComparisonWarningCode::SaturatedInOne, regime(pair), arms);
        }
    }
}

fn of_arms(found: &mut Found, pair: Pair<'_>) {
    let is_other = |a: &ArmAnalysis, b: &ArmAnalysis| (&a.levels, a.role) != (&b.levels, b.role);
    let other = shared_arms(pair.0, pair.1).filter(|(a, b)| is_other(a, b));
    let other: Vec<String> = other.map(|(arm, _)| arm.id.to_string()).collect();
    if !other.is_empty() {
        let arms = ComparisonEvidence::Items(None, other);
        found.push(ComparisonWarningCode::OtherLevel, regime(pair), arms);
    }
}

fn of_design(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    let of = |code| (code, regime(pair));
    let (of_a, of_b) = (&a.design, &b.design);
    let orders = [of_a.order, of_b.order].map(|order| Some(order.as_str()));
    found.unless_same(of(ComparisonWarningCode::OtherOrder), orders);
    let measured = [a, b].map(|of| of.measured(Metric::CpuPerRequest).map(Measured::as_str));
    found.unless_same(of(ComparisonWarningCode::MeasuredDifferently), measured);
    let sources = [of_a.cpu_source, of_b.cpu_source].map(|source| Some(source.as_str()));
    found.unless_same(of(ComparisonWarningCode::OtherCpuSource), sources);
    let primaries = [a.primary, b.primary].map(|metric| Some(metric.as_str()));
    found.unless_same(of(ComparisonWarningCode::OtherPrimary), primaries);
}

fn has_common(a: &Analysis, b: &Analysis) -> bool {
    let mut pairs = shared_arms(a, b).filter(|(arm, _)| arm.role != Role::Baseline);
    pairs.any(|(a, b)| {
        let mut metrics = a.metrics.keys();
        metrics.any(|&metric| is_in_both(metric, a, b))
    })
}

/// Ids of arms that were saturated in only one run.
fn saturated_alone(run: &Analysis, other: &Analysis) -> Vec<String> {
    let is_saturated = |arm: &ArmAnalysis| arm.metrics.values().any(|of| of.saturated);
    let shared = shared_arms(run, other);
    let alone = shared.filter(|(arm, in_other)| is_saturated(arm) && !is_saturated(in_other));
    alone.map(|(arm, _)| arm.id.to_string()).collect()
}
