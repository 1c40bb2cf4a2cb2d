//! From an overhead in two runs to its change and verdict.

use windage_model::{Difference, Interval, Method, Metric, Role, Verdict};
use windage_stats::{BetweenRuns, Confidence, difference};

use super::{Change, ChangeInFamily, ChangeVerdict, ComparedMetric, Side};
use crate::conclude::judge;
use crate::{InFamily, MetricAnalysis, Missing, RunSide};

/// What all metrics of a load share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) margin: f64,
    /// Whether the runs can be compared in it, so that verdicts are given.
    pub(super) judges: bool,
    /// The scatter of CPU per request between runs, as a share; `None` while it is unknown.
    pub(super) between_runs: Option<BetweenRuns>,
}

impl Rules {
    /// The change with the scatter between runs in its interval, where that is known. `whole` is
    /// the baseline's figure in the change's unit: 1 for shares.
    fn widened(&self, metric: Metric, change: Interval, whole: f64) -> Interval {
        let known = self
            .between_runs
            .filter(|_| metric == Metric::CpuPerRequest);
        let ends = known.and_then(|known| {
            let confidence = Confidence::of(change.confidence)?;
            let of_change = BetweenRuns {
                standard_deviation: known.standard_deviation * whole,
                ..known
            };
            of_change.widen((change.estimate, change.low, change.high), confidence)
        });
        match ends {
            Some((low, high)) => Interval {
                low,
                high,
                ..change
            },
            None => change,
        }
    }
}

/// One metric of an arm with the given role, in A and B.
pub(super) fn compared_metric(
    (metric, role): (Metric, Role),
    [a, b]: [Option<&MetricAnalysis>; 2],
    rules: Rules,
) -> ComparedMetric {
    let judged = change_and_verdicts(metric, a, b, rules);
    let (change, verdict, in_family) = match judged {
        Ok((change, verdict, in_family)) => (Ok(change), verdict, in_family),
        Err(missing) => (Err(missing), None, None),
    };
    ComparedMetric {
        a: Side::of(a),
        b: Side::of(b),
        change,
        verdict,
        has_family: role == Role::Treatment,
        in_family,
    }
}

type Judged = (Change, Option<ChangeVerdict>, Option<ChangeInFamily>);

fn change_and_verdicts(
    metric: Metric,
    a: Option<&MetricAnalysis>,
    b: Option<&MetricAnalysis>,
    rules: Rules,
) -> Result<Judged, Missing> {
    let (a, b) = (measured(a, RunSide::A)?, measured(b, RunSide::B)?);
    let (of_a, of_b) = (found(a, RunSide::A)?, found(b, RunSide::B)?);
    let widened = |change| rules.widened(metric, change, 1.0);
    let relative = both(&of_b.relative, &of_a.relative).map(widened);
    let baseline = a.baseline.zip(b.baseline).map(|(a, b)| f64::midpoint(a, b));
    let absolute = between(&of_b.absolute, &of_a.absolute)
        .map(|change| rules.widened(metric, change, baseline.unwrap_or_default()));
    let is_judged = relative.is_some();
    // The relative change stands even without a difference, for example when the baseline's own
    // figure is unknown.
    let absolute = absolute
        .or_else(|| is_judged.then(|| endless(&of_b.absolute, &of_a.absolute)))
        .ok_or(Missing::UnboundedInRun)?;
    let at_90 = both(&of_b.relative_90, &of_a.relative_90).map(widened);
    let judge = |at_95: &Interval, at_90: &Interval| {
        // A change is judged by the same rules as an overhead.
        judge(at_95, at_90, metric.direction(), rules.margin).into()
    };
    let intervals = relative.as_ref().zip(at_90).filter(|_| rules.judges);
    let verdict = intervals.map(|(at_95, at_90)| judge(at_95, &at_90));
    let families = a
        .inference
        .in_family
        .as_ref()
        .zip(b.inference.in_family.as_ref());
    let in_family = families
        .filter(|_| verdict.is_some())
        .and_then(|(a, b)| in_family(a, b, widened, judge));
    Ok((Change { relative, absolute }, verdict, in_family))
}

fn measured(side: Option<&MetricAnalysis>, run: RunSide) -> Result<&MetricAnalysis, Missing> {
    side.ok_or(Missing::NotInRun(run))
}

fn found(side: &MetricAnalysis, run: RunSide) -> Result<&Difference, Missing> {
    side.difference.as_ref().map_err(|missing| match missing {
        Missing::Baseline => Missing::Baseline,
        missing => Missing::InRun(run, Box::new(missing.clone())),
    })
}

/// B − A, where both have a value.
fn both(b: &Option<Interval>, a: &Option<Interval>) -> Option<Interval> {
    between(b.as_ref()?, a.as_ref()?)
}

/// B − A at the confidence that both share; `None` when an end is not finite.
fn between(b: &Interval, a: &Interval) -> Option<Interval> {
    let ends = |of: &Interval| (of.estimate, of.low, of.high);
    Some(of_both(b, a, difference(ends(b), ends(a))?))
}

/// B − A where an end of either is not finite.
fn endless(b: &Interval, a: &Interval) -> Interval {
    of_both(b, a, (f64::NEG_INFINITY, f64::INFINITY))
}

fn of_both(b: &Interval, a: &Interval, (low, high): (f64, f64)) -> Interval {
    Interval {
        estimate: b.estimate - a.estimate,
        low,
        high,
        confidence: a.confidence.min(b.confidence),
        method: Method::Mover,
    }
}

/// The change at each run's family-wise confidence. The changes of one family are those that are in
/// the same family in A and in the same family in B. Neither run has fewer comparisons in its
/// family, so none are left uncounted.
fn in_family(
    a: &InFamily,
    b: &InFamily,
    widened: impl Fn(Interval) -> Interval,
    judge: impl Fn(&Interval, &Interval) -> ChangeVerdict,
) -> Option<ChangeInFamily> {
    let interval = widened(between(&b.interval, &a.interval)?);
    let at_90 = widened(both(&b.interval_90, &a.interval_90)?);
    Some(ChangeInFamily {
        family: a.family,
        comparisons: a.comparisons.min(b.comparisons),
        verdict: judge(&interval, &at_90),
        interval,
    })
}

impl From<Verdict> for ChangeVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Costs => ChangeVerdict::Increased,
            Verdict::Saves => ChangeVerdict::Decreased,
            Verdict::Negligible => ChangeVerdict::Unchanged,
            Verdict::Inconclusive => ChangeVerdict::Inconclusive,
        }
    }
}
