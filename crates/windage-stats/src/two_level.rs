//! One interval from two levels of variation: launches, and blocks within a launch.
//!
//! A program that is launched again is, as far as speed goes, a slightly different program
//! (Mytkowicz et al. 2009; Kalibera & Jones 2013). So the launches' locations are the sample from
//! which the interval is computed, and the scatter within launches is reported beside it. A single
//! launch only has the scatter within, and an interval that holds for that launch alone.

use statrs::distribution::{ContinuousCDF, StudentsT};
use thiserror::Error;

use crate::confidence::Confidence;
use crate::launches::{Launch, Launches};
use crate::location::{Location, location, sample_variance};
use crate::long_run::MeanError;
use crate::sequence::radius;

/// Values of a single launch per unit of a confidence sequence. Enough that a single outlier does
/// not decide and that neighbouring units are hardly correlated, but few enough that a launch soon
/// has many units: mirrored blocks give two values each.
const BATCH: usize = 8;

/// The units of a confidence sequence. A unit never changes once it exists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    /// Their values, in time order.
    pub values: Vec<f64>,
    /// What a unit is.
    pub kind: UnitKind,
}

/// The kind of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitKind {
    /// A launch, when there are at least two.
    Launches,
    /// The mean of the middle six of eight consecutive values of the only launch. An incomplete
    /// batch at the end is not used yet.
    #[default]
    Batches,
}

impl UnitKind {
    /// Values in a batch.
    pub const BATCH: usize = BATCH;
}

impl Units {
    /// The mean over units, the centre of the sequence's interval; `None` without units.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (!self.values.is_empty())
            .then(|| self.values.iter().sum::<f64>() / self.values.len() as f64)
    }

    /// The standard deviation between units; 0 for fewer than two.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        sample_variance(&self.values).sqrt()
    }

    fn launches(values: Vec<f64>) -> Units {
        Units {
            values,
            kind: UnitKind::Launches,
        }
    }

    fn batches(launch: &Launch) -> Units {
        let usable: Vec<f64> = launch
            .blocks
            .iter()
            .copied()
            .filter(|b| b.is_finite())
            .collect();
        let values = usable.chunks_exact(BATCH).filter_map(location);
        Units {
            values: values.map(|l| l.estimate + launch.offset).collect(),
            kind: UnitKind::Batches,
        }
    }
}

/// Why there is no interval.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TwoLevelError {
    /// No launch has a usable value.
    #[error("no usable value")]
    NoValues,
    /// A single block in a single launch: there is no scatter.
    #[error("a single block has no scatter, so there is no interval")]
    OneValue,
}

/// A location with both levels of variation.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoLevel {
    /// The location over launches.
    pub estimate: f64,
    /// Its standard error: between launches when there are several, otherwise within the launch.
    pub standard_error: f64,
    /// Degrees of freedom of `standard_error`.
    pub degrees_of_freedom: f64,
    /// The standard error from variation within launches alone; `None` when no launch has two
    /// blocks.
    pub within_launch_standard_error: Option<f64>,
    /// Degrees of freedom of `within_launch_standard_error`.
    pub within_launch_degrees_of_freedom: f64,
    /// Launches used.
    pub launches: usize,
    /// Blocks used.
    pub blocks: usize,
    /// The units of looks at a run in progress; none for series measured one after the other.
    pub units: Units,
}

impl TwoLevel {
    /// The interval's ends.
    #[must_use]
    pub fn ends(&self, confidence: Confidence) -> (f64, f64) {
        let half = student_quantile(self.degrees_of_freedom, confidence) * self.standard_error;
        (self.estimate - half, self.estimate + half)
    }

    /// The interval's ends for a run that may be looked at any number of times and stopped when the
    /// interval is narrow enough: with this confidence all such intervals of a run cover the truth
    /// at once. It is centred on the mean over units. `None` while it is unbounded.
    #[must_use]
    pub fn sequence_ends(&self, confidence: Confidence) -> Option<(f64, f64)> {
        let units = &self.units;
        let half = radius(units.values.len(), units.standard_deviation(), confidence)?;
        let mean = units.mean()?;
        Some((mean - half, mean + half))
    }

    /// The half-width from variation within launches alone.
    #[must_use]
    pub fn within_launch_half_width(&self, confidence: Confidence) -> Option<f64> {
        let error = self.within_launch_standard_error?;
        Some(student_quantile(self.within_launch_degrees_of_freedom, confidence) * error)
    }

