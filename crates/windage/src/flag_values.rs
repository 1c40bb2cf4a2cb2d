//! Values that several verbs' flags take.

use std::time::Duration;

use windage_model::Metric;

/// What durations look like.
const LIKE: &str = "durations look like `30s`, `5m` or `1h 30m`";

/// Parses a duration above zero, such as `1h 30m`. Its flags allow values with a hyphen, so that
/// this error answers `--for -3s`, and not the one about an unknown flag `-3`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if text.starts_with("--") {
        return Err(format!("a duration is missing before this flag; {LIKE}"));
    }
    if text.starts_with('-') {
        return Err(format!("a duration must be longer than zero; {LIKE}"));
    }
    let duration = humantime::parse_duration(text).map_err(|error| format!("{error}; {LIKE}"))?;
    if duration.is_zero() {
        Err(format!("a duration must be longer than zero; {LIKE}"))
    } else {
        Ok(duration)
    }
}

/// Finds a metric by its name.
pub(crate) fn metric(name: &str) -> Result<Metric, String> {
    Metric::from_name(name).ok_or_else(|| {
        let names: Vec<_> = Metric::ALL.iter().map(|metric| metric.as_str()).collect();
        format!(
            "there is no such metric; the metrics are: {}",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_checked() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        for wrong in ["0s", "fast", "10", "-1s", "--rounds"] {
            let error = duration(wrong).unwrap_err();
            assert!(error.contains("`30s`"), "{wrong}: {error}");
        }
    }
}
