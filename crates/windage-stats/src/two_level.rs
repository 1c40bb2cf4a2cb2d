//! One interval from two levels of variation: launches, and blocks within a launch.
//!
//! A program that is launched again is, for its speed, a slightly different program (Mytkowicz
//! 2009; Kalibera & Jones 2013). So the launches' locations are the sample from which the
//! interval comes, and the scatter within launches is reported beside it.

use statrs::distribution::{ContinuousCDF, StudentsT};
use thiserror::Error;

use crate::location::{Location, sample_variance, trimmed_mean};

/// The probability with which an interval is to cover the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence(f64);

impl Confidence {
    /// 90 %, on which equivalence is tested (two one-sided tests at 5 %).
    pub const P90: Confidence = Confidence(0.90);
    /// 95 %, that of every interval shown.
    pub const P95: Confidence = Confidence(0.95);
    /// 99 %, beyond which the control is held to be disturbed.
    pub const P99: Confidence = Confidence(0.99);

    /// As a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Block values of each launch, in the order in which they were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    launches: Vec<Launch>,
}

#[derive(Clone, Debug, PartialEq)]
struct Launch {
    blocks: Vec<f64>,
    offset: f64,
}

impl Launches {
    /// Adds a launch. `offset` is added to its location: what is known of the launch as a whole
    /// and not of its blocks, such as cost that was deferred beyond them. A launch without a
    /// finite block value is left out.
    pub fn push(&mut self, blocks: Vec<f64>, offset: f64) {
        if blocks.iter().any(|b| b.is_finite()) && offset.is_finite() {
            self.launches.push(Launch { blocks, offset });
        }
    }

    /// How many launches there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// How many blocks there are in all.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.launches.iter().map(|l| l.blocks.len()).sum()
    }
}

/// Why there is no interval.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TwoLevelError {
    /// No launch has a usable value.
    #[error("no usable value")]
    NoValues,
    /// A single block in a single launch: nothing to tell the scatter from.
    #[error("a single block has no scatter to make an interval from")]
    OneValue,
}

/// A location with both levels of variation.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoLevel {
    /// The location over launches.
    pub estimate: f64,
    /// Its standard error, from between launches when there are several, else from within.
    pub standard_error: f64,
    /// Degrees of freedom of `standard_error`.
    pub degrees_of_freedom: f64,
    /// The standard error that variation within launches alone would give; `None` when no
    /// launch has two blocks.
    pub within_launch_standard_error: Option<f64>,
    /// Degrees of freedom of the former.
    pub within_launch_degrees_of_freedom: f64,
    /// Standard deviation from launch to launch beyond what the blocks explain: launch luck.
    /// `None` for a single launch.
    pub launch_standard_deviation: Option<f64>,
    /// Launches that went in.
    pub launches: usize,
    /// Blocks that went in.
    pub blocks: usize,
}

impl TwoLevel {
    /// The interval's ends.
    #[must_use]
    pub fn ends(&self, confidence: Confidence) -> (f64, f64) {
        let half = student_quantile(self.degrees_of_freedom, confidence) * self.standard_error;
        (self.estimate - half, self.estimate + half)
    }

    /// The half-width from variation within launches alone.
    #[must_use]
    pub fn within_launch_half_width(&self, confidence: Confidence) -> Option<f64> {
        let error = self.within_launch_standard_error?;
        Some(student_quantile(self.within_launch_degrees_of_freedom, confidence) * error)
    }

    /// The true location that a run like this one would tell from nil with a probability of
    /// 80 %, its interval at 95 %.
    #[must_use]
    pub fn smallest_visible(&self) -> f64 {
        let student = student(self.degrees_of_freedom);
        (student_quantile(self.degrees_of_freedom, Confidence::P95) + student.inverse_cdf(0.8))
            * self.standard_error
    }

    /// How it was computed, in words.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match (self.launches, self.blocks) {
            (1, 1) => "difference of 20 % trimmed means, one series after the other",
            (1, _) => "20 % trimmed mean of block log ratios, within one launch",
            (launches, blocks) if launches == blocks => "mean over launches, t interval",
            _ => "20 % trimmed mean of block log ratios by launch, t interval over launches",
        }
    }
}