    /// The true location that a run like this one, with its interval at 95 %, detects with 80 %
    /// power.
    #[must_use]
    pub fn minimum_detectable_effect(&self) -> f64 {
        let student = student(self.degrees_of_freedom);
        let quantiles =
            student_quantile(self.degrees_of_freedom, Confidence::P95) + student.inverse_cdf(0.8);
        quantiles * self.standard_error
    }
}

/// Combines launches into one location with an interval.
///
/// # Errors
/// When there are no values, or a single one.
pub fn two_level(launches: &Launches) -> Result<TwoLevel, TwoLevelError> {
    let locations = launches.locations();
    let count = locations.len();
    if count == 0 {
        return Err(TwoLevelError::NoValues);
    }
    let estimates: Vec<f64> = locations
        .iter()
        .map(|(l, offset)| l.estimate + offset)
        .collect();
    let estimate = estimates.iter().sum::<f64>() / count as f64;
    let within = within_launches(&locations);
    let error = if count > 1 {
        MeanError {
            standard_error: (sample_variance(&estimates) / count as f64).sqrt(),
            degrees_of_freedom: (count - 1) as f64,
        }
    } else {
        within.ok_or(TwoLevelError::OneValue)?
    };
    let units = match launches.only() {
        Some(alone) => Units::batches(alone),
        None => Units::launches(estimates),
    };
    Ok(TwoLevel {
        estimate,
        standard_error: error.standard_error,
        degrees_of_freedom: error.degrees_of_freedom,
        within_launch_standard_error: within.map(|w| w.standard_error),
        within_launch_degrees_of_freedom: within.map_or(1.0, |w| w.degrees_of_freedom),
        launches: count,
        blocks: launches.blocks(),
        units,
    })
}

/// The difference of two series measured one after the other, as in published overhead tables
/// (Welch's interval on trimmed means). It does not account for drift between them.
///
/// # Errors
/// When a side has no usable value, or a single one.
pub fn unpaired(values: &[f64], against: &[f64]) -> Result<TwoLevel, TwoLevelError> {
    let one = location(values).ok_or(TwoLevelError::NoValues)?;
    let other = location(against).ok_or(TwoLevelError::NoValues)?;
    let error_one = one.error().ok_or(TwoLevelError::OneValue)?;
    let error_other = other.error().ok_or(TwoLevelError::OneValue)?;
    let variance_one = error_one.standard_error.powi(2);
    let variance_other = error_other.standard_error.powi(2);
    let variance = variance_one + variance_other;
    let weighted = variance_one.powi(2) / error_one.degrees_of_freedom
        + variance_other.powi(2) / error_other.degrees_of_freedom;
    let degrees_of_freedom = if weighted > 0.0 {
        variance.powi(2) / weighted
    } else {
        error_one.degrees_of_freedom + error_other.degrees_of_freedom
    };
    Ok(TwoLevel {
        estimate: one.estimate - other.estimate,
        standard_error: variance.sqrt(),
        degrees_of_freedom,
        within_launch_standard_error: Some(variance.sqrt()),
        within_launch_degrees_of_freedom: degrees_of_freedom,
        launches: 1,
        blocks: 1,
        units: Units::default(),
    })
}

/// The standard error of the mean over launches from the scatter of their blocks alone, with its
/// degrees of freedom. `None` unless every launch has one.
fn within_launches(locations: &[(Location, f64)]) -> Option<MeanError> {
    let mut variance = 0.0;
    let mut degrees_of_freedom = 0.0;
    for (location, _) in locations {
        let error = location.error()?;
        variance += error.standard_error.powi(2);
        degrees_of_freedom += error.degrees_of_freedom;
    }
    Some(MeanError {
        standard_error: variance.sqrt() / locations.len() as f64,
        degrees_of_freedom,
    })
}

pub(crate) fn student(degrees_of_freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees_of_freedom.max(1.0))
        .expect("scale 1 and at least one degree of freedom are in the distribution's domain")
}

pub(crate) fn student_quantile(degrees_of_freedom: f64, confidence: Confidence) -> f64 {
    student(degrees_of_freedom).inverse_cdf(0.5 + confidence.get() / 2.0)
}

#[cfg(test)]
#[path = "two_level_tests.rs"]
mod tests;
