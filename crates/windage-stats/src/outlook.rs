//! Forecasts: how long until a sequence is narrow enough, and until a verdict is settled.
//!
//! Both are computed from a scatter that is itself known only roughly, and neither affects any
//! result.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

use crate::confidence::Confidence;
use crate::sequence::{first, radius, radius_of_one, units_needed};

/// The longest forecast, in units.
const FARTHEST: usize = 1_000_000;

/// The probability that the forecast's range leaves out at either end.
const RANGE_TAIL: f64 = 0.05;

/// How many more units until the half-width of a sequence is as narrow as asked for.
///
/// The number of units is proportional to the variance, which a few units show imprecisely: with
/// eight units, the true variance lies between half and three times theirs in nine of ten cases. So
/// a forecast is a range, and [`Outlook::is_within`] tells whether it is narrow enough to be shown
/// as one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Units so far.
    pub units: usize,
    /// Further units needed if their scatter stays the same; 0 when there are enough.
    pub units_left: f64,
    /// The lower end of the 90 % range of further units.
    pub units_left_low: f64,
    /// The upper end of that range.
    pub units_left_high: f64,
}

impl Outlook {
    /// Whether the whole range of the total, units so far included, lies within this factor of the
    /// estimate.
    #[must_use]
    pub fn is_within(&self, factor: f64) -> bool {
        let total = |left: f64| self.units as f64 + left;
        let (low, expected, high) = (
            total(self.units_left_low),
            total(self.units_left),
            total(self.units_left_high),
        );
        expected <= factor * low && high <= factor * expected
    }
}

/// The forecast for a sequence with so many units and this sample standard deviation, which
/// continues until its half-width is at most the given one.
///
/// The ratio of the variance of future units to that of the units so far has Fisher's F
/// distribution, whatever the true variance. Combined, they give the standard deviation at any
/// later number of units. The range goes from the number where it suffices for the half-width with
/// a probability of 5 % to the number where it does so with 95 %.
///
/// `None` when there is no forecast: with fewer than two units, a standard deviation that is zero
/// or not a number, a half-width that is not positive, or a range beyond a million units.
#[must_use]
pub fn outlook(
    units: usize,
    standard_deviation: f64,
    half_width: f64,
    confidence: Confidence,
) -> Option<Outlook> {
    let seen = Seen {
        units,
        variance: standard_deviation.powi(2),
        half_width,
        confidence,
    };
    if !seen.suffices_for_a_forecast() {
        return None;
    }
    let needed = units_needed(half_width, standard_deviation, confidence)?.max(units);
    let mut low = None;
    for total in horizon(units) {
        let chance = seen.chance_to_be_enough(total)?;
        if chance >= RANGE_TAIL {
            low.get_or_insert(total);
        }
        if chance >= 1.0 - RANGE_TAIL {
            let left = |total: usize| (total - units) as f64;
            return Some(Outlook {
                units,
                units_left: left(needed),
                units_left_low: left(needed.min(low?)),
                units_left_high: left(needed.max(total)),
            });
        }
    }
    None
}

/// The input of a forecast.
struct Seen {
    units: usize,
    variance: f64,
    half_width: f64,
    confidence: Confidence,
}

impl Seen {
    fn suffices_for_a_forecast(&self) -> bool {
        self.units >= 2 && self.half_width > 0.0 && self.variance > 0.0 && self.variance.is_finite()
    }

    /// The largest variance with which the sequence is narrow enough at so many units, relative to
    /// that of the units so far; `None` while the sequence is unbounded.
    fn allowed_ratio(&self, total: usize) -> Option<f64> {
        let radius = radius_of_one(total as f64, self.confidence)?;
        Some((self.half_width / radius).powi(2) / self.variance)
    }

    /// The probability that so many units scatter little enough. `None` where F has no value.
    fn chance_to_be_enough(&self, total: usize) -> Option<f64> {
        let Some(allowed) = self.allowed_ratio(total) else {
            return Some(0.0);
        };
        if total == self.units {
            return Some(if allowed >= 1.0 { 1.0 } else { 0.0 });
        }
        let (freedom, to_come) = (self.units as f64 - 1.0, (total - self.units) as f64);
        // The sums of squares of both parts add up to that of the whole.
        let ratio_to_come = (allowed * (freedom + to_come) - freedom) / to_come;
        let fisher = FisherSnedecor::new(to_come, freedom).ok()?;
        Some(fisher.cdf(ratio_to_come.max(0.0)))
    }
}

/// The numbers of units that a forecast tries: the present one, each of the next ones, and then
/// steps of a 32nd, finer than the forecast's precision.
fn horizon(units: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(units), |total| Some(total + 1 + total / 32))
        .take_while(|total| *total <= FARTHEST)
}

/// The longest run considered, in multiples of the present length.
const LONGEST: usize = 1000;

/// From the present length to the longest, each step a hundredth longer: finer than the forecast's
/// precision.
const LENGTH_STEPS: usize = 700;

/// Above so many degrees of freedom Student's quantile equals the normal one to four digits, and
/// `statrs` may search for it endlessly.
const MOST_DEGREES_OF_FREEDOM: f64 = 100_000.0;

