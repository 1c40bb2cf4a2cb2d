//! Budgets and their verdicts, in `analysis.json`.

use serde::Serialize;
use windage_model::Limit;

use super::claim::unit;
use super::{IntervalWire, MissingWire, Sentences, finite, missing};
use crate::{ArmAnalysis, BudgetAnalysis};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BudgetWire {
    pub of: String,
    pub metric: String,
    pub arm: String,
    pub at_most: Option<f64>,
    pub warn_above: Option<f64>,
    pub unit: String,
    #[serde(rename = "override")]
    pub overridden: Option<OverrideWire>,
    pub confidence: f64,
    pub cost: Option<IntervalWire>,
    pub verdict: String,
    pub warns: bool,
    pub launches_needed: Option<usize>,
    pub time_needed_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverrideWire {
    pub instead_of: Option<f64>,
    pub reason: String,
    pub until: String,
}

impl BudgetWire {
    pub(super) fn new(arm: &ArmAnalysis, of: &BudgetAnalysis, words: &dyn Sentences) -> Self {
        let budget = &of.budget;
        BudgetWire {
            of: budget.of.as_str().to_owned(),
            metric: budget.metric.as_str().to_owned(),
            arm: arm.id.as_str().to_owned(),
            at_most: finite(budget.limit().value()),
            warn_above: budget.warn_above.map(Limit::value).and_then(finite),
            unit: unit(budget.metric, budget.at_most).to_owned(),
            overridden: budget.overridden.as_ref().map(|of| OverrideWire {
                instead_of: finite(budget.at_most.value()),
                reason: of.reason.clone(),
                until: of.until.clone(),
            }),
            confidence: budget.confidence,
            cost: of.cost.as_ref().ok().map(Into::into),
            verdict: of.verdict.as_str().to_owned(),
            warns: of.warns,
            launches_needed: of.launches_needed,
            time_needed_s: of.time_needed_s.and_then(finite),
            missing: of.cost.as_ref().err().map(|why| missing(why, words)),
        }
    }
}
