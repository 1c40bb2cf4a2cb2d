//! Bills, bystanders and the fidelity curve in `analysis.json`.

use serde::Serialize;

use super::{IntervalWire, MissingWire, Sentences, finite, missing};
use crate::{Bill, BillLine, Bystander, FidelityPoint, MetricAnalysis};
use windage_model::Metric;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BillWire {
    pub machine: LineWire,
    pub lines: Vec<ItemWire>,
    pub agent_outside_windows: Option<LineWire>,
    pub service_outside_windows: Option<LineWire>,
    pub with_deferred: LineWire,
    pub rounds: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ItemWire {
    pub item: String,
    #[serde(flatten)]
    pub line: LineWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LineWire {
    pub baseline_us_per_request: Option<f64>,
    pub arm_us_per_request: Option<f64>,
    pub difference_us_per_request: Option<f64>,
    pub interval: Option<IntervalWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BystanderWire {
    pub bystander_of: String,
    pub control: String,
    pub metric: String,
    pub against_control: AgainstWire,
    pub against_watched: AgainstWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgainstWire {
    pub against_us_per_request: Option<f64>,
    pub arm_us_per_request: Option<f64>,
    pub difference_us_per_request: Option<IntervalWire>,
    pub relative: Option<IntervalWire>,
    pub exceeds_zero: Option<bool>,
    pub verdict: Option<String>,
    pub minimum_detectable_effect: Option<f64>,
    pub windows: usize,
    pub rounds: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FidelityPointWire {
    pub arm: String,
    pub regime: String,
    pub rate_per_s: Option<f64>,
    pub offered_per_s: Option<f64>,
    pub achieved_per_s: Option<f64>,
    pub expected: Option<f64>,
    pub delivered: u64,
    pub lost_share: Option<IntervalWire>,
}

impl From<&Bill> for BillWire {
    fn from(bill: &Bill) -> Self {
        BillWire {
            machine: (&bill.machine).into(),
            lines: bill
                .lines
                .iter()
                .map(|(item, line)| ItemWire {
                    item: item.as_str().to_owned(),
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

impl BystanderWire {
    pub(super) fn new(of: &Bystander, words: &dyn Sentences) -> Self {
        BystanderWire {
            bystander_of: of.bystander_of.as_str().to_owned(),
            control: of.control.as_str().to_owned(),
            metric: of.metric.as_str().to_owned(),
            against_control: AgainstWire::of(of.metric, &of.against_control, words),
            against_watched: AgainstWire::of(of.metric, &of.against_watched, words),
        }
    }
}

impl AgainstWire {
    fn of(metric: Metric, of: &MetricAnalysis, words: &dyn Sentences) -> Self {
        let difference = of.difference.as_ref().ok();
        AgainstWire {
            against_us_per_request: of.baseline.and_then(finite),
            arm_us_per_request: of.arm.and_then(finite),
            difference_us_per_request: difference.map(|d| (&d.absolute).into()),
            relative: difference.and_then(|d| d.relative.as_ref()).map(Into::into),
            exceeds_zero: of.exceeds_zero(),
            verdict: of.verdict.map(|verdict| verdict.as_str().to_owned()),
            minimum_detectable_effect: difference
                .and_then(|d| d.minimum_detectable_effect)
                .and_then(finite),
            windows: of.windows,
            rounds: of.rounds,
            missing: of.missing(metric).map(|why| missing(&why, words)),
        }
    }
}

impl From<&FidelityPoint> for FidelityPointWire {
    fn from(point: &FidelityPoint) -> Self {
        FidelityPointWire {
            arm: point.arm.as_str().to_owned(),
            regime: point.regime.clone(),
            rate_per_s: point.rate_per_s.and_then(finite),
            offered_per_s: point.offered_per_s.and_then(finite),
            achieved_per_s: point.achieved_per_s.and_then(finite),
            expected: finite(point.expected),
            delivered: point.delivered,
            lost_share: point.lost_share.as_ref().map(Into::into),
        }
    }
}
