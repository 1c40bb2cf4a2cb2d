//! `curves` of `analysis.json`.

use serde::Serialize;

use super::{IntervalWire, finite};
use crate::{
    Against, BandPoint, Curve, CurveFit, CurvePoint, CurveScale, CurveTerm, DropLimit, HeldOut,
    LackOfFit, TermKind,
};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CurveWire {
    pub factor: String,
    pub of: String,
    pub metric: String,
    pub scale: String,
    pub unit: String,
    pub points: Vec<PointWire>,
    pub fits: Vec<FitWire>,
    pub drop_limit: Option<DropLimitWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointWire {
    pub arm: String,
    pub level: Option<f64>,
    pub attempted: Option<f64>,
    pub delivered: Option<f64>,
    pub overhead: IntervalWire,
    pub beyond_drop_limit: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitWire {
    pub against: String,
    pub terms: Vec<TermWire>,
    pub lack_of_fit: Option<LackOfFitWire>,
    pub confidence_band: Vec<BandPointWire>,
    pub held_out: Vec<HeldOutWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TermWire {
    pub kind: String,
    pub half_at: Option<f64>,
    pub coefficient: IntervalWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LackOfFitWire {
    pub f: Option<f64>,
    pub points_df: Option<f64>,
    pub error_df: Option<f64>,
    pub p: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BandPointWire {
    pub x: Option<f64>,
    pub y: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HeldOutWire {
    pub arm: String,
    pub x: Option<f64>,
    pub measured: Option<f64>,
    pub predicted: IntervalWire,
    pub inside: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DropLimitWire {
    pub above: Option<f64>,
    pub below: Option<f64>,
    pub delivered_per_s: Option<f64>,
}

impl From<&Curve> for CurveWire {
    fn from(curve: &Curve) -> Self {
        let (scale, unit) = match curve.scale {
            CurveScale::Unit => ("unit", curve.metric.unit().as_str()),
            CurveScale::Share => ("share", "1"),
        };
        CurveWire {
            factor: curve.factor.clone(),
            of: curve.of.clone(),
            metric: curve.metric.as_str().to_owned(),
            scale: scale.to_owned(),
            unit: unit.to_owned(),
            points: curve.points.iter().map(PointWire::from).collect(),
            fits: curve.fits.iter().map(FitWire::from).collect(),
            drop_limit: curve.drop_limit.map(DropLimitWire::from),
        }
    }
}

impl From<&CurvePoint> for PointWire {
    fn from(point: &CurvePoint) -> Self {
        PointWire {
            arm: point.arm.as_str().to_owned(),
            level: finite(point.level),
            attempted: point.attempted.and_then(finite),
            delivered: point.delivered.and_then(finite),
            overhead: (&point.overhead).into(),
            beyond_drop_limit: point.is_beyond_drop_limit,
        }
    }
}

impl From<&CurveFit> for FitWire {
    fn from(fit: &CurveFit) -> Self {
        FitWire {
            against: match fit.against {
                Against::Attempted => "attempted",
                Against::Delivered => "delivered",
            }
            .to_owned(),
            terms: fit.terms.iter().map(TermWire::from).collect(),
            lack_of_fit: fit.lack_of_fit.map(LackOfFitWire::from),
            confidence_band: fit
                .confidence_band
                .iter()
                .map(BandPointWire::from)
                .collect(),
            held_out: fit.held_out.iter().map(HeldOutWire::from).collect(),
        }
    }
}

impl From<&CurveTerm> for TermWire {
    fn from(term: &CurveTerm) -> Self {
        let (kind, half_at) = match term.kind {
            TermKind::Fixed => ("fixed", None),
            TermKind::Proportional => ("proportional", None),
            TermKind::Concave => ("concave", None),
            TermKind::Saturating { half_at } => ("saturating", finite(half_at)),
        };
        TermWire {
            kind: kind.to_owned(),
            half_at,
            coefficient: (&term.coefficient).into(),
        }
    }
}

impl From<LackOfFit> for LackOfFitWire {
    fn from(lack: LackOfFit) -> Self {
        LackOfFitWire {
            f: finite(lack.f),
            points_df: finite(lack.points_df),
            error_df: finite(lack.error_df),
            p: finite(lack.p),
        }
    }
}

impl From<&BandPoint> for BandPointWire {
    fn from(at: &BandPoint) -> Self {
        BandPointWire {
            x: finite(at.x),
            y: finite(at.y),
            low: finite(at.low),
            high: finite(at.high),
        }
    }
}

impl From<&HeldOut> for HeldOutWire {
    fn from(held_out: &HeldOut) -> Self {
        HeldOutWire {
            arm: held_out.arm.as_str().to_owned(),
            x: finite(held_out.x),
            measured: finite(held_out.measured),
            predicted: (&held_out.predicted).into(),
            inside: held_out.is_inside(),
        }
    }
}

impl From<DropLimit> for DropLimitWire {
    fn from(drop_limit: DropLimit) -> Self {
        DropLimitWire {
            above: finite(drop_limit.above),
            below: finite(drop_limit.below),
            delivered_per_s: drop_limit.delivered_per_s.and_then(finite),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use windage_model::{ArmId, Interval, Method, Metric};

    fn interval(estimate: f64, low: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
            confidence: 0.95,
            method: Method::LeastSquares,
        }
    }

    fn curve() -> Curve {
        let arm = ArmId::from_text("otel-rate-100.0").unwrap();
        Curve {
            factor: "rate".to_owned(),
            of: "otel".to_owned(),
            metric: Metric::CpuPerRequest,
            scale: CurveScale::Unit,
            points: vec![CurvePoint {
                arm: arm.clone(),
                level: 100.0,
                attempted: Some(1.0),
                delivered: None,
                overhead: interval(15.0, 14.0, f64::INFINITY),
                is_beyond_drop_limit: true,
            }],
            fits: vec![CurveFit {
                against: Against::Attempted,
                terms: vec![CurveTerm {
                    kind: TermKind::Saturating { half_at: 8.0 },
                    coefficient: interval(2.0, 1.0, 3.0),
                }],
                lack_of_fit: Some(LackOfFit {
                    f: f64::NAN,
                    points_df: 4.0,
                    error_df: 12.0,
                    p: 0.5,
                }),
                confidence_band: vec![BandPoint {
                    x: 0.0,
                    y: 1.0,
                    low: 0.5,
                    high: 1.5,
                }],
                held_out: vec![HeldOut {
                    arm,
                    x: 100.0,
                    measured: 15.0,
                    predicted: interval(14.0, 13.0, 14.5),
                }],
            }],
            drop_limit: Some(DropLimit {
                above: 25.0,
                below: 50.0,
                delivered_per_s: None,
            }),
        }
    }

    #[test]
    fn keys_match_the_format_and_figures_are_finite_or_null() {
        let found = serde_json::to_value(CurveWire::from(&curve())).unwrap();
        let as_it_is = |estimate: f64, low: f64, high: Value| {
            json!({"estimate": estimate, "low": low, "high": high, "confidence": 0.95,
                "method": "least_squares"})
        };
        let expected = json!({
            "factor": "rate", "of": "otel", "metric": "cpu_per_request", "scale": "unit", "unit": "us",
            "points": [{
                "arm": "otel-rate-100.0", "level": 100.0, "attempted": 1.0, "delivered": null,
                "overhead": as_it_is(15.0, 14.0, Value::Null), "beyond_drop_limit": true,
            }],
            "fits": [{
                "against": "attempted",
                "terms": [{"kind": "saturating", "half_at": 8.0,
                    "coefficient": as_it_is(2.0, 1.0, json!(3.0))}],
                "lack_of_fit": {"f": null, "points_df": 4.0, "error_df": 12.0, "p": 0.5},
                "confidence_band": [{"x": 0.0, "y": 1.0, "low": 0.5, "high": 1.5}],
                "held_out": [{"arm": "otel-rate-100.0", "x": 100.0, "measured": 15.0,
                    "predicted": as_it_is(14.0, 13.0, json!(14.5)), "inside": false}],
            }],
            "drop_limit": {"above": 25.0, "below": 50.0, "delivered_per_s": null},
        });
        assert_eq!(found, expected);
        let share = Curve {
            scale: CurveScale::Share,
            fits: Vec::new(),
            drop_limit: None,
            ..curve()
        };
        let found = serde_json::to_value(CurveWire::from(&share)).unwrap();
        assert_eq!(
            (&found["scale"], &found["unit"]),
            (&json!("share"), &json!("1"))
        );
        assert_eq!(
            (&found["fits"], &found["drop_limit"]),
            (&json!([]), &Value::Null)
        );
    }
}
