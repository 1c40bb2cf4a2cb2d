//! Budgets and their verdicts, in `analysis.json`.

use serde::Serialize;

use super::claim::unit;
use super::{IntervalWire, MissingWire, Sentences, finite, missing};
use crate::{ArmAnalysis, BudgetAnalysis};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
pub struct BudgetWire {
    pub metric: String,
    pub arm: String,
    pub at_most: Option<f64>,
    pub unit: String,
    pub confidence: f64,
    pub cost: Option<IntervalWire>,
    pub verdict: String,
    pub launches_needed: Option<usize>,
    pub time_needed_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingWire>,
}

impl BudgetWire {
    pub(super) fn new(arm: &ArmAnalysis, of: &BudgetAnalysis, words: &dyn Sentences) -> Self {
        BudgetWire {
            metric: of.metric.as_str().to_owned(),
            arm: arm.id.as_str().to_owned(),
            at_most: finite(of.at_most.value()),
            unit: unit(of.metric, of.at_most).to_owned(),
            confidence: of.confidence,
            cost: of.cost.as_ref().ok().map(Into::into),
            verdict: of.verdict.as_str().to_owned(),
            launches_needed: of.launches_needed,
            time_needed_s: of.time_needed_s.and_then(finite),
            missing: of.cost.as_ref().err().map(|why| missing(why, words)),
        }
    }
}
