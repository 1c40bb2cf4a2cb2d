//! Overheads for programs that keep them: Bencher and github-action-benchmark.

use std::collections::BTreeMap;

use serde::Serialize;
use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis};
use windage_model::{Direction, Interval, Metric, Role};

use super::unusable;
use crate::fact::one_line;
use crate::number;

/// What an arm costs over the baseline; less than zero if it saves.
struct Overhead<'a> {
    analysis: &'a Analysis,
    arm: &'a ArmAnalysis,
    metric: Metric,
    /// In per cent where there is a ratio, else in the metric's unit.
    cost: Interval,
    unit: &'static str,
}

/// The overhead of every treatment in the run's primary metric and in those that have a budget. A
/// void run has none, nor has one of two revisions, whose arms are all compared with the base.
fn overheads(analyses: &[Analysis]) -> Vec<Overhead<'_>> {
    let is_usable = |of: &&Analysis| unusable(of).is_none() && of.revisions.is_none();
    let usable = analyses.iter().filter(is_usable);
    let arms = usable.flat_map(|analysis| analysis.arms.iter().map(move |arm| (analysis, arm)));
    let treatments = arms.filter(|(_, arm)| arm.role == Role::Treatment);
    let all = treatments.flat_map(|(analysis, arm)| {
        let kept = arm.metrics.iter().filter(move |(metric, _)| {
            let mut budgets = arm.budgets.iter();
            **metric == analysis.primary || budgets.any(|of| of.budget.metric == **metric)
        });
        kept.filter_map(move |(metric, of)| {
            let (cost, unit) = cost(*metric, of)?;
            Some(Overhead {
                analysis,
                arm,
                metric: *metric,
                cost,
                unit,
            })
        })
    });
    all.collect()
}

fn cost(metric: Metric, of: &MetricAnalysis) -> Option<(Interval, &'static str)> {
    let difference = of.difference.as_ref().ok()?;
    let (found, factor, unit) = match &difference.relative {
        Some(share) => (share, 100.0, "%"),
        None => (&difference.absolute, 1.0, metric.unit().as_str()),
    };
    let (sign, [low, high]) = match metric.direction() {
        Direction::Lower => (1.0, [found.low, found.high]),
        // Where more is better, less is the cost.
        Direction::Higher => (-1.0, [found.high, found.low]),
    };
    let scaled = |value: f64| value * sign * factor;
    let cost = Interval {
        estimate: scaled(found.estimate),
        low: scaled(low),
        high: scaled(high),
        ..*found
    };
    // JSON has no infinity.
    let is_finite = cost.low.is_finite() && cost.high.is_finite();
    is_finite.then_some((cost, unit))
}

#[derive(Serialize)]
struct BencherMetric {
    value: f64,
    lower_value: f64,
    upper_value: f64,
}

/// Overheads in Bencher's metric format: a benchmark for each plan and arm, a measure for each
/// metric. <https://bencher.dev/docs/reference/bencher-metric-format>
#[must_use]
pub fn bencher(analyses: &[Analysis]) -> String {
    let mut benchmarks: BTreeMap<String, BTreeMap<String, BencherMetric>> = BTreeMap::new();
    for of in overheads(analyses) {
        let benchmark = format!("{}: {}", of.analysis.plan, one_line(&of.arm.name));
        let measure = format!("overhead of {}, {}", of.metric.as_str(), of.unit);
        let metric = BencherMetric {
            value: of.cost.estimate,
            lower_value: of.cost.low,
            upper_value: of.cost.high,
        };
        benchmarks
            .entry(benchmark)
            .or_default()
            .insert(measure, metric);
    }
    pretty(&benchmarks)
}

#[derive(Serialize)]
struct ActionEntry {
    name: String,
    unit: &'static str,
    value: f64,
    range: String,
    extra: String,
}

/// Overheads for github-action-benchmark, as its tool `customSmallerIsBetter` reads them.
/// <https://github.com/benchmark-action/github-action-benchmark>
#[must_use]
pub fn benchmark_action(analyses: &[Analysis]) -> String {
    let entry = |of: Overhead<'_>| ActionEntry {
        name: format!(
            "{}: {}: overhead of {}",
            of.analysis.plan,
            one_line(&of.arm.name),
            of.metric.as_str()
        ),
        unit: of.unit,
        value: of.cost.estimate,
        range: format!(
            "{} to {}",
            number::plain(of.cost.low),
            number::plain(of.cost.high)
        ),
        extra: format!(
            "run {}, {} intervals",
            of.analysis.run,
            number::percent_short(of.cost.confidence)
        ),
    };
    let entries: Vec<ActionEntry> = overheads(analyses).into_iter().map(entry).collect();
    pretty(&entries)
}

fn pretty(value: &impl Serialize) -> String {
    // Text, and figures that are finite: nothing that JSON can't hold.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text + "\n"
}
