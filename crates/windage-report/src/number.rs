//! How figures are written for people: three significant digits, a unit that keeps them short, and
//! a sign on every difference.

mod scale;

use std::fmt;

use windage_model::{Interval, Unit};

pub use scale::Scale;

/// Shown in place of a missing figure.
pub const NOT_AVAILABLE: &str = "n/a";

/// Units, which stay on the same line as the figure before them.
pub(crate) const UNIT_WORDS: &[&str] = &[
    "%", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "B/h", "kB/h", "MB/h", "GB/h", "k/s",
    "M/s", "cores",
];

/// The most decimals of a figure.
const MOST_DECIMALS: usize = 6;

/// An interval as text. `Display` gives "+22.7 % (+22.0 to +23.0)".
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The point estimate, without its unit.
    pub estimate: String,
    /// The lower end, without its unit.
    pub low: String,
    /// The upper end, without its unit.
    pub high: String,
    unit: Scale,
}

impl Shown {
    fn new(interval: &Interval, unit: Scale, write: impl Fn(f64) -> String) -> Shown {
        Shown {
            estimate: write(interval.estimate),
            low: write(interval.low),
            high: write(interval.high),
            unit,
        }
    }

    /// The estimate with its unit: "+22.7 %".
    #[must_use]
    pub fn point(&self) -> String {
        self.unit.attach(&self.estimate)
    }

    /// Both ends: "+22.0 to +23.0".
    #[must_use]
    pub fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }

    /// Both ends with their unit: "+22.0 to +23.0 %".
    #[must_use]
    pub fn range_with_unit(&self) -> String {
        self.unit.attach(&self.range())
    }

    /// Without the unit: "+22.7 (+22.0 to +23.0)".
    #[must_use]
    pub fn bare(&self) -> String {
        format!("{} ({})", self.estimate, self.range())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.point(), self.range())
    }
}

/// A share as signed percent; `None` when an end is not finite.
#[must_use]
pub fn percent(share: &Interval) -> Option<Shown> {
    let percent = finite(share)?.map(|v| v * 100.0);
    let places = percent_places(&percent);
    Some(Shown::new(&percent, Scale::PERCENT, |v| signed(v, places)))
}

/// A share as percent without sign, for sentences whose verb gives the direction.
pub(crate) fn percent_unsigned(share: &Interval) -> Option<Shown> {
    // Adding 0.0 turns −0.0 into 0.0.
    let percent = finite(share)?.map(|v| v * 100.0 + 0.0);
    let places = percent_places(&percent);
    Some(Shown::new(&percent, Scale::PERCENT, |v| {
        if v < 0.0 {
            signed(v, places)
        } else {
            format!("{v:.places$}")
        }
    }))
}

/// An upper bound as percent, rounded up so that "no more than" stays true.
pub(crate) fn percent_bound(share: f64) -> String {
    // The small term keeps 0.6 % at 0.6, whose binary form is slightly larger.
    let tenths = (share * 1000.0 - 1e-9).ceil().max(0.0);
    format!("{:.1} %", tenths / 10.0)
}

/// A share as percent with three significant digits, as short as possible, such as a margin or a
/// loss. Gets up to six decimals so that 99.9999 % is not written as 100 %.
#[must_use]
pub fn percent_short(share: f64) -> String {
    if !share.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let percent = share * 100.0;
    let to = |places: usize| format!("{:.places$}", percent.abs());
    let mut fitting = (decimals(percent.abs())..=MOST_DECIMALS).map(to);
    let text = fitting.find(|text| share == 1.0 || trimmed(text) != "100");
    let text = text.as_deref().map_or("100", trimmed);
    format!("{}{text} %", if percent < 0.0 { "−" } else { "" })
}

/// Removes trailing zeros from the decimals.
fn trimmed(written: &str) -> &str {
    if written.contains('.') {
        written.trim_end_matches('0').trim_end_matches('.')
    } else {
        written
    }
}