/// Brings launches to one location with an interval.
///
/// # Errors
/// When there are no values, or a single one.
pub fn two_level(launches: &Launches) -> Result<TwoLevel, TwoLevelError> {
    let locations: Vec<(Location, f64)> = launches
        .launches
        .iter()
        .filter_map(|launch| Some((trimmed_mean(&launch.blocks)?, launch.offset)))
        .collect();
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
    let between = (count > 1).then(|| sample_variance(&estimates));
    let (standard_error, degrees_of_freedom) = match (between, within) {
        (Some(variance), _) => ((variance / count as f64).sqrt(), (count - 1) as f64),
        (None, Some((error, degrees))) => (error, degrees),
        (None, None) => return Err(TwoLevelError::OneValue),
    };
    Ok(TwoLevel {
        estimate,
        standard_error,
        degrees_of_freedom,
        within_launch_standard_error: within.map(|w| w.0),
        within_launch_degrees_of_freedom: within.map_or(1.0, |w| w.1),
        launch_standard_deviation: between.map(|variance| {
            let explained = within.map_or(0.0, |(error, _)| error.powi(2) * count as f64);
            (variance - explained).max(0.0).sqrt()
        }),
        launches: count,
        blocks: launches.blocks(),
    })
}

/// The difference of two series measured one after the other, as published overhead tables
/// have it (Welch's interval on trimmed means). It knows nothing of what drifted in between.
///
/// # Errors
/// When a side has no usable value, or a single one.
pub fn unpaired(values: &[f64], against: &[f64]) -> Result<TwoLevel, TwoLevelError> {
    let one = trimmed_mean(values).ok_or(TwoLevelError::NoValues)?;
    let other = trimmed_mean(against).ok_or(TwoLevelError::NoValues)?;
    let error = |location: &Location| location.standard_error.ok_or(TwoLevelError::OneValue);
    let (variance_one, variance_other) = (error(&one)?.powi(2), error(&other)?.powi(2));
    let variance = variance_one + variance_other;
    let weighted = variance_one.powi(2) / one.degrees_of_freedom
        + variance_other.powi(2) / other.degrees_of_freedom;
    let degrees_of_freedom = if weighted > 0.0 {
        variance.powi(2) / weighted
    } else {
        one.degrees_of_freedom + other.degrees_of_freedom
    };
    Ok(TwoLevel {
        estimate: one.estimate - other.estimate,
        standard_error: variance.sqrt(),
        degrees_of_freedom,
        within_launch_standard_error: Some(variance.sqrt()),
        within_launch_degrees_of_freedom: degrees_of_freedom,
        launch_standard_deviation: None,
        launches: 1,
        blocks: 1,
    })
}

/// Standard error of the mean over launches from the scatter of their blocks alone, and its
/// degrees of freedom. `None` unless every launch has one.
fn within_launches(locations: &[(Location, f64)]) -> Option<(f64, f64)> {
    let count = locations.len() as f64;
    let mut variance = 0.0;
    let mut degrees = 0.0;
    for (location, _) in locations {
        variance += location.standard_error?.powi(2);
        degrees += location.degrees_of_freedom;
    }
    Some((variance.sqrt() / count, degrees))
}

fn student(degrees_of_freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees_of_freedom.max(1.0))
        .expect("scale 1 and at least one degree of freedom are in the distribution's domain")
}

