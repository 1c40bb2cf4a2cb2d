//! What a calibration found: recovery, coverage, false positives, bias, the variance between runs,
//! and the effects that are detectable in a given time. Pure functions.

use windage_model::{Difference, Interval, Metric};

use windage_stats::BetweenRuns;

use super::bias::{Bias, biases, scatter_of_runs};
use super::observed::{Estimate, Observed, ObservedArm};
use super::truth::Truth;

/// The lengths of time, in seconds, for which precision is reported.
pub(super) const LENGTHS_S: [u32; 4] = [10, 30, 60, 300];

/// A figure is of such a length if its own differs by no more than this share.
const SAME_LENGTH: f64 = 0.05;

/// The metrics whose half-widths are reported.
const OF_CPU: [Metric; 1] = [Metric::CpuPerRequest];
const OF_LATENCY: [Metric; 2] = [Metric::ServiceTimeP10, Metric::ServiceTimeP50];

/// Everything a calibration found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Findings {
    /// CPU runs.
    pub(super) runs: usize,
    pub(super) recovered: Vec<Recovered>,
    pub(super) counts: Vec<Counts>,
    pub(super) widths: Vec<Width>,
    pub(super) biases: Vec<Bias>,
    /// Of CPU per request, as a share of the baseline; `None` for a single run.
    pub(super) between_runs: Option<BetweenRuns>,
}

/// The cost of one arm, as a whole run found it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recovered {
    /// The run of its part, from 1.
    pub(super) run: usize,
    pub(super) launches: usize,
    pub(super) arm: String,
    pub(super) metric: Metric,
    pub(super) unit: Unit,
    pub(super) truth: f64,
    pub(super) interval: Interval,
}

/// The unit in which a cost is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A share of the baseline.
    Share,
    /// Microseconds.
    Microseconds,
}

/// How often experiments of so many launches ([`LAUNCHES`](super::observed::LAUNCHES)) were right about one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) metric: Metric,
    /// Their mean length: that of a run of one arm and the baseline.
    pub(super) seconds: f64,
    /// Of arms with a cost: how many intervals hold the truth.
    pub(super) inside: usize,
    pub(super) with_cost: usize,
    /// Of arms without a cost: how many intervals exclude zero.
    pub(super) false_positives: usize,
    pub(super) without_cost: usize,
}

/// How precisely a metric is known after a given time, where nothing was injected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Width {
    pub(super) metric: Metric,
    pub(super) seconds: u32,
    /// Median half-width of the interval, as a share.
    pub(super) half_width: f64,
    /// Median of the minimum detectable effect (80 % power), as a share.
    pub(super) minimum_detectable_effect: f64,
    /// How many experiments these are medians of.
    pub(super) experiments: usize,
    /// Length in seconds of the experiments from which it is scaled by the square root of time;
    /// `None` if it was measured.
    pub(super) extrapolated_from_s: Option<f64>,
}

impl Recovered {
    /// Whether the interval holds the truth.
    pub(super) fn is_inside(&self) -> bool {
        holds(&self.interval, self.truth)
    }
}

impl Findings {
    pub(super) fn of(cpu: &[Observed], latency: Option<&Observed>) -> Findings {
        let latency = latency.map_or(&[][..], std::slice::from_ref);
        let parts = [
            (cpu, Metric::CpuPerRequest, &OF_CPU[..]),
            (latency, Metric::ServiceTimeP50, &OF_LATENCY[..]),
        ];
        let mut findings = Findings {
            runs: cpu.len(),
            recovered: Vec::new(),
            counts: Vec::new(),
            widths: Vec::new(),
            biases: biases(cpu),
            between_runs: scatter_of_runs(cpu),
        };
        for (runs, judged, metrics) in parts {
            for (number, observed) in (1..).zip(runs) {
                let arms = observed.arms.iter();
                let found = arms.filter_map(|arm| recovered(number, arm, judged));
                findings.recovered.extend(found);
            }
            findings.counts.extend(counts(runs, judged));
            for &metric in metrics {
                let widths = LENGTHS_S.map(|seconds| width(runs, metric, seconds));
                findings.widths.extend(widths.into_iter().flatten());
            }
        }
        findings
    }

