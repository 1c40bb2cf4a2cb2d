//! How figures are written for people: three significant digits, a unit that keeps them short,
//! and always the sign of a difference.

mod scale;

use windage_model::{Interval, Unit};

pub(crate) use scale::Scale;

/// What stands where there is no figure.
pub(crate) const NOT_AVAILABLE: &str = "n/a";

/// Words that stay on the line of the figure before them.
pub(crate) const UNIT_WORDS: &[&str] = &[
    "%", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "k/s", "M/s", "cores",
];

/// An interval as written: figures without their unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) estimate: String,
    pub(crate) low: String,
    pub(crate) high: String,
}

impl Shown {
    fn new(interval: &Interval, write: impl Fn(f64) -> String) -> Shown {
        Shown {
            estimate: write(interval.estimate),
            low: write(interval.low),
            high: write(interval.high),
        }
    }

    /// Both ends.
    pub(crate) fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }
}

/// A share as signed percent; `None` when an end is not finite.
pub(crate) fn percent(share: &Interval) -> Option<Shown> {
    let percent = finite(share)?.map(|v| v * 100.0);
    let places = percent_places(&percent);
    Some(Shown::new(&percent, |v| signed(v, places)))
}

/// A share as percent without signs, for sentences whose verb says the direction.
pub(crate) fn percent_unsigned(share: &Interval) -> Option<Shown> {
    // The sum takes the sign from nil.
    let percent = finite(share)?.map(|v| v * 100.0 + 0.0);
    let places = percent_places(&percent);
    Some(Shown::new(&percent, |v| {
        if v < 0.0 {
            signed(v, places)
        } else {
            format!("{v:.places$}")
        }
    }))
}

/// A share that is a bound, as percent rounded up: "no more than" must stay true when rounded.
pub(crate) fn percent_bound(share: f64) -> String {
    // The small term keeps 0.6 % at 0.6 though its binary form lies just above.
    let tenths = (share * 1000.0 - 1e-9).ceil().max(0.0);
    format!("{:.1} %", tenths / 10.0)
}

/// A share as percent, as short as it can be: an interest, a loss.
pub(crate) fn percent_short(share: f64) -> String {
    if !share.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let percent = share * 100.0;
    let places = if percent.abs() >= 0.095 || percent == 0.0 {
        1
    } else {
        3
    };
    let text = format!("{:.places$}", percent.abs());
    // There is always a point, so that no digit before it is trimmed.
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{text} %", if percent < 0.0 { "−" } else { "" })
}

/// A share with two significant digits, as percent: half-widths and scatter.
pub(crate) fn percent_two(share: f64) -> String {
    if !share.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let percent = share * 100.0;
    let places = decimals(percent.abs()).saturating_sub(1).max(1);
    let text = format!("{:.places$}", percent.abs());
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{text} %", if percent < 0.0 { "−" } else { "" })
}

/// Telemetry a request, with as many decimals as are right for `asked`, what was asked for: both
/// figures of a pair are written alike.
pub(crate) fn a_request(figure: f64, asked: f64) -> String {
    if !figure.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let places = match decimals(asked.abs()) {
        few @ 0..=3 => few,
        many => (many - 1).max(3),
    };
    format!("{figure:.places$}")
}

/// A share as whole percent.
pub(crate) fn percent_whole(share: f64) -> String {
    let text = format!("{:.0} %", (share * 100.0).abs());
    if share <= -0.005 {
        format!("−{text}")
    } else {
        text
    }
}

/// A plain figure with two decimals, such as a correlation.
pub(crate) fn hundredths(figure: f64) -> String {
    let text = format!("{:.2}", figure.abs());
    if figure <= -0.005 {
        format!("−{text}")
    } else {
        text
    }
}

/// A count, in groups of three digits.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count that was computed, rounded to whole ones.
pub(crate) fn count_f64(n: f64) -> String {
    // The cast saturates: what exceeds u64 was never counted.
    let text = count(n.abs().round() as u64);
    match n {
        n if !n.is_finite() => NOT_AVAILABLE.to_owned(),
        n if n <= -0.5 => format!("−{text}"),
        _ => text,
    }
}

