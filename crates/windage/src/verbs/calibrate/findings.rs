//! What a calibration found: recovery, coverage, false positives, and the effects that are
//! detectable in a given time. Pure functions.

use windage_model::{Difference, Interval, Metric};

use super::observed::{Found, LENGTHS_S, Observed, ObservedArm};
use super::truth::Truth;

/// The metrics whose half-widths are reported.
const OF_CPU: [Metric; 2] = [Metric::CpuPerRequest, Metric::Throughput];
const OF_LATENCY: [Metric; 2] = [Metric::ServiceTimeP10, Metric::ServiceTimeP50];

/// Everything a calibration found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Findings {
    pub(super) recovered: Vec<Recovered>,
    pub(super) counts: Vec<Counts>,
    pub(super) widths: Vec<Width>,
}

/// The cost of one arm, as a whole run found it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recovered {
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

/// How often short experiments of one length were right about one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts {
    pub(super) metric: Metric,
    pub(super) seconds: u32,
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
    /// Length in seconds of the experiments from which it was extrapolated by the square root of
    /// time; `None` if it was measured.
    pub(super) extrapolated_from_s: Option<f64>,
}

impl Recovered {
    /// Whether the interval holds the truth.
    pub(super) fn is_inside(&self) -> bool {
        holds(&self.interval, self.truth)
    }
}

impl Findings {
    pub(super) fn of(cpu: &Observed, latency: &Observed) -> Findings {
        let parts = [
            (cpu, Metric::CpuPerRequest, OF_CPU),
            (latency, Metric::ServiceTimeP50, OF_LATENCY),
        ];
        let mut findings = Findings {
            recovered: Vec::new(),
            counts: Vec::new(),
            widths: Vec::new(),
        };
        for (observed, judged, metrics) in parts {
            let recovered = observed
                .arms
                .iter()
                .filter_map(|arm| recovered(arm, judged));
            findings.recovered.extend(recovered);
            let counted = LENGTHS_S.map(|seconds| counts(observed, judged, seconds));
            findings.counts.extend(counted.into_iter().flatten());
            for metric in metrics {
                let widths = LENGTHS_S.map(|seconds| width(observed, metric, seconds));
                findings.widths.extend(widths.into_iter().flatten());
            }
        }
        findings
    }

    /// The counts for CPU in the shortest experiments, which are the most numerous.
    pub(super) fn headline(&self) -> Option<&Counts> {
        let of_cpu = self
            .counts
            .iter()
            .filter(|c| c.metric == Metric::CpuPerRequest);
        of_cpu.min_by_key(|counts| counts.seconds)
    }
}

fn recovered(arm: &ObservedArm, judged: Metric) -> Option<Recovered> {
    let difference = arm.whole.get(&judged)?;
    let (unit, truth) = expected(arm.truth);
    Some(Recovered {
        arm: arm.name.clone(),
        metric: judged,
        unit,
        truth,
        interval: *interval(difference, unit)?,
    })
}

/// A control is judged as a share, because a microsecond has no fixed size relative to it.
fn expected(truth: Truth) -> (Unit, f64) {
    match truth {
        Truth::Nothing => (Unit::Share, 0.0),
        Truth::Share(share) => (Unit::Share, share),
        Truth::CpuUs(us) | Truth::DelayUs(us) => (Unit::Microseconds, us),
    }
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

/// `None` if the run is too short for such an experiment.
fn counts(observed: &Observed, judged: Metric, seconds: u32) -> Option<Counts> {
    let mut counts = Counts {
        metric: judged,
        seconds,
        inside: 0,
        with_cost: 0,
        false_positives: 0,
        without_cost: 0,
    };
    for arm in &observed.arms {
        let (unit, truth) = expected(arm.truth);
        for found in arm.experiments.get(&seconds).into_iter().flatten() {
            let Some(interval) = found.get(&judged).and_then(|d| interval(d, unit)) else {
                continue;
            };
            if arm.truth == Truth::Nothing {
                counts.without_cost += 1;
                counts.false_positives += usize::from(interval.excludes_zero());
            } else {
                counts.with_cost += 1;
                counts.inside += usize::from(holds(interval, truth));
            }
        }
    }
    (counts.with_cost + counts.without_cost > 0).then_some(counts)
}

/// Half-width and minimum detectable effect from one experiment.
type Sharpness = (f64, f64);

/// `None` if nothing was found for the metric.
fn width(observed: &Observed, metric: Metric, seconds: u32) -> Option<Width> {
    let controls = || {
        observed
            .arms
            .iter()
            .filter(|arm| arm.truth == Truth::Nothing)
    };
    let of_length = |length: u32| -> Vec<Sharpness> {
        let found = controls().filter_map(|arm| arm.experiments.get(&length));
        found
            .flatten()
            .filter_map(|f| sharpness(f, metric))
            .collect()
    };
    let measured = LENGTHS_S
        .into_iter()
        .filter(|length| *length <= seconds)
        .rev();
    let longest = measured
        .map(|length| (f64::from(length), of_length(length)))
        .find(|(_, found)| !found.is_empty());
    let (from_s, found) = longest.or_else(|| {
        let whole: Vec<Sharpness> = controls()
            .filter_map(|a| sharpness(&a.whole, metric))
            .collect();
        let whole_s = median(controls().map(|arm| arm.whole_s).collect())?;
        (!whole.is_empty()).then_some((whole_s, whole))
    })?;
    let is_measured = from_s == f64::from(seconds);
    let narrower = (from_s / f64::from(seconds)).sqrt();
    let median_of = |value: fn(&Sharpness) -> f64| median(found.iter().map(value).collect());
    Some(Width {
        metric,
        seconds,
        half_width: median_of(|s| s.0)? * narrower,
        minimum_detectable_effect: median_of(|s| s.1)? * narrower,
        experiments: found.len(),
        extrapolated_from_s: (!is_measured).then_some(from_s),
    })
}

fn sharpness(found: &Found, metric: Metric) -> Option<Sharpness> {
    let difference = found.get(&metric)?;
    let half_width = difference.relative.as_ref()?.half_width();
    Some((half_width, difference.minimum_detectable_effect?))
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
