//! Figures that are drawn. A picture is some thousand points wide, so [`DIGITS`] digits are enough,
//! which keeps a page small.

use serde::Serialize;
use windage_analysis::Analysis;
use windage_model::{ArmIndex, Interval};

/// Significant digits of drawn figures.
const DIGITS: i32 = 5;
/// Times on the axis keep milliseconds, however long a run is.
const A_SECOND: f64 = 1000.0;

/// An interval.
#[derive(Serialize)]
pub(crate) struct BandWire {
    estimate: f64,
    low: f64,
    high: f64,
    /// The estimate as text, for points that show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

impl BandWire {
    /// `None` if not finite: such figures can't be drawn, and JSON does not have them.
    pub(crate) fn of(of: &Interval) -> Option<BandWire> {
        let [estimate, low, high] = [of.estimate, of.low, of.high].map(rounded);
        of.is_finite().then_some(BandWire {
            estimate,
            low,
            high,
            label: None,
        })
    }

    pub(super) fn labelled(self, label: Option<String>) -> BandWire {
        BandWire { label, ..self }
    }
}

/// The arm's id, because names may be equal.
pub(super) fn id(load: &Analysis, arm: ArmIndex) -> String {
    let arm = load.arms.get(arm.get());
    arm.map_or_else(String::new, |arm| arm.id.to_string())
}

pub(super) fn times(all: &[f64]) -> Vec<f64> {
    all.iter().copied().map(to_the_millisecond).collect()
}

pub(super) fn figures(all: &[Option<f64>]) -> Vec<Option<f64>> {
    let known = |of: &Option<f64>| of.filter(|figure| figure.is_finite()).map(rounded);
    all.iter().map(known).collect()
}

pub(super) fn to_the_millisecond(s: f64) -> f64 {
    (s * A_SECOND).round() / A_SECOND
}

/// Rounds to [`DIGITS`] significant digits.
pub(super) fn rounded(figure: f64) -> f64 {
    if figure == 0.0 || !figure.is_finite() {
        return figure;
    }
    let places = DIGITS - 1 - figure.abs().log10().floor() as i32;
    // Scaled by integer powers of ten, so that the result is the double nearest to a short decimal.
    if places >= 0 {
        let scale = 10f64.powi(places);
        (figure * scale).round() / scale
    } else {
        let scale = 10f64.powi(-places);
        (figure / scale).round() * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_as_short_as_a_picture_needs() {
        let table = [
            (0.0, "0.0"),
            (61.234_567, "61.235"),
            (-0.000_123_456_7, "-0.00012346"),
            (123_456_789.0, "123460000.0"),
            (99_999.6, "100000.0"),
            (1e-12, "1e-12"),
        ];
        for (figure, expected) in table {
            let written = serde_json::to_string(&rounded(figure)).unwrap();
            assert_eq!(written, expected, "{figure}");
        }
        assert!(rounded(f64::NAN).is_nan());
        assert_eq!(to_the_millisecond(5_400.123_456), 5_400.123);
    }

    #[test]
    fn non_finite_figures_are_not_drawn() {
        let band = |high: f64| {
            let interval = Interval {
                estimate: 0.01,
                low: 0.0,
                high,
                confidence: 0.95,
                method: windage_model::Method::MeanByLaunch,
            };
            serde_json::to_value(BandWire::of(&interval)).unwrap()
        };
        let finite = serde_json::json!({ "estimate": 0.01, "low": 0.0, "high": 0.02 });
        assert_eq!(band(0.02), finite);
        assert_eq!(band(f64::INFINITY), serde_json::Value::Null);
    }
}
