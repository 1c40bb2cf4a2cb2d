//! `arms[].planning` of `analysis.json`.

use serde::Serialize;

use super::finite;
use crate::{Planning, PlanningFigures, Room};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanningWire {
    pub within_s: Option<f64>,
    pub spans: Option<FiguresWire>,
    pub events: Option<FiguresWire>,
    pub records: Option<FiguresWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FiguresWire {
    pub per_core_second: RoomWire,
    pub within: RoomWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RoomWire {
    pub estimate: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<UnboundedWire>,
}

/// Why there is no upper end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnboundedWire {
    pub code: String,
    pub text: String,
}

impl From<&Planning> for PlanningWire {
    fn from(planning: &Planning) -> Self {
        PlanningWire {
            within_s: finite(planning.within_s),
            spans: planning.spans.as_ref().map(Into::into),
            events: planning.events.as_ref().map(Into::into),
            records: planning.records.as_ref().map(Into::into),
        }
    }
}

impl From<&PlanningFigures> for FiguresWire {
    fn from(figures: &PlanningFigures) -> Self {
        FiguresWire {
            per_core_second: (&figures.per_core_second).into(),
            within: (&figures.within).into(),
        }
    }
}

impl From<&Room> for RoomWire {
    fn from(room: &Room) -> Self {
        RoomWire {
            estimate: room.estimate.and_then(finite),
            low: finite(room.low),
            high: room.high.and_then(finite),
            confidence: room.confidence,
            missing: room.high.is_none().then_some(UnboundedWire {
                code: "unbounded".to_owned(),
                text: "The cost per item may be zero, so there is no upper end: at least `low`."
                    .to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, to_value};

    use super::*;

    #[test]
    fn a_missing_upper_end_has_a_reason() {
        let room = |high| Room {
            estimate: Some(100.0),
            low: 90.0,
            high,
            confidence: 0.95,
        };
        let figures = |high| PlanningFigures {
            per_core_second: room(high),
            within: room(high),
        };
        let planning = Planning {
            within_s: 0.01,
            spans: Some(figures(Some(110.0))),
            events: Some(figures(None)),
            records: None,
        };
        let wire = to_value(PlanningWire::from(&planning)).unwrap();
        let whole = json!({"estimate": 100.0, "low": 90.0, "high": 110.0, "confidence": 0.95});
        assert_eq!(wire["spans"]["within"], whole);
        assert_eq!(wire["within_s"], json!(0.01));
        let open = &wire["events"]["per_core_second"];
        assert_eq!(
            (&open["high"], &open["missing"]["code"]),
            (&Value::Null, &json!("unbounded"))
        );
    }
}
