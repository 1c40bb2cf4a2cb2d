//! Warnings from the course of a comparison over the run: its beginning differs from the rest, it
//! drifts even within blocks, or launch results are bimodal.
//!
//! Each check asks twice: whether the effect is more than chance (at 1 %), and whether it exceeds
//! the equivalence margin. Otherwise long runs would get warnings about effects that do not matter.

use windage_model::{DriftOver, Warning};
use windage_stats::{Location, Over, bimodal, location, onset, trend_over};

use crate::compare::Ratios;

/// The values of a launch are averaged down to at most this many before their course is examined:
/// the effects sought are slow.
const POINTS: usize = 400;

/// Warnings about the location of these log ratios.
pub(crate) fn warnings(ratios: &Ratios, margin: f64) -> Vec<Warning> {
    let launches: Vec<Vec<f64>> = ratios.values().map(|launch| thinned(launch)).collect();
    let found = [
        warm_up_not_over(&launches, margin),
        trend(&launches, margin),
        two_kinds_of_launches(ratios, margin),
    ];
    found.into_iter().flatten().collect()
}

fn warm_up_not_over(launches: &[Vec<f64>], margin: f64) -> Option<Warning> {
    let onset = onset(launches).filter(|o| o.significant && o.excess.abs() > margin)?;
    Some(Warning::WarmupTooShort {
        excess: onset.excess.exp_m1(),
    })
}

fn trend(launches: &[Vec<f64>], margin: f64) -> Option<Warning> {
    let trend = trend_over(launches);
    let trend = trend.filter(|t| t.significant && t.change_over_series.abs() > margin)?;
    Some(Warning::Trend {
        change: trend.change_over_series.exp_m1(),
        over: match trend.over {
            Over::Launch => DriftOver::Launch,
            Over::Run => DriftOver::Run,
        },
    })
}

fn two_kinds_of_launches(ratios: &Ratios, margin: f64) -> Option<Warning> {
    let of_launches: Vec<Location> = ratios.values().filter_map(|l| location(l)).collect();
    let locations: Vec<f64> = of_launches.iter().map(|l| l.estimate).collect();
    let errors: Option<Vec<f64>> = of_launches
        .iter()
        .map(|l| Some(l.error()?.standard_error))
        .collect();
    // Totals by launch have no error within a launch.
    let errors = match of_launches.iter().all(|l| l.error().is_none()) {
        true => Vec::new(),
        false => errors?,
    };
    let modes = bimodal(&locations, &errors).filter(|m| m.high - m.low > margin)?;
    Some(Warning::BimodalLaunches {
        low: modes.low.exp_m1(),
        high: modes.high.exp_m1(),
        launches_low: modes.in_low as u64,
        launches_high: modes.in_high as u64,
    })
}

/// Means of consecutive values, at most [`POINTS`] of them.
fn thinned(values: &[f64]) -> Vec<f64> {
    let together = values.len().div_ceil(POINTS).max(1);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    values.chunks(together).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise between -1 and 1 (the fractional part of multiples of the golden ratio, shuffled by
    /// a large factor).
    fn noise(i: u32) -> f64 {
        let share = (f64::from(i) * 0.618_033_988_75 * 997.0).fract();
        2.0 * share - 1.0
    }

    fn ratios(launches: u32, blocks: u32, value: impl Fn(u32, u32) -> f64) -> Ratios {
        let block = |l, b| value(l, b) + 0.01 * noise(l * blocks + b);
        let launch = |l| (l, (0..blocks).map(|b| block(l, b)).collect());
        (0..launches).map(launch).collect()
    }

    #[test]
    fn each_course_has_its_warning() {
        use windage_model::WarningCode::{self, *};
        type Value = fn(u32, u32) -> f64;
        let table: &[(&str, u32, u32, Value, &[WarningCode])] = &[
            ("noise alone", 3, 60, |_, _| 0.1, &[]),
            (
                "launches that differ by chance",
                9,
                30,
                |l, _| 0.01 * noise(l),
                &[],
            ),
            (
                "the first blocks cost more",
                4,
                60,
                |_, b| if b < 6 { 0.05 } else { 0.0 },
                // A line fitted to it falls as well.
                &[WarmupTooShort, Trend],
            ),
            (
                "every second launch costs more",
                16,
                30,
                |l, _| if l % 2 == 0 { 0.06 } else { 0.0 },
                &[BimodalLaunches],
            ),
            (
                "the cost keeps rising",
                1,
                200,
                |_, b| 0.04 * f64::from(b) / 200.0,
                &[Trend],
            ),
            (
                "a trend that does not matter",
                1,
                20_000,
                |_, b| 0.003 * f64::from(b) / 2e4,
                &[],
            ),
            ("one block", 1, 1, |_, _| 0.0, &[]),
        ];
        for &(why, launches, blocks, value, expected) in table {
            let found = warnings(&ratios(launches, blocks, value), 0.005);
            let codes: Vec<_> = found.iter().map(Warning::code).collect();
            for code in expected {
                assert!(codes.contains(code), "{why}: {codes:?}");
            }
            assert!(codes.len() <= expected.len(), "{why}: {codes:?}");
        }
    }

    #[test]
    fn a_long_launch_is_thinned() {
        let long: Vec<f64> = (0..1000).map(f64::from).collect();
        let thin = thinned(&long);
        assert_eq!((thin.len(), thin[0], thin[333]), (334, 1.0, 999.0));
        assert_eq!(thinned(&[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(thinned(&[]), [0.0; 0]);
    }
}