/// When a verdict is settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerdictRule {
    /// Estimates from here …
    pub low: f64,
    /// … to here do not matter, on the scale of the estimates.
    pub high: f64,
    /// The interval that must lie beyond either limit for *costs* or *saves*.
    pub beyond: Confidence,
    /// The interval that must lie between them for *negligible*.
    pub between: Confidence,
}

impl VerdictRule {
    /// The rule of a single comparison on log ratios: `margin` is a share, the intervals are those
    /// of 95 % and 90 %.
    #[must_use]
    pub fn of_log_ratios(margin: f64) -> VerdictRule {
        VerdictRule {
            low: (-margin).ln_1p(),
            high: margin.ln_1p(),
            beyond: Confidence::P95,
            between: Confidence::P90,
        }
    }

    /// The same rule on shares: an estimate of 0.01 is 1 %.
    #[must_use]
    pub fn of_shares(margin: f64) -> VerdictRule {
        VerdictRule {
            low: -margin,
            high: margin,
            ..VerdictRule::of_log_ratios(margin)
        }
    }

    /// Whether an estimate with such half-widths has a settled verdict. A missing half-width
    /// settles nothing.
    fn is_settled(&self, estimate: f64, half_width: impl Fn(Confidence) -> Option<f64>) -> bool {
        if !estimate.is_finite() {
            return false;
        }
        let is_beyond = |half: f64| estimate - half > self.high || estimate + half < self.low;
        let is_between = |half: f64| estimate - half > self.low && estimate + half < self.high;
        half_width(self.beyond).is_some_and(is_beyond)
            || half_width(self.between).is_some_and(is_between)
    }
}

/// By what factor a run of fixed length must be longer for its verdict to be settled, if estimate
/// and scatter stay the same; 1 when it is settled already.
///
/// The standard error falls with the square root of the length, and its degrees of freedom (units
/// less one) grow. The estimate will change somewhat: where it lies near a limit, so that the
/// factor is large, the factor is imprecise as well.
///
/// `None` when not even a run of 1000 times the length would be enough, because the estimate lies
/// too near a limit, or when a figure is not a number.
#[must_use]
pub fn settles(
    estimate: f64,
    standard_error: f64,
    degrees_of_freedom: f64,
    rule: VerdictRule,
) -> Option<f64> {
    if !(standard_error >= 0.0 && standard_error.is_finite() && degrees_of_freedom > 0.0) {
        return None;
    }
    let settled = |step: usize| {
        let factor = length_factor(step);
        let freedom = (degrees_of_freedom + 1.0) * factor - 1.0;
        rule.is_settled(estimate, |confidence| {
            Some(student_quantile(freedom, confidence)? * standard_error / factor.sqrt())
        })
    };
    settled(LENGTH_STEPS).then(|| length_factor(first(0, LENGTH_STEPS, settled)))
}

/// The same for a confidence sequence of so many units, which may be looked at throughout. Counted
/// in whole units.
///
/// `None` as for [`settles`], and without units.
#[must_use]
pub fn sequence_settles(
    estimate: f64,
    units: usize,
    standard_deviation: f64,
    rule: VerdictRule,
) -> Option<f64> {
    let settled = |units: usize| {
        rule.is_settled(estimate, |confidence| {
            radius(units, standard_deviation, confidence)
        })
    };
    let farthest = units.checked_mul(LONGEST)?;
    (units > 0 && settled(farthest)).then(|| first(units, farthest, settled) as f64 / units as f64)
}

fn length_factor(step: usize) -> f64 {
    (LONGEST as f64).powf(step as f64 / LENGTH_STEPS as f64)
}

