//! Bills, bystanders and the curve of fidelity in `analysis.json`.

use serde::Serialize;

use super::{IntervalWire, MissingWire, finite, missing};
use crate::{Bill, BillLine, Bystander, FidelityPoint, MetricAnalysis};
use windage_model::Metric;

#[derive(Serialize)]
pub(super) struct BillWire {
    machine: LineWire,
    lines: Vec<ItemWire>,
    agent_outside_windows: Option<LineWire>,
    service_outside_windows: Option<LineWire>,
    with_deferred: LineWire,
    rounds: usize,
}

#[derive(Serialize)]
struct ItemWire {
    item: &'static str,
    #[serde(flatten)]
    line: LineWire,
}

#[derive(Serialize)]
struct LineWire {
    baseline_us_per_request: Option<f64>,
    arm_us_per_request: Option<f64>,
    difference_us_per_request: Option<f64>,
    interval: Option<IntervalWire>,
}

#[derive(Serialize)]
pub(super) struct BystanderWire<'a> {
    bystander_of: &'a str,
    control: &'a str,
    metric: &'static str,
    against_control: AgainstWire<'a>,
    against_watched: AgainstWire<'a>,
}

#[derive(Serialize)]
struct AgainstWire<'a> {
    against_us_per_request: Option<f64>,
    arm_us_per_request: Option<f64>,
    difference_us_per_request: Option<IntervalWire>,
    relative: Option<IntervalWire>,
    exceeds_nil: Option<bool>,
    verdict: Option<&'static str>,
    smallest_visible: Option<f64>,
    windows: usize,
    rounds: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingWire<'a>>,
}

#[derive(Serialize)]
pub(super) struct FidelityPointWire<'a> {
    arm: &'a str,
    regime: &'a str,
    rate_per_s: Option<f64>,
    offered_per_s: Option<f64>,
    achieved_per_s: Option<f64>,
    expected: Option<f64>,
    delivered: u64,
    lost_share: Option<IntervalWire>,
}

impl From<&Bill> for BillWire {
    fn from(bill: &Bill) -> Self {
        BillWire {
            machine: (&bill.machine).into(),
            lines: bill
                .lines
                .iter()
                .map(|(item, line)| ItemWire {
                    item: item.as_str(),
                    line: line.into(),
                })
                .collect(),
            agent_outside_windows: bill.agent_outside_windows.as_ref().map(Into::into),
            service_outside_windows: bill.service_outside_windows.as_ref().map(Into::into),
            with_deferred: (&bill.with_deferred).into(),
            rounds: bill.rounds,
        }
    }
}

impl From<&BillLine> for LineWire {
    fn from(line: &BillLine) -> Self {
        LineWire {
            baseline_us_per_request: line.baseline_us.and_then(finite),
            arm_us_per_request: line.arm_us.and_then(finite),
            difference_us_per_request: line.difference_us.and_then(finite),
            interval: line.interval.as_ref().map(Into::into),
        }
    }
}

impl<'a> From<&'a Bystander> for BystanderWire<'a> {
    fn from(of: &'a Bystander) -> Self {
        BystanderWire {
            bystander_of: of.bystander_of.as_str(),
            control: of.control.as_str(),
            metric: of.metric.as_str(),
            against_control: AgainstWire::of(of.metric, &of.against_control),
            against_watched: AgainstWire::of(of.metric, &of.against_watched),
        }
    }
}

impl<'a> AgainstWire<'a> {
    fn of(metric: Metric, of: &'a MetricAnalysis) -> Self {
        let difference = of.difference.as_ref().ok();
        AgainstWire {
            against_us_per_request: of.baseline.and_then(finite),
            arm_us_per_request: of.arm.and_then(finite),
            difference_us_per_request: difference.map(|d| (&d.absolute).into()),
            relative: difference.and_then(|d| d.relative.as_ref()).map(Into::into),
            exceeds_nil: of.exceeds_nil(),
            verdict: of.verdict.map(windage_model::Verdict::as_str),
            smallest_visible: difference.and_then(|d| d.smallest_visible).and_then(finite),
            windows: of.windows,
            rounds: of.rounds,
            missing: missing(metric, of),
        }
    }
}

impl<'a> From<&'a FidelityPoint> for FidelityPointWire<'a> {
    fn from(point: &'a FidelityPoint) -> Self {
        FidelityPointWire {
            arm: point.arm.as_str(),
            regime: &point.regime,
            rate_per_s: point.rate_per_s.and_then(finite),
            offered_per_s: point.offered_per_s.and_then(finite),
            achieved_per_s: point.achieved_per_s.and_then(finite),
            expected: finite(point.expected),
            delivered: point.delivered,
            lost_share: point.lost_share.as_ref().map(Into::into),
        }
    }
}