/// A share with two significant digits, as percent: half-widths and scatter.
pub(crate) fn percent_two(share: f64) -> String {
    if !share.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let percent = share * 100.0;
    let places = decimals(percent.abs()).saturating_sub(1).max(1);
    let text = format!("{:.places$}", percent.abs());
    let text = trimmed(&text);
    format!("{}{text} %", if percent < 0.0 { "−" } else { "" })
}

/// Telemetry per request, with the decimals that suit `asked`, so that attempted and delivered are
/// written alike.
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

/// A share as integer percent.
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

/// A count with thousands separators.
#[must_use]
pub fn count(n: u64) -> String {
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

/// A computed count, rounded to an integer.
#[must_use]
pub fn count_f64(n: f64) -> String {
    // The cast saturates; no count exceeds u64.
    let text = count(n.abs().round() as u64);
    match n {
        n if !n.is_finite() => NOT_AVAILABLE.to_owned(),
        n if n <= -0.5 => format!("−{text}"),
        _ => text,
    }
}

/// Seconds in the unit that makes them shortest.
#[must_use]
pub fn seconds(s: f64) -> String {
    if s == 0.0 || (60.0..f64::INFINITY).contains(&s) {
        return format!("{s:.0} s");
    }
    let scale = Scale::fitting(Unit::Seconds, [s]);
    scale.attach(trimmed(&scale.bare(s)))
}

/// A figure in the unit that makes it shortest: "61.2 µs".
#[must_use]
pub fn short(unit: Unit, figure: f64) -> String {
    Scale::fitting(unit, [figure]).with_unit(figure)
}

/// Events per second in full, because rates are compared by their last digits.
#[must_use]
pub fn rate(per_s: f64) -> String {
    if per_s.abs() < 999.5 {
        format!("{}/s", trimmed(&plain(per_s)))
    } else {
        format!("{}/s", count_f64(per_s))
    }
}

/// A count with its noun: "1 span", "1,000 spans".
#[must_use]
pub fn counted(n: u64, one: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(n))
}

/// A figure of a warning's evidence or of the host, as short as possible.
#[must_use]
pub fn plain(figure: f64) -> String {
    if !figure.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    if figure.fract() == 0.0 && figure.abs() < 1e15 {
        return format!("{figure:.0}").replace('-', "−");
    }
    let text = format!("{:.*}", decimals(figure.abs()), figure.abs());
    format!("{}{text}", if figure < 0.0 { "−" } else { "" })
}

/// The interval as text; `None` unless all of it is finite.
fn finite(interval: &Interval) -> Option<&Interval> {
    interval.is_finite().then_some(interval)
}

fn largest(interval: &Interval) -> f64 {
    interval
        .estimate
        .abs()
        .max(interval.low.abs())
        .max(interval.high.abs())
}

/// Decimals for three significant digits.
fn decimals(figure: f64) -> usize {
    if figure == 0.0 {
        return 0;
    }
    // The factor makes 9.996 count as 10.0, to which it is rounded.
    let exponent = (figure * 1.0005).log10().floor();
    // Small enough for an exact cast.
    (2.0 - exponent).clamp(0.0, MOST_DECIMALS as f64) as usize
}

/// One decimal; two for narrow intervals; none from 100 on.
fn percent_places(percent: &Interval) -> usize {
    match largest(percent) {
        p if p >= 99.95 => 0,
        _ if percent.half_width() < 0.15 => 2,
        _ => 1,
    }
}