fn student_quantile(degrees_of_freedom: f64, confidence: Confidence) -> f64 {
    student(degrees_of_freedom).inverse_cdf(0.5 + confidence.get() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn launches(of: &[&[f64]]) -> Launches {
        let mut launches = Launches::default();
        for blocks in of {
            launches.push(blocks.to_vec(), 0.0);
        }
        launches
    }

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        for (degrees, quantile) in [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (30.0, 2.042)] {
            assert!(
                (student_quantile(degrees, Confidence::P95) - quantile).abs() < 1e-3,
                "{degrees}"
            );
        }
    }

    #[test]
    fn several_launches_use_the_scatter_between_them() {
        // Means 1, 2, 3: s = 1, standard error 1/sqrt(3), t(2) = 4.303.
        let result = two_level(&launches(&[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 3.0]])).unwrap();
        let (low, high) = result.ends(Confidence::P95);
        assert!((result.estimate - 2.0).abs() < 1e-12);
        assert!(
            (high - low - 2.0 * 4.302_65 / 3f64.sqrt()).abs() < 1e-3,
            "{low} {high}"
        );
        assert_eq!(result.launch_standard_deviation, Some(1.0));
    }

    #[test]
    fn one_launch_uses_the_scatter_within() {
        let blocks: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
        let result = two_level(&launches(&[&blocks])).unwrap();
        assert_eq!(result.launch_standard_deviation, None);
        assert_eq!(
            Some(result.standard_error),
            result.within_launch_standard_error
        );
    }

    #[test]
    fn what_cannot_be_told_is_an_error() {
        assert_eq!(two_level(&launches(&[])), Err(TwoLevelError::NoValues));
        assert_eq!(
            two_level(&launches(&[&[f64::NAN], &[]])),
            Err(TwoLevelError::NoValues)
        );
        assert_eq!(
            two_level(&launches(&[&[1.0]])),
            Err(TwoLevelError::OneValue)
        );
        assert!(two_level(&launches(&[&[1.0], &[2.0]])).is_ok());
    }

    #[test]
    fn unpaired_series_give_welchs_interval() {
        // Without trimming effects: both sides symmetrical, equal spread.
        let spread: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
        let moved: Vec<f64> = spread.iter().map(|v| v + 10.0).collect();
        let result = unpaired(&moved, &spread).unwrap();
        assert!((result.estimate - 10.0).abs() < 1e-12);
        assert!(
            result.degrees_of_freedom > 40.0,
            "{}",
            result.degrees_of_freedom
        );
        assert_eq!(unpaired(&[], &[1.0]), Err(TwoLevelError::NoValues));
        assert_eq!(unpaired(&[1.0], &[1.0, 2.0]), Err(TwoLevelError::OneValue));
    }

    #[test]
    fn offsets_move_their_launch() {
        let mut shifted = Launches::default();
        shifted.push(vec![1.0, 1.0], 0.5);
        shifted.push(vec![1.0, 1.0], 1.5);
        assert!((two_level(&shifted).unwrap().estimate - 2.0).abs() < 1e-12);
    }

    /// Normal noise by the sum of twelve uniforms: tails to six deviations, enough here.
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let experiments = 2000;
        for (rounds, launch_deviation) in [(1, 0.0), (3, 0.01), (6, 0.0), (8, 0.01)] {
            let covered = (0..experiments)
                .filter(|_| {
                    let mut sample = Launches::default();
                    for _ in 0..rounds {
                        let launch = launch_deviation * normal(&mut random);
                        let blocks = (0..30)
                            .map(|_| launch + 0.02 * normal(&mut random))
                            .collect();
                        sample.push(blocks, 0.0);
                    }
                    let (low, high) = two_level(&sample).unwrap().ends(Confidence::P95);
                    low <= 0.0 && 0.0 <= high
                })
                .count();
            let coverage = covered as f64 / f64::from(experiments);
            assert!(
                (0.93..=0.975).contains(&coverage),
                "{rounds} rounds: {coverage}"
            );
        }
    }

    proptest! {
        #[test]
        fn wider_confidence_gives_wider_intervals(blocks in prop::collection::vec(-1.0..1.0f64, 4..40)) {
            let result = two_level(&launches(&[&blocks])).unwrap();
            let width = |c| { let (low, high) = result.ends(c); high - low };
            prop_assert!(width(Confidence::P90) <= width(Confidence::P95));
            prop_assert!(width(Confidence::P95) <= width(Confidence::P99));
        }
    }
}
