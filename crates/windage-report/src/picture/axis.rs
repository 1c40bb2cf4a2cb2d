//! Scales with round steps.

use crate::number::Scale;

/// The most steps of an axis that is long enough.
pub(super) const STEPS: f64 = 6.0;

/// Maps a figure to its place on a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    pub(super) step: f64,
}

impl Axis {
    /// Covers both ends, with a margin of this share of the extent on either side, in at most this
    /// many steps.
    pub(super) fn holding(low: f64, high: f64, margin: f64, steps: f64) -> Axis {
        // An axis needs some extent.
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
        // At most the requested steps, so the cast is exact.
        let count = (last - first).clamp(0.0, 20.0) as u32;
        (0..=count)
            .map(|i| (first + f64::from(i)) * self.step)
            .collect()
    }
}

/// The label of a difference on an axis: signed, with the step's decimals.
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

/// The number of decimals of a step, between 0 and 6.
pub(super) fn places(step: f64) -> usize {
    // The cast is exact within the bounds.
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
    fn an_axis_holds_its_ends_and_few_round_ticks() {
        let axis = Axis::holding(-0.005, 0.23, 0.06, 4.0);
        for v in [-0.005, 0.0, 0.23] {
            assert!((0.0..=1.0).contains(&axis.place(v)), "{v}");
        }
        let ticks = axis.ticks();
        let labels = ticks
            .iter()
            .map(|t| signed_label(*t, axis.step, Scale::PERCENT));
        assert_eq!(labels.collect::<Vec<_>>(), ["0", "+10 %", "+20 %"]);
        let point = Axis::holding(0.0, 0.0, 0.06, STEPS);
        assert!(point.place(0.0).is_finite());
        assert!(point.ticks().len() <= 7);
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
    fn steps_have_their_decimals() {
        for (step, expected) in [(50.0, 0), (1.0, 0), (0.5, 1), (0.02, 2), (1e-9, 6)] {
            assert_eq!(places(step), expected, "{step}");
        }
    }
}