/// A figure with its sign. What rounds to zero keeps its sign, which shows on which side of zero an
/// interval's end lies.
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
            method: windage_model::Method::MeanByLaunch,
        }
    }

    #[test]
    fn shares_in_sentences_have_no_plus() {
        let zero = percent_unsigned(&interval(-0.0, -0.02, -0.0)).unwrap();
        assert_eq!(
            (zero.estimate.as_str(), &*zero.range()),
            ("0.0", "−2.0 to 0.0")
        );
        assert_eq!(percent_unsigned(&interval(f64::NAN, 0.0, 0.2)), None);
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
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(100), "100");
        assert_eq!(seconds(0.1), "100 ms");
        assert_eq!(seconds(2.5), "2.5 s");
        assert_eq!(seconds(300.0), "300 s");
    }

    type Plain = (
        fn(f64) -> String,
        &'static [(f64, &'static str, &'static str)],
    );

    #[test]
    fn figures_without_a_unit() {
        let table: [Plain; 5] = [
            (
                percent_short,
                &[
                    (0.005, "0.5 %", "no zero at the end"),
                    (0.0025, "0.25 %", "a margin as written in the plan"),
                    (0.0125, "1.25 %", "a margin as written in the plan"),
                    (0.02, "2 %", "no point without decimals"),
                    (0.0001, "0.01 %", "small"),
                    (0.123456, "12.3 %", "three digits"),
                    (0.9975, "99.8 %", "a confidence"),
                    (-0.25, "−25 %", "more than expected"),
                    (3.0, "300 %", "zeros before the point stay"),
                    (0.0, "0 %", "nothing"),
                    (1.0, "100 %", "all"),
                    (0.9997, "99.97 %", "not all"),
                    (0.999999, "99.9999 %", "not all"),
                    (1.0003, "100.03 %", "more than all"),
                    (0.999999999999, "100 %", "all, within rounding error"),
                    (2e-08, "0.000002 %", "not zero"),
                    (f64::NAN, "n/a", "not finite"),
                ],
            ),
            (
                percent_two,
                &[
                    (0.005, "0.5 %", "no zero at the end"),
                    (0.00524, "0.52 %", "two digits"),
                    (3.4e-05, "0.0034 %", "two digits"),
                    (0.0192, "1.9 %", "two digits"),
                    (0.101, "10.1 %", "one decimal at least"),
                    (0.0, "0 %", "nothing"),
                    (f64::NAN, "n/a", "not finite"),
                ],
            ),
            (
                hundredths,
                &[
                    (-0.794, "−0.79", "two decimals"),
                    (-0.001, "0.00", "zero has no sign"),
                    (0.125, "0.12", "in the middle: to the even digit"),
                ],
            ),
            (
                count_f64,
                &[
                    (1234567.0, "1,234,567", "groups of three digits"),
                    (100.0, "100", "no group"),
                    (-12.4, "−12", "whole"),
                    (-0.2, "0", "zero has no sign"),
                    (2.5, "3", "in the middle: away from zero"),
                    (f64::NAN, "n/a", "not finite"),
                ],
            ),
            (
                plain,
                &[
                    (1.0, "1", "a whole number"),
                    (0.123456, "0.123", "three digits"),
                    (12.25, "12.2", "in the middle: to the even digit"),
                    (-3.0, "−3", "a negative sign"),
                    (1e+21, "1000000000000000000000", "no exponent"),
                    (f64::NAN, "n/a", "not finite"),
                ],
            ),
        ];
        for (write, rows) in table {
            for (figure, expected, why) in rows {
                assert_eq!(write(*figure), *expected, "{why}");
            }
        }
    }

    #[test]
    fn figures_in_their_shortest_unit() {
        let table = [
            (Unit::Microseconds, 61.234, "61.2 µs", "three digits"),
            (
                Unit::Microseconds,
                9.996,
                "10.0 µs",
                "three digits after rounding",
            ),
            (Unit::Microseconds, 0.0, "0 µs", "zero has no decimals"),
            (Unit::Microseconds, 0.0512, "0.0512 µs", "no smaller unit"),
            (Unit::Microseconds, 5210.0, "5.21 ms", "a larger unit"),
            (
                Unit::Microseconds,
                2500000.0,
                "2.50 s",
                "trailing zeros are significant",
            ),
            (
                Unit::Microseconds,
                1.125,
                "1.12 µs",
                "in the middle: to the even digit",
            ),
            (
                Unit::Microseconds,
                1.375,
                "1.38 µs",
                "in the middle: to the even digit",
            ),
            (
                Unit::Nanoseconds,
                9999.0,
                "9999 ns",
                "four digits need no larger unit",
            ),
            (Unit::Nanoseconds, 12345.0, "12.3 µs", "a larger unit"),
            (
                Unit::PerSecond,
                2000.0,
                "2000/s",
                "four digits need no larger unit",
            ),
            (Unit::PerSecond, 174900.0, "175 k/s", "a larger unit"),
            (Unit::Bytes, 180.2, "180 B", "three digits"),
            (Unit::Bytes, 23456789.0, "23.5 MB", "a larger unit"),
            (Unit::Bytes, -1500.0, "−1.50 kB", "a negative sign"),
            (Unit::Cores, 0.0123, "0.0123 cores", "three digits"),
            (Unit::One, 0.002, "0.00200", "a plain number"),
            (Unit::Seconds, 0.25, "250 ms", "a smaller unit"),
            (Unit::Bytes, f64::NAN, "n/a", "not finite"),
        ];
        for (unit, figure, expected, why) in table {
            assert_eq!(short(unit, figure), expected, "{why}");
        }
        let us = |us| Scale::fitting(Unit::Microseconds, [us]).signed_point(us);
        assert_eq!([5210.0, -0.5, f64::NAN].map(us), ["+5.21", "−0.500", "n/a"]);
    }

    #[test]
    fn differences_with_their_ends() {
        let us = Scale::fitting(Unit::Microseconds, [61.2]);
        let in_us = |of: &Interval| us.signed(of);
        type Rows = &'static [([f64; 3], &'static str, &'static str)];
        type Write<'a> = &'a dyn Fn(&Interval) -> Option<Shown>;
        let table: [(Write, Rows); 2] = [
            (
                &percent,
                &[
                    (
                        [0.227, 0.22, 0.23],
                        "+22.7 % (+22.0 to +23.0)",
                        "one decimal",
                    ),
                    (
                        [0.0034, -0.004, 0.011],
                        "+0.3 % (−0.4 to +1.1)",
                        "one decimal",
                    ),
                    (
                        [0.0002, -0.0003, 0.0007],
                        "+0.02 % (−0.03 to +0.07)",
                        "two for a narrow interval",
                    ),
                    (
                        [1.532, 1.5, 1.56],
                        "+153 % (+150 to +156)",
                        "none from 100 on",
                    ),
                    (
                        [0.0, -0.01, 0.01],
                        "0.0 % (−1.0 to +1.0)",
                        "zero has no sign",
                    ),
                    (
                        [0.01, 0.0002, 0.02],
                        "+1.0 % (+0.0 to +2.0)",
                        "an end that rounds to zero keeps its sign",
                    ),
                    (
                        [-0.0002, -0.0011, 0.0007],
                        "−0.02 % (−0.11 to +0.07)",
                        "two for a narrow interval",
                    ),
                    ([f64::NAN, 0.0, 0.2], "n/a", "not finite"),
                    ([0.1, f64::NAN, 0.2], "n/a", "an end that is not finite"),
                ],
            ),
            (
                &in_us,
                &[
                    (
                        [13.9, 13.52, 14.24],
                        "+13.9 µs (+13.5 to +14.2)",
                        "the decimals of the largest",
                    ),
                    (
                        [0.05, -0.251, 0.312],
                        "+0.05 µs (−0.25 to +0.31)",
                        "no more than two decimals",
                    ),
                    (
                        [-0.004, -0.02, 0.013],
                        "−0.0040 µs (−0.0200 to +0.0130)",
                        "more where all would be zero",
                    ),
                ],
            ),
        ];
        for (write, rows) in table {
            for ([estimate, low, high], expected, why) in rows {
                let shown = write(&interval(*estimate, *low, *high));
                let text = shown.map_or(NOT_AVAILABLE.to_owned(), |shown| shown.to_string());
                assert_eq!(text, *expected, "{why}");
            }
        }
    }
}
