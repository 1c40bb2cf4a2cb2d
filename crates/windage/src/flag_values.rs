//! Values that several verbs' flags take.

use std::time::Duration;

use windage_model::Metric;

/// Parses a duration above zero, such as `1h 30m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|error| format!("{error}; durations look like `30s`, `5m` or `1h 30m`"))?;
    if duration.is_zero() {
        Err("must be longer than zero".into())
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
        for wrong in ["0s", "fast", "10", "-1s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
