//! `stages` of `analysis.json`.

use serde::Serialize;

use super::{IntervalWire, MissingWire, Sentences, finite, missing};
use crate::{EndToEnd, Missing, Stage, StageCost, Stages};

/// How the error of these comparisons is controlled.
const FAMILY: &str = "secondary: each interval holds on its own and belongs to no family";

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StagesWire {
    pub metric: String,
    pub unit: String,
    pub family: String,
    pub from: String,
    pub from_value: Option<f64>,
    pub stages: Vec<StageWire>,
    pub sum: CostWire,
    pub end_to_end: Vec<EndToEndWire>,
    pub spans_per_request: Option<f64>,
    pub events_per_request: Option<f64>,
    pub rounds: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StageWire {
    pub arm: String,
    pub adds_to: String,
    pub share: Option<f64>,
    #[serde(flatten)]
    pub cost: CostWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CostWire {
    pub difference: Option<IntervalWire>,
    pub relative: Option<IntervalWire>,
    pub exceeds_zero: Option<bool>,
    pub per_span: Option<IntervalWire>,
    pub per_event: Option<IntervalWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EndToEndWire {
    pub arm: String,
    pub same_as: String,
    #[serde(flatten)]
    pub cost: CostWire,
    pub gap: CostWire,
    pub is_additive: Option<bool>,
}

impl StagesWire {
    pub(super) fn new(of: &Stages, words: &dyn Sentences) -> Self {
        StagesWire {
            metric: of.metric.as_str().to_owned(),
            unit: of.metric.unit().as_str().to_owned(),
            family: FAMILY.to_owned(),
            from: of.from.as_str().to_owned(),
            from_value: of.from_us.and_then(finite),
            stages: of
                .stages
                .iter()
                .map(|stage| stage_wire(stage, of, words))
                .collect(),
            sum: cost(&of.sum, words),
            end_to_end: of
                .end_to_end
                .iter()
                .map(|whole| end_to_end(whole, words))
                .collect(),
            spans_per_request: of.spans_per_request.and_then(finite),
            events_per_request: of.events_per_request.and_then(finite),
            rounds: of.rounds,
        }
    }
}

fn stage_wire(stage: &Stage, of: &Stages, words: &dyn Sentences) -> StageWire {
    StageWire {
        arm: stage.arm.as_str().to_owned(),
        adds_to: stage.adds_to.as_str().to_owned(),
        share: of.share_of_sum(&stage.cost).and_then(finite),
        cost: cost(&stage.cost, words),
    }
}

fn end_to_end(whole: &EndToEnd, words: &dyn Sentences) -> EndToEndWire {
    EndToEndWire {
        arm: whole.arm.as_str().to_owned(),
        same_as: whole.same_as.as_str().to_owned(),
        cost: cost(&whole.cost, words),
        gap: cost(&whole.gap, words),
        is_additive: whole.is_additive(),
    }
}

fn cost(of: &Result<StageCost, Missing>, words: &dyn Sentences) -> CostWire {
    let known = of.as_ref().ok();
    CostWire {
        difference: known.map(|cost| (&cost.absolute).into()),
        relative: known.map(|cost| (&cost.relative).into()),
        exceeds_zero: known.map(|cost| cost.relative.excludes_zero()),
        per_span: known.and_then(|cost| Some(cost.per_span.as_ref()?.into())),
        per_event: known.and_then(|cost| Some(cost.per_event.as_ref()?.into())),
        missing: of.as_ref().err().map(|why| missing(why, words)),
    }
}
