//! Figures over attachments. Each attachment draws agent luck anew, each launch draws launch luck
//! anew.

use std::collections::BTreeMap;

use windage_model::{Interval, Method};
use windage_stats::Confidence;

use super::{OverCycles, Range};
use crate::compare::{Rules, mean_by_launch};
use crate::conclude::interval;
use crate::sums::{Quotient, linear};

/// The parts of a figure by launch, one for each attachment of an arm.
pub(super) type ByLaunch = BTreeMap<u32, Vec<Quotient>>;

/// The replicated unit: launches with the sums of their attachments, which share launch luck, or
/// the attachments of the only launch.
/// What counts as one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Launch,
    /// In a run of one launch.
    Attachment,
}

impl Unit {
    fn mean(self) -> Method {
        match self {
            Unit::Launch => Method::MeanByLaunch,
            Unit::Attachment => Method::MeanByAttachment,
        }
    }

    fn ratio(self) -> Method {
        match self {
            Unit::Launch => Method::RatioByLaunch,
            Unit::Attachment => Method::RatioByAttachment,
        }
    }
}

pub(super) fn units(parts: &ByLaunch) -> (Vec<Quotient>, Unit) {
    if parts.len() > 1 {
        let sum = |of: &Vec<Quotient>| {
            let add = |(a, b): Quotient, (x, y): &Quotient| (a + x, b + y);
            of.iter().fold((0.0, 0.0), add)
        };
        return (parts.values().map(sum).collect(), Unit::Launch);
    }
    let each = parts.values().flatten().copied();
    (each.collect(), Unit::Attachment)
}

/// The mean over attachments of each quotient; `None` without any.
pub(super) fn mean(parts: &ByLaunch, rules: Rules) -> Option<OverCycles> {
    let (units, over_what) = units(parts);
    let linear = linear(&units)?;
    Some(over(&linear, over_what.mean(), rules))
}

/// Sum of the numerators divided by sum of the denominators; `None` when the latter is zero.
pub(super) fn ratio(parts: &ByLaunch, rules: Rules) -> Option<OverCycles> {
    let (units, over_what) = units(parts);
    let linear = linear(&units)?;
    Some(over(&linear, over_what.ratio(), rules))
}

/// The difference of two such ratios over the same attachments.
pub(super) fn difference_of_ratios(
    of: &ByLaunch,
    less: &ByLaunch,
    rules: Rules,
) -> Option<OverCycles> {
    let ((of, over_what), (less, _)) = (units(of), units(less));
    let (of, less) = (linear(&of)?, linear(&less)?);
    let linear: Vec<f64> = of.iter().zip(less).map(|(of, less)| of - less).collect();
    Some(over(&linear, over_what.ratio(), rules))
}

/// Median and maximum; `None` without values.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<Range> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let max = *sorted.last()?;
    let (below, above) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    Some(Range {
        median: f64::midpoint(below, above),
        max,
    })
}

fn over(values: &[f64], method: Method, rules: Rules) -> OverCycles {
    let estimate = values.iter().sum::<f64>() / values.len() as f64;
    // Attachments of one launch take the place of launches: in each the agents start afresh.
    let each: BTreeMap<u32, Vec<f64>> = (0..).zip(values.iter().map(|v| vec![*v])).collect();
    let located = mean_by_launch(&each).ok();
    let interval = located.and_then(|located| interval(&located, Confidence::P95, rules));
    OverCycles {
        estimate,
        interval: interval.map(|found| Interval {
            method: if rules.sequence { found.method } else { method },
            ..found
        }),
    }
}
