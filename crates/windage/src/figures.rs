//! How figures are written for people: three significant digits, each with its own unit.

/// A time, from microseconds.
pub(crate) fn time(us: f64) -> String {
    match us {
        us if us >= 999_500.0 => scaled(us / 1e6, "s"),
        us if us >= 999.5 => scaled(us / 1e3, "ms"),
        us => scaled(us, "µs"),
    }
}

/// A size, from bytes.
pub(crate) fn size(bytes: f64) -> String {
    let steps = [
        (999_500_000.0, 1e9, "GB"),
        (999_500.0, 1e6, "MB"),
        (999.5, 1e3, "kB"),
    ];
    match steps.into_iter().find(|&(from, ..)| bytes >= from) {
        Some((_, divisor, unit)) => scaled(bytes / divisor, unit),
        None => format!("{bytes:.0} B"),
    }
}

/// A rate, from events a second. Rates are compared by their last digits, so four are kept.
pub(crate) fn rate(per_s: f64) -> String {
    let places = match per_s {
        r if r >= 1000.0 => 0,
        r if r >= 100.0 => 1,
        r if r >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{per_s:.places$}");
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    format!("{}{point}{part}/s", grouped(whole))
}

/// A count, in groups of three digits.
pub(crate) fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// One thing or several.
pub(crate) fn counted(n: u64, one: &str, several: &str) -> String {
    let word = if n == 1 { one } else { several };
    format!("{} {word}", count(n))
}

/// A length of time, from seconds.
pub(crate) fn seconds(s: f64) -> String {
    if s >= 100.0 {
        format!("{s:.0} s")
    } else {
        time(s * 1e6)
    }
}

fn scaled(figure: f64, unit: &str) -> String {
    let places = match figure {
        f if f >= 99.95 => 0,
        f if f >= 9.995 => 1,
        _ => 2,
    };
    format!("{figure:.places$} {unit}")
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_three_digits_and_their_unit() {
        let times = [
            (0.0, "0.00 µs"),
            (1.234, "1.23 µs"),
            (52.06, "52.1 µs"),
            (999.4, "999 µs"),
            (999.6, "1.00 ms"),
            (184_800.0, "185 ms"),
            (999_600.0, "1.00 s"),
            (60_000_000.0, "60.0 s"),
        ];
        for (us, text) in times {
            assert_eq!(time(us), text, "{us}");
        }
        let sizes = [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1_500.0, "1.50 kB"),
            (10_400_000.0, "10.4 MB"),
            (2e12, "2000 GB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(size(bytes), text, "{bytes}");
        }
        assert_eq!(seconds(0.5), "500 ms");
        assert_eq!(seconds(3600.0), "3600 s");
    }

    #[test]
    fn rates_and_counts_are_grouped() {
        let rates = [
            (154_812.4, "154,812/s"),
            (2000.0, "2,000/s"),
            (999.96, "1,000/s"),
            (123.4, "123.4/s"),
            (0.5, "0.5/s"),
            (0.0, "0/s"),
        ];
        for (per_s, text) in rates {
            assert_eq!(rate(per_s), text, "{per_s}");
        }
        assert_eq!(counted(1, "thread", "threads"), "1 thread");
        assert_eq!(counted(1000, "thread", "threads"), "1,000 threads");
    }
}
