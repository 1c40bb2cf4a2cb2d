//! Scales with round steps.

use crate::number::Scale;

/// Steps of an axis that is long enough for them.
pub(super) const STEPS: f64 = 6.0;

/// From a figure to its place on a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    pub(super) step: f64,
}

impl Axis {
    /// Holds both ends, with a margin of this share of the extent on either side, in so many steps
    /// at most.
    pub(super) fn holding(low: f64, high: f64, margin: f64, steps: f64) -> Axis {
        // An axis without extent has no scale.
        let extent = (high - low).max(1e-6);
        Axis {
            low: low - extent * margin,
            high: high + extent * margin,
            step: round_step(extent / steps),
        }
    }

    /// 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, v: f64) -> f64 {
        (v - self.low) / (self.high - self.low)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step).ceil();
        let last = (self.high / self.step).floor();
        // As few as steps were asked for; the cast of so small a count is exact.
        let count = (last - first).clamp(0.0, 20.0) as u32;
        (0..=count)
            .map(|i| (first + f64::from(i)) * self.step)
            .collect()
    }
}

/// From a time to its place on a line on which each factor has its length.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// Holds both ends, which are above nil, with a margin about them.
    pub(super) fn holding(low: f64, high: f64) -> LogAxis {
        let (low, high) = (low.log10(), high.log10());
        let margin = ((high - low) * 0.04).max(0.02);
        LogAxis {
            low: low - margin,
            high: high + margin,
        }
    }

    /// 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, v: f64) -> f64 {
        (v.log10() - self.low) / (self.high - self.low)
    }

    /// Powers of ten, between them 2 and 5 times these where the axis is short enough; evenly
    /// spaced ones where it is so short that few of these lie on it.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let factors: &[f64] = if self.high - self.low > 2.5 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let [first, last] = [self.low.floor(), self.high.floor()];
        // Times span some ten powers at most; the cast of so small a count is exact.
        let powers = 0..=(last - first).clamp(0.0, 30.0) as u32;
        let powers = powers.map(|i| 10f64.powf(first + f64::from(i)));
        let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * power));
        let round: Vec<f64> = all
            .filter(|v| (0.0..=1.0).contains(&self.place(*v)))
            .collect();
        if round.len() >= 3 {
            return round;
        }
        let [low, high] = [self.low, self.high].map(|power| 10f64.powf(power));
        let even = Axis::holding(low, high, 0.0, STEPS).ticks();
        even.into_iter().filter(|v| *v > 0.0).collect()
    }
}

/// A difference at an axis: its sign, and as many decimals as the step has.
pub(super) fn signed_label(v: f64, step: f64, scale: Scale) -> String {
    if v.abs() < step / 2.0 {
        return "0".to_owned();
    }
    let sign = if v < 0.0 { "−" } else { "+" };
    let places = places(scale.scaled(step));
    scale.attach(&format!("{sign}{:.places$}", scale.scaled(v).abs()))
}

/// The next step of 1, 2 or 5 times a power of ten.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|f| f * power >= raw * 0.999)
        .unwrap_or(10.0);
    factor * power
}

/// As many decimals as a step has, between 0 and 6.
pub(super) fn places(step: f64) -> usize {
    // Within the bounds the cast is exact.
    (-(step * 1.0001).log10().floor()).clamp(0.0, 6.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (raw, step) in [
            (0.9, 1.0),
            (1.0, 1.0),
            (1.1, 2.0),
            (3.0, 5.0),
            (7.0, 10.0),
            (0.012, 0.02),
        ] {
            assert!(
                (round_step(raw) - step).abs() < 1e-9 * step,
                "{raw}: {}",
                round_step(raw)
            );
        }
    }

    #[test]
    fn labels_have_the_decimals_of_their_step() {
        let table = [
            (0.1, 0.1, Scale::PERCENT, "+10 %"),
            (-0.005, 0.005, Scale::PERCENT, "−0.5 %"),
            (0.0, 0.1, Scale::PERCENT, "0"),
            (0.02, 0.02, Scale::PERCENT, "+2 %"),
            (-1.5, 0.5, Scale::ONE, "−1.5"),
        ];
        for (v, step, scale, expected) in table {
            assert_eq!(signed_label(v, step, scale), expected);
        }
    }

    #[test]
    fn logarithmic_ticks_are_round_and_few() {
        let table: [(f64, f64, &[f64]); 4] = [
            (900.0, 60_000.0, &[1e3, 2e3, 5e3, 1e4, 2e4, 5e4]),
            (90.0, 110_000.0, &[1e2, 1e3, 1e4, 1e5]),
            (1010.0, 1090.0, &[1000.0, 1050.0, 1100.0]),
            (500.0, 500.0, &[480.0, 490.0, 500.0, 510.0, 520.0]),
        ];
        for (low, high, expected) in table {
            let ticks = LogAxis::holding(low, high).ticks();
            let is_near = |(found, expected): (&f64, &f64)| (found / expected - 1.0).abs() < 1e-9;
            assert_eq!(ticks.len(), expected.len(), "{low} to {high}: {ticks:?}");
            assert!(ticks.iter().zip(expected).all(is_near), "{ticks:?}");
        }
    }

    #[test]
    fn steps_have_their_decimals() {
        for (step, expected) in [(50.0, 0), (1.0, 0), (0.5, 1), (0.02, 2), (1e-9, 6)] {
            assert_eq!(places(step), expected, "{step}");
        }
    }
}