/// Seconds in the unit that keeps them short.
pub(crate) fn seconds(s: f64) -> String {
    if s == 0.0 || (60.0..f64::INFINITY).contains(&s) {
        return format!("{s:.0} s");
    }
    let scale = Scale::fitting(Unit::Seconds, [s]);
    let text = scale.bare(s);
    let trimmed = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    scale.attach(trimmed)
}

/// A plain figure of evidence or of the host, as short as it can be.
pub(crate) fn plain(figure: f64) -> String {
    if !figure.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    if figure.fract() == 0.0 && figure.abs() < 1e15 {
        return format!("{figure:.0}").replace('-', "−");
    }
    let text = format!("{:.*}", decimals(figure.abs()), figure.abs());
    format!("{}{text}", if figure < 0.0 { "−" } else { "" })
}

/// The interval, if all of it can be written.
fn finite(interval: &Interval) -> Option<&Interval> {
    [interval.estimate, interval.low, interval.high]
        .iter()
        .all(|v| v.is_finite())
        .then_some(interval)
}

fn largest(interval: &Interval) -> f64 {
    interval
        .estimate
        .abs()
        .max(interval.low.abs())
        .max(interval.high.abs())
}

/// Decimals that leave three significant digits.
fn decimals(figure: f64) -> usize {
    if figure == 0.0 {
        return 0;
    }
    // The factor lets 9.996 count as the 10.0 that it is rounded to.
    let exponent = (figure * 1.0005).log10().floor();
    // Between 0 and 6, so that the cast is exact.
    (2.0 - exponent).clamp(0.0, 6.0) as usize
}

/// One decimal, as a share of CPU is talked about; two for what is known better than that, none
/// from 100 on.
fn percent_places(percent: &Interval) -> usize {
    match largest(percent) {
        p if p >= 99.95 => 0,
        _ if percent.half_width() < 0.15 => 2,
        _ => 1,
    }
}

