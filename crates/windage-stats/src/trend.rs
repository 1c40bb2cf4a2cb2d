//! Is there a trend in block values? Blocks remove drift of the machine, because arm and baseline
//! drift together; but a ratio that itself changes over the run has no single value.
//!
//! A trend is almost entirely in the slowest cosine of a series (98.6 % of a straight line's
//! power), while correlation between neighbours also shows in the next ones. So the first is tested
//! against the others: their ratio has Student's distribution, however correlated the blocks are,
//! as long as their spectrum is flat over these few (Müller & Watson 2008).

use std::f64::consts::{PI, SQRT_2};

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::location::{location, sample_variance};
use crate::outliers::{deviations, pulled_in};

/// The false-alarm rate.
const FALSE_ALARMS: f64 = 0.01;

/// Blocks per cosine. With this many, a correlation of 0.3 between neighbours, which tilts the
/// spectrum, raises false alarms from 1.0 to at most 1.6 %, and 0.6 to 3 %.
const BLOCKS_OF_A_COSINE: usize = 5;

/// More cosines do not make the test more powerful.
const MOST_COSINES: usize = 32;

/// The fewest blocks for which a launch is tested for a trend.
const FEWEST_BLOCKS: usize = 8;

/// The fewest degrees of freedom; with fewer the test detects only extreme cases.
const FEWEST_DEGREES: f64 = 4.0;

/// What a trend runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// From the first to the last block of a launch, the same in every launch.
    Launch,
    /// From the first to the last launch.
    Run,
}

/// How block values change with time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The change of a straight line over the series, in the unit of the values.
    pub change_over_series: f64,
    /// Whether it is significant at 1 %.
    pub significant: bool,
    /// The series.
    pub over: Over,
}

/// The trend in the block values of launches, in time order: one within every launch, or one
/// between launches, whichever is clearer; if both can be tested, each is tested at 0.5 %. Launch
/// luck is not a trend: within launches only deviations count, and between them the launches are
/// the sample. `None` if there are too few blocks and too few launches: a single launch needs 25
/// blocks.
#[must_use]
pub fn trend_over(launches: &[Vec<f64>]) -> Option<Trend> {
    let lines: Vec<Line> = [within_launches(launches), between_launches(launches)]
        .into_iter()
        .flatten()
        .collect();
    let clearest = lines
        .iter()
        .min_by(|a, b| a.chance().total_cmp(&b.chance()))?;
    Some(clearest.judged(FALSE_ALARMS / lines.len() as f64))
}

/// A straight line through values, with the significance of its change.
struct Line {
    change: f64,
    /// The change divided by its standard error.
    student: f64,
    degrees_of_freedom: f64,
    over: Over,
}

impl Line {
    /// The p-value of the slope.
    fn chance(&self) -> f64 {
        StudentsT::new(0.0, 1.0, self.degrees_of_freedom)
            .map_or(1.0, |student| 2.0 * student.sf(self.student.abs()))
    }

    fn judged(&self, false_alarms: f64) -> Trend {
        Trend {
            change_over_series: self.change,
            significant: self.chance() < false_alarms,
            over: self.over,
        }
    }
}

/// One line for all launches, each counted from its own beginning. Its slope is the least-squares
/// slope of the launches' first cosines; their other cosines are the noise.
fn within_launches(launches: &[Vec<f64>]) -> Option<Line> {
    let (mut product, mut power, mut noise, mut degrees) = (0.0, 0.0, 0.0, 0.0);
    let (mut blocks, mut count) = (0.0, 0.0);
    for launch in launches {
        let values = pulled_in(&deviations(launch));
        if values.len() < FEWEST_BLOCKS {
            continue;
        }
        let cosines = (values.len() / BLOCKS_OF_A_COSINE).clamp(2, MOST_COSINES);
        let steepness = first_cosine_of_a_line(values.len());
        product += steepness * cosine_weight(&values, 1);
        power += steepness * steepness;
        noise += (2..=cosines)
            .map(|j| cosine_weight(&values, j).powi(2))
            .sum::<f64>();
        degrees += (cosines - 1) as f64;
        blocks += values.len() as f64;
        count += 1.0;
    }
    (degrees >= FEWEST_DEGREES).then(|| Line {
        change: product / power * blocks / count,
        student: ratio(product / power.sqrt(), (noise / degrees).sqrt()),
        degrees_of_freedom: degrees,
        over: Over::Launch,
    })
}

/// The weight of the cosine with `frequency` half-periods over the values' length, scaled so that
/// its square has the variance of the values as its expectation when they are independent. The
/// angle is advanced by a rotation, because computing a cosine per value would cost ten times as
/// much.
fn cosine_weight(values: &[f64], frequency: usize) -> f64 {
    let count = values.len() as f64;
    let step = PI * frequency as f64 / count;
    let (step_sin, step_cos) = step.sin_cos();
    let (mut sin, mut cos) = (step / 2.0).sin_cos();
    let mut sum = 0.0;
    for value in values {
        sum += value * cos;
        (sin, cos) = (
            sin * step_cos + cos * step_sin,
            cos * step_cos - sin * step_sin,
        );
    }
    (2.0 / count).sqrt() * sum
}

/// The weight of the first cosine in a line that rises by 1 per value.
fn first_cosine_of_a_line(count: usize) -> f64 {
    -2.0 * SQRT_2 / (PI * PI) * (count as f64).powf(1.5)
}

/// The least-squares line through the launches' locations, in order.
fn between_launches(launches: &[Vec<f64>]) -> Option<Line> {
    let locations = launches.iter().filter_map(|l| Some(location(l)?.estimate));
    let locations = deviations(&locations.collect::<Vec<_>>());
    let degrees = locations.len() as f64 - 2.0;
    if degrees < FEWEST_DEGREES {
        return None;
    }
    let times: Vec<f64> = (0..locations.len())
        .map(|i| i as f64 - (degrees + 1.0) / 2.0)
        .collect();
    let power: f64 = times.iter().map(|t| t * t).sum();
    let slope = times
        .iter()
        .zip(&locations)
        .map(|(t, l)| t * l)
        .sum::<f64>()
        / power;
    let residuals: Vec<f64> = locations
        .iter()
        .zip(&times)
        .map(|(l, t)| l - slope * t)
        .collect();
    let error = (sample_variance(&residuals) * (degrees + 1.0) / degrees / power).sqrt();
    Some(Line {
        change: slope * (degrees + 1.0),
        student: ratio(slope, error),
        degrees_of_freedom: degrees,
        over: Over::Run,
    })
}

/// Zero divided by zero is zero: equal values have no trend.
fn ratio(of: f64, to: f64) -> f64 {
    if of.abs() > 0.0 { of / to } else { 0.0 }
}

#[cfg(test)]
#[path = "trend_tests.rs"]
mod tests;
