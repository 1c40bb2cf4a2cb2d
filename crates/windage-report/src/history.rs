//! Figures of history, whose rows name their unit and metric.

use windage_model::Metric;

use crate::number::Scale;

/// An amount in a row's unit, `share` or that of its metric, with its interval if it has one:
/// "+22.7 % (+22.0 to +23.0)".
#[must_use]
pub fn history_amount(unit: &str, metric: &str, estimate: f64, ends: Option<(f64, f64)>) -> String {
    let (low, high) = ends.unwrap_or((estimate, estimate));
    let scale = history_scale(unit, metric, [estimate, low, high]).of_differences();
    let signed = |value: f64, written: String| match value >= 0.0 {
        true => format!("+{written}"),
        false => written,
    };
    let is_share = unit == SHARE;
    let bare = |value: f64| match is_share {
        true => format!("{:+.1}", value * 100.0).replace('-', "−"),
        false => signed(value, scale.bare(value)),
    };
    let point = match is_share {
        true => scale.attach(&bare(estimate)),
        false => signed(estimate, scale.with_unit(estimate)),
    };
    match ends {
        Some((low, high)) => format!("{point} ({} to {})", bare(low), bare(high)),
        None => point,
    }
}

/// How a level changed: "up from +8.4 % to +11.2 %".
#[must_use]
pub fn history_change(unit: &str, metric: &str, [before, after]: [f64; 2]) -> String {
    let direction = if after > before { "up" } else { "down" };
    let [before, after] = [before, after].map(|of| history_amount(unit, metric, of, None));
    format!("{direction} from {before} to {after}")
}

/// The scale on which these figures of a row's unit and metric are short.
#[must_use]
pub fn history_scale(unit: &str, metric: &str, figures: impl IntoIterator<Item = f64>) -> Scale {
    match (unit, Metric::from_name(metric)) {
        (SHARE, _) => Scale::PERCENT,
        (_, Some(metric)) => Scale::fitting(metric.unit(), figures),
        // Of a later version, or from a CSV that was written by hand.
        (_, None) => Scale::ONE,
    }
}

/// A metric's name within a sentence, as far as it is known.
#[must_use]
pub fn history_label(metric: &str) -> &str {
    Metric::from_name(metric).map_or(metric, |known| known.label())
}

/// The unit of a row that is relative to the baseline.
const SHARE: &str = "share";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_shares_are_in_points() {
        let table = [
            ("share", "cpu_per_request", "+1.2 % (+1.0 to +2.0)"),
            ("1", "errors_per_request", "+1.20 points (+1.00 to +2.00)"),
            ("1", "of_a_later_version", "+0.0120 (+0.0100 to +0.0200)"),
        ];
        for (unit, metric, shown) in table {
            let amount = history_amount(unit, metric, 0.012, Some((0.01, 0.02)));
            assert_eq!(amount, shown, "{unit} {metric}");
        }
    }
}
