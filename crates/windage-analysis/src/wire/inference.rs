//! How firm results are, in `analysis.json`.

use serde::Serialize;
use windage_model::Until;
use windage_stats::Advice;

use super::{IntervalWire, finite};
use crate::{InFamily, MetricAnalysis, Seat, StopOutcome, VarianceComponents};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StopWire {
    pub metric: Option<String>,
    pub half_width: Option<f64>,
    pub within_s: Option<f64>,
    pub is_reached: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FamilyWire {
    pub name: String,
    pub comparisons: usize,
    pub interval: IntervalWire,
    pub exceeds_zero: bool,
    pub verdict: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeatWire {
    pub name: String,
    pub comparisons: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VarianceComponentsWire {
    pub launch_sd: Option<f64>,
    pub block_sd: Option<f64>,
    pub window_sd: Option<f64>,
    pub advice: Option<String>,
    pub advised_blocks_per_round: Option<usize>,
}

/// Which comparisons the family's verdict covers, in words.
pub(super) fn family(result: &MetricAnalysis) -> String {
    let Some(seat) = result.inference.seat() else {
        return "each comparison on its own".to_owned();
    };
    let Seat {
        family,
        comparisons,
    } = seat;
    let together = match result.inference.in_family {
        Some(_) => "holds",
        None => "is null, because the interval is unbounded",
    };
    format!(
        "intervals and verdict hold on their own; `in_family` {together} for all {comparisons} of \
         the {} family together (Bonferroni)",
        family.as_str()
    )
}

impl From<StopOutcome> for StopWire {
    fn from(stop: StopOutcome) -> Self {
        let (metric, half_width) = match stop.until {
            Until::Known { metric, half_width } => {
                (Some(metric.as_str().to_owned()), finite(half_width))
            }
            Until::Budgets => (None, None),
        };
        StopWire {
            metric,
            half_width,
            within_s: finite(stop.within_s),
            is_reached: stop.is_reached,
        }
    }
}

impl From<Seat> for SeatWire {
    fn from(of: Seat) -> Self {
        SeatWire {
            name: of.family.as_str().to_owned(),
            comparisons: of.comparisons,
        }
    }
}

impl From<&InFamily> for FamilyWire {
    fn from(of: &InFamily) -> Self {
        FamilyWire {
            name: of.family.as_str().to_owned(),
            comparisons: of.comparisons,
            interval: (&of.interval).into(),
            exceeds_zero: of.interval.excludes_zero(),
            verdict: of.verdict.map(|verdict| verdict.as_str().to_owned()),
        }
    }
}

impl From<&VarianceComponents> for VarianceComponentsWire {
    fn from(scatter: &VarianceComponents) -> Self {
        let (advice, advised_blocks_per_round) = match scatter.advice {
            None => (None, None),
            Some(Advice::MoreRounds { blocks_per_round }) => {
                (Some("more_rounds"), Some(blocks_per_round))
            }
            Some(Advice::MoreBlocks { blocks_per_round }) => {
                (Some("more_blocks"), blocks_per_round)
            }
            Some(Advice::Balanced) => (Some("balanced"), None),
            Some(Advice::LaunchesUnknown) => (Some("launches_unknown"), None),
        };
        VarianceComponentsWire {
            launch_sd: scatter.launch_sd.and_then(finite),
            block_sd: finite(scatter.block_sd),
            window_sd: scatter.window_sd.and_then(finite),
            advice: advice.map(str::to_owned),
            advised_blocks_per_round,
        }
    }
}
