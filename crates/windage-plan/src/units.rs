//! Durations, rates, shares and sizes, as plans write them.

use std::time::Duration;

/// The highest rate per second; far above what one generator can send.
const MAX_RATE_PER_S: f64 = 10_000_000.0;

/// Reads a duration such as `"100ms"`, `"1.5s"` or `"1m 30s"`.
///
/// The error is a sentence for the user.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a duration such as \"100ms\", \"2s\" or \"5m\""))
}

/// A duration that [`parse_duration`] reads back to the same value.
pub(crate) fn print_duration(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

/// Reads a rate such as `"2000/s"`, in events per second.
pub(crate) fn parse_rate(text: &str) -> Result<f64, String> {
    match parse_rate_or_zero(text) {
        Ok(rate_per_s) if rate_per_s <= 0.0 => Err(format!("the rate `{text}` must be above 0/s")),
        parsed => parsed,
    }
}

/// The same, but zero is allowed.
pub(crate) fn parse_rate_or_zero(text: &str) -> Result<f64, String> {
    let rate_per_s = text
        .trim()
        .strip_suffix("/s")
        .and_then(|number| decimal(number.trim_end()))
        .ok_or_else(|| format!("`{text}` is not a rate such as \"2000/s\""))?;
    if rate_per_s > MAX_RATE_PER_S {
        return Err(format!(
            "the rate `{text}` is above the maximum, {MAX_RATE_PER_S}/s"
        ));
    }
    Ok(rate_per_s)
}

/// A rate that [`parse_rate`] reads back to the same value.
pub(crate) fn print_rate(rate_per_s: f64) -> String {
    format!("{rate_per_s}/s")
}

/// Reads a share in text, such as `"0.5%"` or `"0.005"`.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let share = match trimmed.strip_suffix('%') {
        Some(percent) => decimal(percent.trim_end()).map(|p| p / 100.0),
        None => decimal(trimmed),
    };
    share.ok_or_else(|| format!("`{text}` is not a share such as \"0.5%\" or 0.005"))
}

/// Units of sizes, the largest first.
const BYTE_UNITS: [(&str, u64); 4] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// Reads a size such as `"16MiB"`, in bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let whole = |number: &str, unit| {
        let plain = number.bytes().all(|b| b.is_ascii_digit());
        let count = number.parse::<u64>().ok().filter(|_| plain)?;
        count.checked_mul(unit)
    };
    BYTE_UNITS
        .iter()
        .find_map(|(name, unit)| whole(trimmed.strip_suffix(name)?.trim_end(), *unit))
        .ok_or_else(|| format!("`{text}` is not a size such as \"512KiB\" or \"16MiB\""))
}

/// A size that [`parse_bytes`] reads back to the same value, if it is a whole number of KiB.
pub(crate) fn print_bytes(bytes: u64) -> String {
    let fits = |(_, unit): &&(&str, u64)| bytes.is_multiple_of(*unit);
    let (name, unit) = BYTE_UNITS.iter().find(fits).unwrap_or(&("KiB", 1 << 10));
    format!("{}{name}", bytes / unit)
}

/// Digits and at most one point; `f64`'s own parser also accepts `inf` and `nan`.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse::<f64>().ok().filter(|n| plain && n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations() {
        let table = [
            ("100ms", Some(Duration::from_millis(100))),
            ("2s", Some(Duration::from_secs(2))),
            ("5m", Some(Duration::from_secs(300))),
            ("0.5s", Some(Duration::from_millis(500))),
            ("0s", Some(Duration::ZERO)),
            ("5", None),
            ("-5s", None),
            ("", None),
            ("fast", None),
            ("99999999999999999999s", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_duration(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn rates() {
        let table = [
            ("2000/s", Some(2000.0)),
            ("0.5/s", Some(0.5)),
            (" 10 /s", Some(10.0)),
            ("0/s", None),
            ("-1/s", None),
            ("inf/s", None),
            ("1e9/s", None),
            ("99000000/s", None),
            ("2000", None),
            ("2000/m", None),
            ("/s", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_rate(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn shares() {
        let table = [
            ("0.5%", Some(0.005)),
            ("2 %", Some(0.02)),
            ("0.01", Some(0.01)),
            ("150%", Some(1.5)),
            ("%", None),
            ("nan", None),
            ("half", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_share(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn sizes() {
        let table = [
            ("16MiB", Some(16 << 20)),
            (" 64 KiB ", Some(64 << 10)),
            ("0KiB", Some(0)),
            ("1TiB", Some(1 << 40)),
            ("16MB", None),
            ("16", None),
            ("1.5MiB", None),
            ("+1MiB", None),
            ("MiB", None),
            ("99999999999TiB", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_bytes(text).ok(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn printed_sizes_lead_back(kibibytes in 0_u64..1 << 31) {
            let bytes = kibibytes << 10;
            prop_assert_eq!(parse_bytes(&print_bytes(bytes)), Ok(bytes));
        }

        #[test]
        fn printed_durations_lead_back(nanos in 0_u64..10_000_000_000_000) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(parse_duration(&print_duration(duration)), Ok(duration));
        }

        #[test]
        fn printed_rates_lead_back(rate in 1e-6..1e7) {
            prop_assert_eq!(parse_rate(&print_rate(rate)), Ok(rate));
        }
    }
}
