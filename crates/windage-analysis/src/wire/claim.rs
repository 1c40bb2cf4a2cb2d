//! Claims and their verdicts, in `analysis.json`.

use serde::Serialize;
use windage_model::{Limit, Metric, Says};

use super::{IntervalWire, MissingWire, Sentences, finite, missing};
use crate::{ArmAnalysis, ClaimAnalysis};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimWire {
    pub text: String,
    pub source: String,
    pub date: Option<String>,
    pub version: Option<String>,
    pub differs: Option<String>,
    pub metric: String,
    pub arm: String,
    pub at_most: Option<f64>,
    pub at_least: Option<f64>,
    pub value: Option<f64>,
    pub tolerance: Option<f64>,
    pub unit: String,
    pub confidence: f64,
    pub cost: Option<IntervalWire>,
    pub verdict: String,
    pub launches_needed: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingWire>,
}

impl ClaimWire {
    pub(super) fn new(arm: &ArmAnalysis, of: &ClaimAnalysis, words: &dyn Sentences) -> Self {
        let claim = &of.claim;
        let publication = claim.publication.clone();
        let figure = finite(claim.says.figure().value());
        let (at_most, at_least, value, tolerance) = match claim.says {
            Says::AtMost(_) => (figure, None, None, None),
            Says::AtLeast(_) => (None, figure, None, None),
            Says::About { tolerance, .. } => (None, None, figure, finite(tolerance.value())),
        };
        ClaimWire {
            text: publication.text,
            source: publication.source,
            date: publication.date,
            version: publication.version,
            differs: publication.differs,
            metric: claim.metric.as_str().to_owned(),
            arm: arm.id.as_str().to_owned(),
            at_most,
            at_least,
            value,
            tolerance,
            unit: unit(claim.metric, claim.says.figure()).to_owned(),
            confidence: claim.confidence,
            cost: of.cost.as_ref().ok().map(Into::into),
            verdict: of.verdict.as_str().to_owned(),
            launches_needed: of.launches_needed,
            missing: of.cost.as_ref().err().map(|why| missing(why, words)),
        }
    }
}

/// The unit of a limit: a share of the baseline, or the metric's.
pub(super) fn unit(metric: Metric, of: Limit) -> &'static str {
    match of {
        Limit::Percent(_) => "share",
        Limit::InUnit(_) => metric.unit().as_str(),
    }
}
