//! `stages` of `analysis.json`.

use serde::Serialize;

use super::{IntervalWire, MissingWire, finite};
use crate::{Missing, Stage, StageCost, Stages, Whole};

/// How the error of all these comparisons is controlled.
const FAMILY: &str = "secondary: each interval holds on its own, and is in no family";

#[derive(Serialize)]
pub(super) struct StagesWire<'a> {
    metric: &'static str,
    unit: &'static str,
    family: &'static str,
    from: &'a str,
    from_value: Option<f64>,
    stages: Vec<StageWire<'a>>,
    sum: CostWire<'a>,
    wholes: Vec<WholeWire<'a>>,
    spans_per_request: Option<f64>,
    events_per_request: Option<f64>,
    rounds: usize,
}

#[derive(Serialize)]
struct StageWire<'a> {
    arm: &'a str,
    adds_to: &'a str,
    share: Option<f64>,
    #[serde(flatten)]
    cost: CostWire<'a>,
}

#[derive(Serialize)]
struct CostWire<'a> {
    difference: Option<IntervalWire>,
    relative: Option<IntervalWire>,
    exceeds_nil: Option<bool>,
    per_span: Option<IntervalWire>,
    per_event: Option<IntervalWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingWire<'a>>,
}

#[derive(Serialize)]
struct WholeWire<'a> {
    arm: &'a str,
    same_as: &'a str,
    #[serde(flatten)]
    cost: CostWire<'a>,
    gap: CostWire<'a>,
    holds: Option<bool>,
}

impl<'a> From<&'a Stages> for StagesWire<'a> {
    fn from(of: &'a Stages) -> Self {
        StagesWire {
            metric: of.metric.as_str(),
            unit: of.metric.unit().as_str(),
            family: FAMILY,
            from: of.from.as_str(),
            from_value: of.from_us.and_then(finite),
            stages: of
                .stages
                .iter()
                .map(|stage| stage_wire(stage, of))
                .collect(),
            sum: cost(&of.sum),
            wholes: of.wholes.iter().map(Into::into).collect(),
            spans_per_request: of.spans_per_request.and_then(finite),
            events_per_request: of.events_per_request.and_then(finite),
            rounds: of.rounds,
        }
    }
}

fn stage_wire<'a>(stage: &'a Stage, of: &Stages) -> StageWire<'a> {
    StageWire {
        arm: stage.arm.as_str(),
        adds_to: stage.adds_to.as_str(),
        share: of.share_of_sum(&stage.cost).and_then(finite),
        cost: cost(&stage.cost),
    }
}

impl<'a> From<&'a Whole> for WholeWire<'a> {
    fn from(whole: &'a Whole) -> Self {
        WholeWire {
            arm: whole.arm.as_str(),
            same_as: whole.same_as.as_str(),
            cost: cost(&whole.cost),
            gap: cost(&whole.gap),
            holds: whole.holds(),
        }
    }
}

fn cost(of: &Result<StageCost, Missing>) -> CostWire<'_> {
    let known = of.as_ref().ok();
    CostWire {
        difference: known.map(|cost| (&cost.absolute).into()),
        relative: known.map(|cost| (&cost.relative).into()),
        exceeds_nil: known.map(|cost| cost.relative.excludes_nil()),
        per_span: known.and_then(|cost| Some(cost.per_span.as_ref()?.into())),
        per_event: known.and_then(|cost| Some(cost.per_event.as_ref()?.into())),
        missing: of.as_ref().err().map(Into::into),
    }
}