fn student_quantile(degrees_of_freedom: f64, confidence: Confidence) -> Option<f64> {
    let freedom = degrees_of_freedom.clamp(1.0, MOST_DEGREES_OF_FREEDOM);
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(student.inverse_cdf(0.5 + confidence.get() / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within half a per cent of zero does not matter.
    fn rule() -> VerdictRule {
        VerdictRule {
            low: -0.005,
            high: 0.005,
            beyond: Confidence::P95,
            between: Confidence::P90,
        }
    }

    #[test]
    fn a_verdict_is_settled_once_its_interval_clears_the_limit() {
        // With many degrees of freedom, 1.96 and 1.645 standard errors decide.
        // estimate, standard error, factor
        let table: [(f64, f64, Option<f64>); 9] = [
            (0.030, 0.005, Some(1.0)),
            (-0.030, 0.005, Some(1.0)),
            (0.000, 0.001, Some(1.0)),
            // 1.96 · 0.01 / √f = 0.01 − 0.005
            (0.010, 0.010, Some(15.37)),
            (-0.010, 0.010, Some(15.37)),
            // 1.645 · 0.01 / √f = 0.005
            (0.000, 0.010, Some(10.82)),
            // 1.645 · 0.01 / √f = 0.005 − 0.003
            (0.003, 0.010, Some(67.64)),
            // On the limit, and too near it.
            (0.005, 0.010, None),
            (0.0051, 0.010, None),
        ];
        for (estimate, standard_error, factor) in table {
            let found = settles(estimate, standard_error, 1e6, rule());
            assert_eq!(found.is_some(), factor.is_some(), "{estimate}: {found:?}");
            if let (Some(found), Some(factor)) = (found, factor) {
                assert!((found / factor - 1.0).abs() < 0.011, "{estimate}: {found}");
            }
        }
    }

    #[test]
    fn degrees_of_freedom_grow_with_the_length() {
        // Three launches: t = 4.303. With twice as many t = 2.571, so the interval shrinks by much
        // more than √2.
        let estimate = 0.005 + 4.303 * 0.001 * 0.6;
        let found = settles(estimate, 0.001, 2.0, rule()).unwrap();
        assert!((1.3..1.7).contains(&found), "{found}");
        // By hand: 6 launches give 2.571 · 0.001 / √2 = 0.00182.
        let found = settles(0.005 + 0.001_818, 0.001, 2.0, rule()).unwrap();
        assert!((found - 2.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn zero_scatter_settles_at_once_and_nan_never() {
        assert_eq!(settles(0.02, 0.0, 5.0, rule()), Some(1.0));
        assert_eq!(settles(0.005, 0.0, 5.0, rule()), None);
        for wrong in [f64::NAN, f64::INFINITY] {
            assert_eq!(settles(wrong, 0.01, 5.0, rule()), None);
            assert_eq!(settles(0.02, wrong, 5.0, rule()), None);
        }
        assert_eq!(settles(0.02, 0.01, f64::NAN, rule()), None);
        assert_eq!(settles(0.02, -0.01, 5.0, rule()), None);
        assert_eq!(sequence_settles(f64::NAN, 10, 0.01, rule()), None);
        assert_eq!(sequence_settles(0.02, 0, 0.01, rule()), None);
        assert_eq!(sequence_settles(0.02, usize::MAX, 0.01, rule()), None);
    }

    #[test]
    fn a_sequence_settles_at_the_first_sufficient_unit() {
        for estimate in [0.010, -0.010, 0.030, 0.0, 0.002] {
            let units = 12;
            let factor = sequence_settles(estimate, units, 0.01, rule()).unwrap();
            let settled = |units: usize| {
                let at = |confidence| radius(units, 0.01, confidence).unwrap();
                let magnitude = f64::abs(estimate);
                magnitude - at(Confidence::P95) > 0.005 || magnitude + at(Confidence::P90) < 0.005
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count"
            )]
            let total = (factor * units as f64).round() as usize;
            assert!(settled(total), "{estimate}: {factor}");
            assert!(
                total == units || !settled(total - 1),
                "{estimate}: {factor}"
            );
        }
        // Too few for a finite interval; five units are enough.
        let found = sequence_settles(0.02, 2, 0.0, rule());
        assert_eq!(found, Some(2.5));
    }

    #[test]
    fn margins_are_limits_of_log_ratios() {
        let rule = VerdictRule::of_log_ratios(0.5);
        assert!((rule.high.exp() - 1.5).abs() < 1e-12 && (rule.low.exp() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_outlook_follows_the_scatter() {
        let (deviation, half_width) = (0.01, 0.002);
        let needed = units_needed(half_width, deviation, Confidence::P95).unwrap() as f64;
        for units in [8, 40, 150] {
            let outlook = outlook(units, deviation, half_width, Confidence::P95).unwrap();
            let total = units as f64 + outlook.units_left;
            assert!((total - needed).abs() < f64::EPSILON, "{outlook:?}");
            assert!(outlook.units_left_low < outlook.units_left);
            assert!(outlook.units_left < outlook.units_left_high);
        }
    }

    #[test]
    fn more_units_give_better_forecasts() {
        let outlook = |units| outlook(units, 0.01, 0.002, Confidence::P95).unwrap();
        assert!(!outlook(8).is_within(1.5) && outlook(150).is_within(1.5));
        assert!(outlook(8).is_within(20.0));
    }

    #[test]
    fn a_reached_target_needs_no_more_units() {
        let outlook = outlook(50, 0.001, 0.01, Confidence::P95).unwrap();
        let left = [
            outlook.units_left_low,
            outlook.units_left,
            outlook.units_left_high,
        ];
        assert_eq!(left, [0.0; 3]);
        assert!(outlook.is_within(1.0));
        // The scatter of two units is small enough, but a sequence begins with the fifth.
        let early = super::outlook(2, 0.001, 0.01, Confidence::P95).unwrap();
        assert!((early.units_left - 3.0).abs() < f64::EPSILON, "{early:?}");
    }

    #[test]
    fn impossible_forecasts_are_none() {
        let p95 = Confidence::P95;
        assert_eq!(outlook(1, 0.01, 0.001, p95), None);
        for wrong in [0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(outlook(10, wrong, 0.001, p95), None, "{wrong}");
        }
        for wrong in [0.0, -1.0, f64::NAN, 1e-9] {
            assert_eq!(outlook(10, 0.01, wrong, p95), None, "{wrong}");
        }
    }
}
