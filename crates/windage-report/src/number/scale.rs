//! Units for display.

use serde::Serialize;
use windage_model::{Interval, Unit};

use super::{NOT_AVAILABLE, Shown, decimals, finite, largest, signed};

/// A unit for display, shared by the figures of a column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scale {
    divisor: f64,
    unit: &'static str,
    /// The unit of differences: those of shares would look like shares of the baseline.
    #[serde(skip)]
    of_differences: &'static str,
}

impl Scale {
    /// Shares as percent, including those that [`percent`] would round to zero.
    pub(crate) const PERCENT: Scale = Scale {
        divisor: 0.01,
        unit: "%",
        of_differences: "%",
    };

    /// The unit that makes the largest of these figures shortest.
    #[must_use]
    pub fn fitting(of: Unit, figures: impl IntoIterator<Item = f64>) -> Scale {
        let largest = figures
            .into_iter()
            .filter(|f| f.is_finite())
            .map(f64::abs)
            .fold(0.0, f64::max);
        // Each step: lower bound, divisor, unit.
        let steps: &[(f64, f64, &'static str)] = match of {
            Unit::Microseconds => &[(1e6, 1e6, "s"), (1e3, 1e3, "ms"), (0.0, 1.0, "µs")],
            Unit::Seconds => &[(1.0, 1.0, "s"), (0.0, 1e-3, "ms")],
            // Four digits of requests per second are readable: "2000/s", not "2.00 k/s".
            Unit::PerSecond => &[(1e7, 1e6, "M/s"), (1e4, 1e3, "k/s"), (0.0, 1.0, "/s")],
            Unit::Bytes => &[
                (1e9, 1e9, "GB"),
                (1e6, 1e6, "MB"),
                (1e3, 1e3, "kB"),
                (0.0, 1.0, "B"),
            ],
            Unit::BytesPerHour => &[
                (1e9, 1e9, "GB/h"),
                (1e6, 1e6, "MB/h"),
                (1e3, 1e3, "kB/h"),
                (0.0, 1.0, "B/h"),
            ],
            Unit::PerHour => &[(0.0, 1.0, "/h")],
            Unit::Nanoseconds => &[(1e6, 1e6, "ms"), (1e4, 1e3, "µs"), (0.0, 1.0, "ns")],
            Unit::Cores => &[(0.0, 1.0, "cores")],
            Unit::One => &[(0.0, 1.0, "")],
            Unit::Share => &[(0.0, 0.01, "%")],
        };
        let (_, divisor, unit) = steps
            .iter()
            .copied()
            .find(|(from, ..)| largest >= *from)
            .unwrap_or((0.0, 1.0, ""));
        Scale {
            divisor,
            unit,
            of_differences: match of {
                Unit::Share => "points",
                _ => unit,
            },
        }
    }

    /// The unit that makes this interval shortest.
    pub(crate) fn of(unit: Unit, interval: &Interval) -> Scale {
        Scale::fitting(unit, [interval.estimate, interval.low, interval.high])
    }

    /// The unit's abbreviation, for a column's heading; empty for a plain number.
    pub(crate) fn unit(self) -> &'static str {
        self.unit
    }

    /// The same scale with the unit of differences: those of shares are in points.
    pub(crate) fn of_differences(self) -> Scale {
        Scale {
            unit: self.of_differences,
            ..self
        }
    }

    /// The same scale without its unit.
    pub(crate) fn without_unit(self) -> Scale {
        Scale {
            unit: "",
            of_differences: "",
            ..self
        }
    }

    /// Plain figures without a unit.
    pub(crate) const ONE: Scale = Scale {
        divisor: 1.0,
        unit: "",
        of_differences: "",
    };

    /// A figure in this unit.
    pub(crate) fn scaled(self, figure: f64) -> f64 {
        figure / self.divisor
    }

    /// Decimals that give the largest of these figures three significant digits.
    pub(crate) fn places(self, figures: impl IntoIterator<Item = f64>) -> usize {
        let finite = figures.into_iter().filter(|figure| figure.is_finite());
        decimals(
            finite
                .map(|figure| self.scaled(figure).abs())
                .fold(0.0, f64::max),
        )
    }

    /// A figure without unit, signed only if negative.
    #[must_use]
    pub fn bare(self, figure: f64) -> String {
        if !figure.is_finite() {
            return NOT_AVAILABLE.to_owned();
        }
        let scaled = figure / self.divisor;
        let text = format!("{:.*}", decimals(scaled.abs()), scaled.abs());
        if scaled < 0.0 {
            format!("−{text}")
        } else {
            text
        }
    }

    /// A figure with its unit.
    #[must_use]
    pub fn with_unit(self, figure: f64) -> String {
        if !figure.is_finite() {
            return NOT_AVAILABLE.to_owned();
        }
        self.attach(&self.bare(figure))
    }

    /// Appends the unit to a figure's text.
    pub(crate) fn attach(self, written: &str) -> String {
        match self.unit {
            "" => written.to_owned(),
            "/s" | "/h" => format!("{written}{}", self.unit),
            unit => format!("{written} {unit}"),
        }
    }

    /// A difference without interval, signed, without unit.
    pub(crate) fn signed_point(self, difference: f64) -> String {
        self.signed_point_to(difference, usize::MAX)
    }

    /// A difference without interval, with at most this many decimals.
    pub(crate) fn signed_point_to(self, difference: f64, most: usize) -> String {
        if !difference.is_finite() {
            return NOT_AVAILABLE.to_owned();
        }
        let scaled = difference / self.divisor;
        signed(scaled, decimals(scaled.abs()).min(most))
    }

    /// "+9.31 µs (+8.90 to +9.72)", or that it is not available.
    #[must_use]
    pub fn interval(self, interval: &Interval) -> String {
        let shown = self.signed(interval);
        shown.map_or(NOT_AVAILABLE.to_owned(), |shown| shown.to_string())
    }

    /// A difference with its ends, signed; `None` if one of them is not finite.
    #[must_use]
    pub fn signed(self, interval: &Interval) -> Option<Shown> {
        // More than two decimals only if all would be zero otherwise.
        let largest = largest(&finite(interval)?.map(|v| v / self.divisor));
        let most = if largest < 0.1 { usize::MAX } else { 2 };
        self.signed_to(interval, most)
    }

    /// A figure that is no difference, with its ends; `None` if one of them is not finite.
    pub(crate) fn unsigned(self, interval: &Interval) -> Option<Shown> {
        let shown = self.signed(interval)?;
        let plain = |text: String| text.trim_start_matches('+').to_owned();
        Some(Shown {
            estimate: plain(shown.estimate),
            low: plain(shown.low),
            high: plain(shown.high),
            unit: self,
        })
    }

    /// A difference with at most this many decimals, for figures that are added up.
    pub(crate) fn signed_to(self, interval: &Interval, most: usize) -> Option<Shown> {
        let scaled = finite(interval)?.map(|v| v / self.divisor);
        let places = decimals(largest(&scaled)).min(most);
        Some(Shown::new(&scaled, self.of_differences(), |v| {
            signed(v, places)
        }))
    }
}
