//! Planning figures: how much telemetry fits into a core-second, or into a given CPU time.
//!
//! They are the reciprocals of the cost per span, event or log record, and so are their intervals.

use std::collections::BTreeMap;

use windage_model::{Interval, Metric};

use crate::{Analysis, MetricAnalysis};

/// The default CPU time for which figures are given, in seconds.
const WITHIN_S: f64 = 0.010;

/// Planning figures of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Planning {
    /// The CPU time of `within`, in seconds.
    pub within_s: f64,
    /// For spans; `None` where their cost is unknown or its interval lies below zero.
    pub spans: Option<PlanningFigures>,
    /// For span events, including the cost of their spans; `None` as above, and where none arrived.
    pub events: Option<PlanningFigures>,
    /// For log records.
    pub records: Option<PlanningFigures>,
}

/// How many of a kind fit.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanningFigures {
    /// Into one second of one core.
    pub per_core_second: Room,
    /// Into [`Planning::within_s`].
    pub within: Room,
}

/// A number of them, the reciprocal of the cost's interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Room {
    /// The point estimate; `None` where the estimated cost is zero or negative.
    pub estimate: Option<f64>,
    /// The lower end.
    pub low: f64,
    /// The upper end; `None` where the cost may be zero, so that there is no upper bound.
    pub high: Option<f64>,
    /// The confidence of the cost's interval, and so of this one.
    pub confidence: f64,
}

impl Analysis {
    /// Computes planning figures for another CPU time, in seconds, under each load.
    pub fn plan_within(&mut self, within_s: f64) {
        for arm in &mut self.arms {
            arm.planning = within(&arm.metrics, within_s);
        }
        self.other_loads
            .iter_mut()
            .for_each(|further| further.plan_within(within_s));
    }
}

/// An arm's figures for the default time; `None` where there are none.
pub(crate) fn usual(metrics: &BTreeMap<Metric, MetricAnalysis>) -> Option<Planning> {
    within(metrics, WITHIN_S)
}

fn within(metrics: &BTreeMap<Metric, MetricAnalysis>, within_s: f64) -> Option<Planning> {
    let figures = |metric| {
        let difference = metrics.get(&metric)?.difference.as_ref().ok()?;
        Some(PlanningFigures {
            per_core_second: room(&difference.absolute, 1.0)?,
            within: room(&difference.absolute, within_s)?,
        })
    };
    let planning = Planning {
        within_s,
        spans: figures(Metric::CpuPerSpan),
        events: figures(Metric::CpuPerEvent),
        records: figures(Metric::CpuPerRecord),
    };
    let all = [&planning.spans, &planning.events, &planning.records];
    all.iter().any(|of| of.is_some()).then_some(planning)
}

/// How many items of a given cost in microseconds fit into a time; `None` when the whole interval
/// of the cost is at or below zero.
fn room(cost_us: &Interval, time_s: f64) -> Option<Room> {
    let fitting = |us: f64| (us > 0.0).then(|| time_s * 1e6 / us);
    let finite = |n: &f64| n.is_finite();
    Some(Room {
        estimate: fitting(cost_us.estimate).filter(finite),
        low: fitting(cost_us.high).filter(finite)?,
        high: fitting(cost_us.low).filter(finite),
        confidence: cost_us.confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixture};

    fn cost(estimate: f64, low: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
            confidence: 0.95,
            method: windage_model::Method::MeanByLaunch,
        }
    }

    #[test]
    fn the_highest_cost_gives_the_lower_end() {
        // cost of one in µs with its ends; expected number in 10 ms: estimate, low, high
        let table = [
            (
                (100.0, 80.0, 125.0),
                Some((Some(100.0), 80.0, Some(125.0))),
                "a cost that is known",
            ),
            (
                (2.0, -1.0, 5.0),
                Some((Some(5_000.0), 2_000.0, None)),
                "a cost that may be zero has no upper bound",
            ),
            (
                (2.0, 0.0, 4.0),
                Some((Some(5_000.0), 2_500.0, None)),
                "an interval that reaches zero",
            ),
            (
                (-1.0, -3.0, 1.0),
                Some((None, 10_000.0, None)),
                "a cost that is probably zero",
            ),
            ((-3.0, -4.0, -2.0), None, "a saving"),
            ((0.0, 0.0, 0.0), None, "no cost at all"),
        ];
        for ((estimate, low, high), expected, why) in table {
            let found = room(&cost(estimate, low, high), 0.010);
            let found = found.map(|room| (room.estimate, room.low, room.high));
            assert_eq!(found, expected, "{why}");
        }
    }

    #[test]
    fn figures_are_reciprocals_of_the_cost() {
        let mut run = fixture::records(3);
        for delivered in &mut run.delivered {
            delivered.span_events = 10 * delivered.spans;
        }
        let mut analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
        let planning = |analysis: &Analysis, arm: usize| analysis.arms[arm].planning.clone();
        assert_eq!(
            (planning(&analysis, 0), planning(&analysis, 1)),
            (None, None),
            "arms that send nothing"
        );
        let found = planning(&analysis, 2).unwrap();
        let span = &analysis.arms[2].metrics[&Metric::CpuPerSpan];
        let span = span.difference.as_ref().unwrap().absolute;
        let (spans, events) = (found.spans.unwrap(), found.events.unwrap());
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        close(spans.per_core_second.estimate.unwrap(), 1e6 / span.estimate);
        close(spans.per_core_second.low, 1e6 / span.high);
        close(spans.per_core_second.high.unwrap(), 1e6 / span.low);
        close(spans.within.low, 1e4 / span.high);
        close(events.within.low, 10.0 * spans.within.low);

        analysis.plan_within(0.020);
        let longer = planning(&analysis, 2).unwrap();
        close(longer.spans.unwrap().within.low, 2.0 * spans.within.low);
        assert!((longer.within_s - 0.020).abs() < 1e-12);
    }
}
