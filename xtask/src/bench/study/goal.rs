//! Goals: figures that Windage has to reach, judged by the measurements.

use super::{Quantity, Run, Trial, figure};
use crate::bench::median::{Median, median};

/// A figure to reach.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Goal {
    pub(in crate::bench) of: Run,
    quantity: Quantity,
    /// The divisor: the same quantity of another run in the same round.
    pub(in crate::bench) against: Option<Run>,
    bound: Bound,
}

/// When a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::bench) enum Bound {
    /// The low end of the interval is at least this.
    LowEndAtLeast(f64),
    /// The median is at least this.
    AtLeast(f64),
    /// The median is at most this.
    AtMost(f64),
    /// The median differs from 1 by at most this.
    Within(f64),
}

impl Goal {
    /// In place of a contender: the worst run of all of them.
    pub(in crate::bench) const WORST: &str = "the worst";

    pub(in crate::bench) const fn of(
        of: Run,
        quantity: Quantity,
        against: Option<Run>,
        bound: Bound,
    ) -> Goal {
        Goal {
            of,
            quantity,
            against,
            bound,
        }
    }

    fn is_of_worst(&self) -> bool {
        self.of.1 == Goal::WORST
    }

    /// A description in words.
    fn what(&self) -> String {
        let ((scenario, contender), title) = (self.of, self.quantity.title);
        let against = match self.against {
            None => String::new(),
            Some((other, by)) if other == scenario => format!(" / {by}"),
            Some((other, by)) => format!(" / {by} in {other}"),
        };
        format!("{scenario}: {title}, {contender}{against}")
    }

    /// A row of the table of goals.
    pub(super) fn row(&self, trials: &[Trial]) -> String {
        let show = |value: f64| match self.against {
            Some(_) => format!("{value:.3}"),
            None => self.quantity.number(value),
        };
        let figure = self.figure(trials);
        let (words, bound) = match self.bound {
            Bound::LowEndAtLeast(least) => ("interval's low end ≥ ", show(least)),
            Bound::AtLeast(least) => ("≥ ", show(least)),
            Bound::AtMost(most) => ("≤ ", show(most)),
            Bound::Within(most) => ("1 ± ", show(most)),
        };
        let unit = match self.against {
            None if !self.quantity.unit.is_empty() => format!(" {}", self.quantity.unit),
            _ => String::new(),
        };
        let measured = figure.map_or("–".to_owned(), |figure| figure.show(show) + &unit);
        let verdict = match (figure, figure.and_then(|figure| self.holds(&figure))) {
            (None, _) => "not measured",
            (_, None) => "too few rounds",
            (_, Some(true)) => "reached",
            (_, Some(false)) => "**not reached**",
        };
        let what = self.what();
        format!("| {what} | {words}{bound}{unit} | {measured} | {verdict} |\n")
    }

    fn figure(&self, trials: &[Trial]) -> Option<Median> {
        if !self.is_of_worst() {
            return figure(trials, self.of, self.quantity, self.against);
        }
        let of_scenario = trials.iter().filter(|t| t.scenario == self.of.0);
        // A failed run may have been the worst.
        let values: Option<Vec<f64>> = of_scenario
            .map(|trial| trial.outcome.as_ref().ok()?.value(self.quantity))
            .collect();
        median(values?.into_iter().max_by(f64::total_cmp))
    }

    /// `None` for a median without an interval: too few rounds to conclude anything.
    fn holds(&self, figure: &Median) -> Option<bool> {
        let low = match figure.interval {
            Some((low, _)) => low,
            None if self.is_of_worst() => figure.estimate,
            None => return None,
        };
        Some(match self.bound {
            Bound::LowEndAtLeast(least) => low >= least,
            Bound::AtLeast(least) => figure.estimate >= least,
            Bound::AtMost(most) => figure.estimate <= most,
            Bound::Within(most) => (figure.estimate - 1.0).abs() <= most,
        })
    }
}
