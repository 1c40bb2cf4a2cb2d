//! The machine's calibration, as far as it can be read: another version of Windage may have written
//! the file.

use serde_json::Value;
use windage_analysis::Analysis;
use windage_model::Metric;

use crate::duration;
use crate::fact::{Fact, one_line};
use crate::number;

/// Its key among the facts about the machine.
pub(crate) const KEY: &str = "calibration";

/// The measuring time that is quoted if it was calibrated.
const QUOTED_S: &str = "60";

/// The latest calibration in one line; `None` if the machine was not calibrated.
pub(crate) fn quoted(analysis: &Analysis) -> Option<Fact> {
    let calibration = analysis.host.get(KEY).filter(|found| found.is_object())?;
    let date = calibration.get("date").and_then(Value::as_str);
    let date = date.map_or("at an unknown date".to_owned(), one_line);
    let figures: Vec<String> = [
        minimum_detectable_effect(calibration, analysis.primary),
        of(calibration, "coverage", "inside")
            .map(|(inside, of)| format!("truth inside {inside} of {of} intervals")),
        of(calibration, "false_positives", "found")
            .map(|(found, of)| format!("{found} of {of} false positives")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let figures = if figures.is_empty() {
        "its figures can't be read".to_owned()
    } else {
        figures.join("; ")
    };
    Some(Fact::new(
        "machine",
        format!("calibrated {date}: {figures}"),
    ))
}

/// The calibration, or how to calibrate.
pub(crate) fn quoted_or_missing(analysis: &Analysis) -> Fact {
    quoted(analysis)
        .unwrap_or_else(|| Fact::new("machine", "not calibrated; run: windage calibrate"))
}

/// For the run's primary metric, or else the first known one.
fn minimum_detectable_effect(calibration: &Value, primary: Metric) -> Option<String> {
    let by_metric = calibration.get("minimum_detectable_effect")?.as_object()?;
    let metric = by_metric
        .get(primary.as_str())
        .map(|by_time| (primary, by_time));
    let (metric, by_time) = metric.or_else(|| {
        by_metric
            .iter()
            .find_map(|(name, by_time)| Some((Metric::from_name(name)?, by_time)))
    })?;
    let (seconds, share) = at_quoted_time(by_time)?;
    Some(format!(
        "minimum detectable effect in {} {} of {}",
        duration::span(seconds),
        number::percent_bound(share),
        metric.label()
    ))
}

/// The time in seconds and its figure; the longest time if the quoted one is missing.
fn at_quoted_time(by_time: &Value) -> Option<(f64, f64)> {
    let read = |(key, figure): (&String, &Value)| {
        let seconds = key.parse::<f64>().ok().filter(|s| *s > 0.0)?;
        Some((seconds, figure.as_f64()?)).filter(|(s, figure)| s.is_finite() && *figure >= 0.0)
    };
    let by_time = by_time.as_object()?;
    let quoted = by_time.get_key_value(QUOTED_S).and_then(read);
    quoted.or_else(|| {
        let all = by_time.iter().filter_map(read);
        all.max_by(|(a, _), (b, _)| a.total_cmp(b))
    })
}

/// Two counts: n of m.
fn of(calibration: &Value, part: &str, count: &str) -> Option<(u64, u64)> {
    let part = calibration.get(part)?;
    Some((part.get(count)?.as_u64()?, part.get("of")?.as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn readable_figures_are_quoted() {
        let by_time = |figures: Value| json!({ "cpu_per_request": figures });
        let table = [
            (
                by_time(json!({ "10": 0.012, "60": 0.005, "300": 0.002 })),
                Some("minimum detectable effect in 60 s 0.5 % of CPU per request"),
            ),
            (
                by_time(json!({ "10": 0.012, "30": 0.0081 })),
                Some("minimum detectable effect in 30 s 0.9 % of CPU per request"),
            ),
            (
                json!({ "colour": { "60": 0.1 }, "throughput": { "60": 0.01 } }),
                Some("minimum detectable effect in 60 s 1.0 % of throughput"),
            ),
            (
                by_time(json!({ "soon": 0.1, "60": "wide", "-3": 0.1 })),
                None,
            ),
            (by_time(json!([0.1])), None),
            (json!(0.1), None),
        ];
        for (figures, expected) in table {
            let calibration = json!({ "minimum_detectable_effect": figures });
            let found = minimum_detectable_effect(&calibration, Metric::CpuPerRequest);
            assert_eq!(found.as_deref(), expected, "{calibration}");
        }
    }

    #[test]
    fn counts_are_integers_and_complete() {
        let table = [
            (json!({ "inside": 38, "of": 40 }), Some((38, 40))),
            (json!({ "inside": 38 }), None),
            (json!({ "inside": -1, "of": 40 }), None),
            (json!({ "inside": 0.5, "of": 40 }), None),
            (json!("38 of 40"), None),
        ];
        for (coverage, expected) in table {
            let calibration = json!({ "coverage": coverage });
            assert_eq!(of(&calibration, "coverage", "inside"), expected);
        }
    }
}