    /// The counts for CPU.
    pub(super) fn headline(&self) -> Option<&Counts> {
        let mut counts = self.counts.iter();
        counts.find(|c| c.metric == Metric::CpuPerRequest)
    }
}

fn recovered(run: usize, arm: &ObservedArm, judged: Metric) -> Option<Recovered> {
    let difference = arm.whole.found.get(&judged)?;
    let unit = arm.truth.unit();
    Some(Recovered {
        run,
        launches: arm.whole.launches,
        arm: arm.name.clone(),
        metric: judged,
        unit,
        truth: arm.truth.size(),
        interval: *interval(difference, unit)?,
    })
}

fn interval(difference: &Difference, unit: Unit) -> Option<&Interval> {
    match unit {
        Unit::Share => difference.relative.as_ref(),
        Unit::Microseconds => Some(&difference.absolute),
    }
}

fn holds(interval: &Interval, truth: f64) -> bool {
    (interval.low..=interval.high).contains(&truth)
}

/// `None` if no run has enough launches for an experiment.
fn counts(runs: &[Observed], judged: Metric) -> Option<Counts> {
    let mut counts = Counts {
        metric: judged,
        seconds: 0.0,
        inside: 0,
        with_cost: 0,
        false_positives: 0,
        without_cost: 0,
    };
    for arm in runs.iter().flat_map(|run| &run.arms) {
        let (unit, truth) = (arm.truth.unit(), arm.truth.size());
        for estimate in &arm.experiments {
            let found = estimate.found.get(&judged);
            let Some(interval) = found.and_then(|d| interval(d, unit)) else {
                continue;
            };
            counts.seconds += estimate.seconds;
            if arm.truth == Truth::Nothing {
                counts.without_cost += 1;
                counts.false_positives += usize::from(interval.excludes_zero());
            } else {
                counts.with_cost += 1;
                counts.inside += usize::from(holds(interval, truth));
            }
        }
    }
    let all = counts.with_cost + counts.without_cost;
    counts.seconds /= all as f64;
    (all > 0).then_some(counts)
}

/// What one experiment shows of a metric's precision.
struct Sharpness {
    seconds: f64,
    half_width: f64,
    minimum_detectable_effect: f64,
}

/// From experiments without a cost, or from whole runs if they are too short for one. `None` if
/// nothing was found for the metric.
fn width(runs: &[Observed], metric: Metric, seconds: u32) -> Option<Width> {
    let controls = || {
        let arms = runs.iter().flat_map(|run| &run.arms);
        arms.filter(|arm| arm.truth == Truth::Nothing)
    };
    let of = |estimates: Vec<&Estimate>| -> Vec<Sharpness> {
        let found = estimates.into_iter().filter_map(|of| sharpness(of, metric));
        found.collect()
    };
    let mut found = of(controls().flat_map(|arm| &arm.experiments).collect());
    if found.is_empty() {
        found = of(controls().map(|arm| &arm.whole).collect());
    }
    let median_of = |value: fn(&Sharpness) -> f64| median(found.iter().map(value).collect());
    let from_s = median_of(|of| of.seconds).filter(|from_s| *from_s > 0.0)?;
    let ratio = from_s / f64::from(seconds);
    let is_measured = (ratio - 1.0).abs() <= SAME_LENGTH;
    let narrower = if is_measured { 1.0 } else { ratio.sqrt() };
    Some(Width {
        metric,
        seconds,
        half_width: median_of(|of| of.half_width)? * narrower,
        minimum_detectable_effect: median_of(|of| of.minimum_detectable_effect)? * narrower,
        experiments: found.len(),
        extrapolated_from_s: (!is_measured).then_some(from_s),
    })
}

fn sharpness(of: &Estimate, metric: Metric) -> Option<Sharpness> {
    let difference = of.found.get(&metric)?;
    Some(Sharpness {
        seconds: of.seconds,
        half_width: difference.relative.as_ref()?.half_width(),
        minimum_detectable_effect: difference.minimum_detectable_effect?,
    })
}

/// The median: the mean of the two middle values if their number is even; `None` if empty.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(values[middle - 1], upper)
    })
}

#[cfg(test)]
#[path = "findings_tests.rs"]
pub(super) mod tests;
