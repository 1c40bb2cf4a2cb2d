//! How figures are written for people: three significant digits, a unit that keeps them short,
//! and always the sign of a difference.

mod scale;
#[cfg(test)]
mod written;

use std::fmt;

use windage_model::{Interval, Unit};

pub use scale::Scale;

/// What stands where there is no figure.
pub const NOT_AVAILABLE: &str = "n/a";

/// Words that stay on the line of the figure before them.
pub(crate) const UNIT_WORDS: &[&str] = &[
    "%", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "k/s", "M/s", "cores",
];

/// Figures have no more decimals than these.
const MOST_DECIMALS: usize = 6;

/// An interval as written; displayed it is "+22.7 % (+22.0 to +23.0)".
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

    /// Where the unit stands elsewhere: "+22.7 (+22.0 to +23.0)".
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

/// A share as percent without signs, for sentences whose verb says the direction.
pub(crate) fn percent_unsigned(share: &Interval) -> Option<Shown> {
    // The sum takes the sign from nil.
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

/// A share that is a bound, as percent rounded up: "no more than" must stay true when rounded.
pub(crate) fn percent_bound(share: f64) -> String {
    // The small term keeps 0.6 % at 0.6 though its binary form lies just above.
    let tenths = (share * 1000.0 - 1e-9).ceil().max(0.0);
    format!("{:.1} %", tenths / 10.0)
}

/// A share as percent with three significant digits, as short as it can be: an interest, a loss.
/// What is not all is not written as 100 %, as long as six decimals tell it from that.
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

/// A written figure without the zeros at the end of its decimals.
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

/// A count that was computed, rounded to whole ones.
#[must_use]
pub fn count_f64(n: f64) -> String {
    // The cast saturates: what exceeds u64 was never counted.
    let text = count(n.abs().round() as u64);
    match n {
        n if !n.is_finite() => NOT_AVAILABLE.to_owned(),
        n if n <= -0.5 => format!("−{text}"),
        _ => text,
    }
}

/// Seconds in the unit that keeps them short.
#[must_use]
pub fn seconds(s: f64) -> String {
    if s == 0.0 || (60.0..f64::INFINITY).contains(&s) {
        return format!("{s:.0} s");
    }
    let scale = Scale::fitting(Unit::Seconds, [s]);
    scale.attach(trimmed(&scale.bare(s)))
}

/// A figure in the unit that keeps it short: "61.2 µs".
#[must_use]
pub fn short(unit: Unit, figure: f64) -> String {
    Scale::fitting(unit, [figure]).with_unit(figure)
}

/// A rate of events a second in full: rates are compared by their last digits.
#[must_use]
pub fn rate(per_s: f64) -> String {
    if per_s.abs() < 999.5 {
        format!("{}/s", trimmed(&plain(per_s)))
    } else {
        format!("{}/s", count_f64(per_s))
    }
}

/// One thing or several: "1 span", "1,000 spans".
#[must_use]
pub fn counted(n: u64, one: &str) -> String {
    let ending = if n == 1 { "" } else { "s" };
    format!("{} {one}{ending}", count(n))
}

/// A plain figure of evidence or of the host, as short as it can be.
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

/// The interval, if all of it can be written.
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

/// Decimals that leave three significant digits.
fn decimals(figure: f64) -> usize {
    if figure == 0.0 {
        return 0;
    }
    // The factor lets 9.996 count as the 10.0 that it is rounded to.
    let exponent = (figure * 1.0005).log10().floor();
    // So few that the cast is exact.
    (2.0 - exponent).clamp(0.0, MOST_DECIMALS as f64) as usize
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
            method: windage_model::Method::MeanByLaunch,
        }
    }

    #[test]
    fn shares_in_sentences_have_no_plus() {
        let nil = percent_unsigned(&interval(-0.0, -0.02, -0.0)).unwrap();
        assert_eq!(
            (nil.estimate.as_str(), &*nil.range()),
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
}