/// A figure with its sign; also what rounds to nil keeps it, for it tells on which side of nil
/// the end of an interval lies.
fn signed(v: f64, places: usize) -> String {
    let sign = match v {
        v if v > 0.0 => "+",
        v if v < 0.0 => "−",
        _ => "",
    };
    format!("{sign}{:.places$}", v.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(estimate: f64, low: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
            confidence: 0.95,
            method: "test".into(),
        }
    }

    #[test]
    fn figures_get_three_digits_and_a_fitting_unit() {
        let table = [
            (Unit::Microseconds, 61.234, "61.2 µs"),
            (Unit::Microseconds, 9.996, "10.0 µs"),
            (Unit::Microseconds, 0.0, "0 µs"),
            (Unit::Microseconds, 0.0512, "0.0512 µs"),
            (Unit::Microseconds, 5_210.0, "5.21 ms"),
            (Unit::Microseconds, 2.5e6, "2.50 s"),
            (Unit::PerSecond, 2_000.0, "2000/s"),
            (Unit::PerSecond, 174_900.0, "175 k/s"),
            (Unit::Bytes, 180.2, "180 B"),
            (Unit::Bytes, 23_456_789.0, "23.5 MB"),
            (Unit::Cores, 0.0123, "0.0123 cores"),
            (Unit::One, 0.002, "0.00200"),
            (Unit::Seconds, 0.25, "250 ms"),
            (Unit::Bytes, -1_500.0, "−1.50 kB"),
            (Unit::Bytes, f64::NAN, "n/a"),
            (Unit::Seconds, f64::INFINITY, "n/a"),
        ];
        for (unit, figure, expected) in table {
            assert_eq!(
                Scale::fitting(unit, [figure]).with_unit(figure),
                expected,
                "{figure}"
            );
        }
    }

    #[test]
    fn shares_become_percent() {
        let table = [
            (interval(0.227, 0.22, 0.23), "+22.7", "+22.0 to +23.0"),
            (interval(0.0034, -0.004, 0.011), "+0.3", "−0.4 to +1.1"),
            (interval(0.0002, -0.0003, 0.0007), "+0.02", "−0.03 to +0.07"),
            (interval(1.532, 1.5, 1.56), "+153", "+150 to +156"),
            (interval(0.0, -0.01, 0.01), "0.0", "−1.0 to +1.0"),
            (interval(0.01, 0.0002, 0.02), "+1.0", "+0.0 to +2.0"),
            (
                interval(-0.0002, -0.0011, 0.0007),
                "−0.02",
                "−0.11 to +0.07",
            ),
        ];
        for (share, estimate, range) in table {
            let shown = percent(&share).unwrap();
            assert_eq!(
                (shown.estimate.as_str(), shown.range().as_str()),
                (estimate, range)
            );
        }
        let nil = percent_unsigned(&interval(-0.0, -0.02, -0.0)).unwrap();
        assert_eq!(
            (nil.estimate.as_str(), &*nil.range()),
            ("0.0", "−2.0 to 0.0")
        );
        assert_eq!(percent(&interval(0.1, f64::NEG_INFINITY, 0.2)), None);
        assert_eq!(percent(&interval(f64::NAN, 0.0, 0.2)), None);
    }

    #[test]
    fn differences_keep_their_sign_and_agree_in_decimals() {
        let us = Scale::fitting(Unit::Microseconds, [61.2]);
        let table = [
            (interval(13.9, 13.52, 14.24), "+13.9", "+13.5 to +14.2"),
            (interval(0.05, -0.251, 0.312), "+0.05", "−0.25 to +0.31"),
            (
                interval(-0.004, -0.02, 0.013),
                "−0.0040",
                "−0.0200 to +0.0130",
            ),
        ];
        for (difference, estimate, range) in table {
            let shown = us.signed(&difference).unwrap();
            assert_eq!(
                (shown.estimate.as_str(), shown.range().as_str()),
                (estimate, range)
            );
        }
    }

    #[test]
    fn bounds_are_rounded_up() {
        let table = [
            (0.006, "0.6 %"),
            (0.00601, "0.7 %"),
            (0.0001, "0.1 %"),
            (-0.01, "0.0 %"),
        ];
        for (share, expected) in table {
            assert_eq!(percent_bound(share), expected, "{share}");
        }
    }

    #[test]
    fn short_forms() {
        assert_eq!(percent_short(0.005), "0.5 %");
        assert_eq!(percent_short(0.02), "2 %");
        assert_eq!(percent_short(0.0001), "0.01 %");
        assert_eq!(percent_short(-0.25), "−25 %");
        assert_eq!(percent_short(0.0), "0 %");
        assert_eq!(percent_short(1.0), "100 %");
        assert_eq!(percent_two(0.005), "0.5 %");
        assert_eq!(percent_two(0.005_24), "0.52 %");
        assert_eq!(percent_two(0.000_034), "0.0034 %");
        assert_eq!(percent_two(0.019_2), "1.9 %");
        assert_eq!(percent_two(0.101), "10.1 %");
        assert_eq!(percent_two(0.0), "0 %");
        assert_eq!(percent_two(f64::NAN), "n/a");
        assert_eq!(percent_whole(0.384), "38 %");
        assert_eq!(percent_whole(-0.02), "−2 %");
        let pairs = [
            (1.0, 1.0, "1.00"),
            (0.621, 1.0, "0.62"),
            (0.0251, 0.025, "0.025"),
            (0.0031, 0.003, "0.0031"),
            (8.981, 9.0, "8.98"),
            (0.0, 0.0, "0"),
            (f64::NAN, 1.0, "n/a"),
        ];
        for (figure, asked, expected) in pairs {
            assert_eq!(a_request(figure, asked), expected, "{figure} of {asked}");
        }
        assert_eq!(hundredths(-0.794), "−0.79");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(100), "100");
        assert_eq!(count_f64(-12.4), "−12");
        assert_eq!(count_f64(-0.2), "0");
        assert_eq!(count_f64(f64::NAN), "n/a");
        assert_eq!(seconds(0.1), "100 ms");
        assert_eq!(seconds(2.5), "2.5 s");
        assert_eq!(seconds(300.0), "300 s");
        assert_eq!(plain(1.0), "1");
        assert_eq!(plain(0.123_456), "0.123");
        assert_eq!(plain(-3.0), "−3");
    }
}
