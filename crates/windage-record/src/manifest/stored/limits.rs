//! Stored form of budgets and claims.

use serde::{Deserialize, Serialize};
use windage_model::{
    ArmIndex, Budget, BudgetOf, Claim, Limit, Metric, Override, Publication, Says,
};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredBudget {
    /// Older runs have budgets of cost only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    metric: String,
    arms: Vec<u16>,
    at_most: StoredLimit,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warn_above: Option<StoredLimit>,
    #[serde(rename = "override", default, skip_serializing_if = "Option::is_none")]
    overridden: Option<StoredOverride>,
    confidence: f64,
}

#[derive(Serialize, Deserialize)]
struct StoredOverride {
    at_most: StoredLimit,
    reason: String,
    until: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredClaim {
    text: String,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    differs: Option<String>,
    metric: String,
    arms: Vec<u16>,
    says: StoredSays,
    confidence: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredSays {
    AtMost(StoredLimit),
    AtLeast(StoredLimit),
    About {
        value: StoredLimit,
        tolerance: StoredLimit,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredLimit {
    Percent(f64),
    InUnit(f64),
}

impl From<&Budget> for StoredBudget {
    fn from(budget: &Budget) -> Self {
        StoredBudget {
            of: (budget.of != BudgetOf::Cost).then(|| budget.of.as_str().to_owned()),
            metric: budget.metric.as_str().to_owned(),
            arms: budget.arms.iter().map(|arm| arm.0).collect(),
            at_most: budget.at_most.into(),
            warn_above: budget.warn_above.map(Into::into),
            overridden: budget.overridden.as_ref().map(|of| StoredOverride {
                at_most: of.at_most.into(),
                reason: of.reason.clone(),
                until: of.until.clone(),
            }),
            confidence: budget.confidence,
        }
    }
}

impl TryFrom<StoredBudget> for Budget {
    type Error = String;

    fn try_from(stored: StoredBudget) -> Result<Self, String> {
        let of = stored.of.as_deref().map_or(Ok(BudgetOf::Cost), |name| {
            BudgetOf::from_name(name)
                .ok_or_else(|| format!("`{name}` is nothing that a budget limits"))
        });
        Ok(Budget {
            of: of?,
            metric: metric(&stored.metric)?,
            arms: stored.arms.into_iter().map(ArmIndex).collect(),
            at_most: stored.at_most.into(),
            warn_above: stored.warn_above.map(Into::into),
            overridden: stored.overridden.map(|of| Override {
                at_most: of.at_most.into(),
                reason: of.reason,
                until: of.until,
            }),
            confidence: one_sided(stored.confidence)?,
        })
    }
}

impl From<&Claim> for StoredClaim {
    fn from(claim: &Claim) -> Self {
        let of = claim.publication.clone();
        StoredClaim {
            text: of.text,
            source: of.source,
            date: of.date,
            version: of.version,
            differs: of.differs,
            metric: claim.metric.as_str().to_owned(),
            arms: claim.arms.iter().map(|arm| arm.0).collect(),
            says: match claim.says {
                Says::AtMost(limit) => StoredSays::AtMost(limit.into()),
                Says::AtLeast(limit) => StoredSays::AtLeast(limit.into()),
                Says::About { value, tolerance } => StoredSays::About {
                    value: value.into(),
                    tolerance: tolerance.into(),
                },
            },
            confidence: claim.confidence,
        }
    }
}

impl TryFrom<StoredClaim> for Claim {
    type Error = String;

    fn try_from(stored: StoredClaim) -> Result<Self, String> {
        Ok(Claim {
            publication: Publication {
                text: stored.text,
                source: stored.source,
                date: stored.date,
                version: stored.version,
                differs: stored.differs,
            },
            metric: metric(&stored.metric)?,
            arms: stored.arms.into_iter().map(ArmIndex).collect(),
            says: match stored.says {
                StoredSays::AtMost(limit) => Says::AtMost(limit.into()),
                StoredSays::AtLeast(limit) => Says::AtLeast(limit.into()),
                StoredSays::About { value, tolerance } => Says::About {
                    value: value.into(),
                    tolerance: tolerance.into(),
                },
            },
            confidence: one_sided(stored.confidence)?,
        })
    }
}

impl From<Limit> for StoredLimit {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Percent(percent) => StoredLimit::Percent(percent),
            Limit::InUnit(value) => StoredLimit::InUnit(value),
        }
    }
}

impl From<StoredLimit> for Limit {
    fn from(stored: StoredLimit) -> Self {
        match stored {
            StoredLimit::Percent(percent) => Limit::Percent(percent),
            StoredLimit::InUnit(value) => Limit::InUnit(value),
        }
    }
}

/// The confidence of a bound on one side.
fn one_sided(confidence: f64) -> Result<f64, String> {
    match confidence > 0.5 && confidence < 1.0 {
        true => Ok(confidence),
        false => Err(format!("{confidence} is not the confidence of a bound")),
    }
}

pub(super) fn metric(name: &str) -> Result<Metric, String> {
    Metric::from_name(name).ok_or_else(|| format!("`{name}` is not a metric"))
}
