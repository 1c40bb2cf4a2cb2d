//! How firm answers are, as it stands in `analysis.json`.

use serde::Serialize;
use windage_model::Verdict;
use windage_stats::Advice;

use super::{IntervalWire, finite};
use crate::{InFamily, MetricAnalysis, Scatter, Seat, StopOutcome};

#[derive(Serialize)]
pub(super) struct StopWire {
    metric: &'static str,
    half_width: Option<f64>,
    within_s: Option<f64>,
    is_reached: bool,
}

#[derive(Serialize)]
pub(super) struct FamilyWire {
    name: &'static str,
    comparisons: usize,
    interval: IntervalWire,
    exceeds_nil: bool,
    verdict: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct SeatWire {
    name: &'static str,
    comparisons: usize,
}

#[derive(Serialize)]
pub(super) struct ScatterWire {
    launch_sd: Option<f64>,
    block_sd: Option<f64>,
    window_sd: Option<f64>,
    advice: Option<&'static str>,
    advised_blocks_per_round: Option<usize>,
}

/// Which comparisons the verdict in the family has to hold together with, in words.
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
        None => "is null, because no interval has an end that holds",
    };
    format!(
        "intervals and verdict hold on their own; `in_family` {together} for all {comparisons} of \
         the {} family together (Bonferroni)",
        family.as_str()
    )
}

impl From<StopOutcome> for StopWire {
    fn from(stop: StopOutcome) -> Self {
        StopWire {
            metric: stop.metric.as_str(),
            half_width: finite(stop.half_width),
            within_s: finite(stop.within_s),
            is_reached: stop.is_reached,
        }
    }
}

impl From<Seat> for SeatWire {
    fn from(of: Seat) -> Self {
        SeatWire {
            name: of.family.as_str(),
            comparisons: of.comparisons,
        }
    }
}

impl From<&InFamily> for FamilyWire {
    fn from(of: &InFamily) -> Self {
        FamilyWire {
            name: of.family.as_str(),
            comparisons: of.comparisons,
            interval: (&of.interval).into(),
            exceeds_nil: of.interval.excludes_nil(),
            verdict: of.verdict.map(Verdict::as_str),
        }
    }
}

impl From<&Scatter> for ScatterWire {
    fn from(scatter: &Scatter) -> Self {
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
        ScatterWire {
            launch_sd: scatter.launch_sd.and_then(finite),
            block_sd: finite(scatter.block_sd),
            window_sd: scatter.window_sd.and_then(finite),
            advice,
            advised_blocks_per_round,
        }
    }
}
