//! What many runs of a control say together. Values in, values out.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::trial::{METRICS, Order, Reading, Trial};

/// Draws of the bootstrap: its own noise stays below the second digit.
const RESAMPLES: usize = 4000;

/// A figure with the 95 % interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranged {
    pub(crate) estimate: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The control in one metric under one order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) metric: &'static str,
    pub(crate) order: Order,
    pub(crate) runs: usize,
    /// Runs whose 95 % interval holds nil; about 95 % of them should.
    pub(crate) hold_nil: usize,
    /// The same as a share.
    pub(crate) coverage: Option<Ranged>,
    pub(crate) median_half_width: Option<f64>,
    pub(crate) median_within_launch_half_width: Option<f64>,
    /// Root mean square of the estimates: the truth is nil, so each is an error.
    pub(crate) rmse: Option<f64>,
}

/// How much farther from nil one order is than the other, in one metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) metric: &'static str,
    /// RMSE sequential / RMSE mirrored.
    pub(crate) ratio: Option<Ranged>,
}

/// The whole study in figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) lines: Vec<Line>,
    pub(crate) comparisons: Vec<Comparison>,
    /// Runs without a control.
    pub(crate) failed: usize,
}

/// Sums up the runs made so far.
pub(crate) fn summarise(trials: &[Trial]) -> Summary {
    let mut lines = Vec::new();
    let mut comparisons = Vec::new();
    for (index, metric) in METRICS.into_iter().enumerate() {
        let readings = Order::BOTH.map(|order| readings(trials, order, index));
        for (order, readings) in Order::BOTH.into_iter().zip(&readings) {
            lines.push(line(metric, order, readings));
        }
        let [mirrored, sequential] =
            readings.map(|r| r.iter().map(|r| r.estimate).collect::<Vec<f64>>());
        comparisons.push(Comparison {
            metric,
            ratio: ratio_of_rmse(&sequential, &mirrored),
        });
    }
    let failed = trials.iter().filter(|trial| trial.outcome.is_err()).count();
    Summary {
        lines,
        comparisons,
        failed,
    }
}

fn readings(trials: &[Trial], order: Order, metric: usize) -> Vec<Reading> {
    let of_order = trials.iter().filter(|trial| trial.order == order);
    of_order
        .filter_map(|t| t.outcome.as_ref().ok())
        .map(|c| c.metrics[metric])
        .collect()
}

fn line(metric: &'static str, order: Order, readings: &[Reading]) -> Line {
    let hold_nil = readings.iter().filter(|r| !r.exceeds_nil).count();
    Line {
        metric,
        order,
        runs: readings.len(),
        hold_nil,
        coverage: share(hold_nil, readings.len()),
        median_half_width: median(readings.iter().map(Reading::half_width).collect()),
        median_within_launch_half_width: median(
            readings
                .iter()
                .filter_map(|r| r.within_launch_half_width)
                .collect(),
        ),
        rmse: rmse(readings.iter().map(|r| r.estimate)),
    }
}

/// The middle value, or the mean of the two in the middle; `None` of none.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 {
        upper
    } else {
        (values[middle - 1] + upper) / 2.0
    })
}

pub(crate) fn rmse(errors: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = errors.len();
    (count > 0).then(|| (errors.map(|e| e * e).sum::<f64>() / count as f64).sqrt())
}

/// A share with Wilson's score interval, which stays inside 0…1 and is usable for few runs.
pub(crate) fn share(hits: usize, of: usize) -> Option<Ranged> {
    const Z: f64 = 1.959_964;
    if of == 0 {
        return None;
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let spread = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let (centre, scale) = (p + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
    Some(Ranged {
        estimate: p,
        low: ((centre - spread) / scale).max(0.0),
        high: ((centre + spread) / scale).min(1.0),
    })
}

/// RMSE of `errors` over that of `reference`, with a percentile bootstrap over runs. `None` when
/// either has fewer than two runs or a resample of the reference is exactly nil.
pub(crate) fn ratio_of_rmse(errors: &[f64], reference: &[f64]) -> Option<Ranged> {
    if errors.len() < 2 || reference.len() < 2 {
        return None;
    }
    let ratio = |a: &[f64], b: &[f64]| {
        let ratio = rmse(a.iter().copied())? / rmse(b.iter().copied())?;
        ratio.is_finite().then_some(ratio)
    };
    // A fixed seed: the same runs give the same page.
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut resample = |values: &[f64]| -> Vec<f64> {
        values
            .iter()
            .map(|_| values[random.random_range(0..values.len())])
            .collect()
    };
    let mut ratios = (0..RESAMPLES)
        .map(|_| ratio(&resample(errors), &resample(reference)))
        .collect::<Option<Vec<f64>>>()?;
    ratios.sort_by(f64::total_cmp);
    let tail = RESAMPLES / 40;
    Some(Ranged {
        estimate: ratio(errors, reference)?,
        low: ratios[tail],
        high: ratios[RESAMPLES - 1 - tail],
    })
}

#[cfg(test)]
mod tests {
    use super::super::trial::Control;
    use super::*;

    fn trial(order: Order, estimate: f64, half_width: f64) -> Trial {
        let reading = Reading {
            estimate,
            low: estimate - half_width,
            high: estimate + half_width,
            within_launch_half_width: Some(half_width / 2.0),
            exceeds_nil: estimate.abs() > half_width,
        };
        let control = Control {
            validity: "valid".into(),
            metrics: [reading; METRICS.len()],
        };
        Trial {
            order,
            number: 1,
            duration_s: 90.0,
            outcome: Ok(control),
        }
    }

    fn near(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    #[test]
    fn medians() {
        let table: [(&[f64], Option<f64>); 4] = [
            (&[], None),
            (&[3.0], Some(3.0)),
            (&[3.0, 1.0], Some(2.0)),
            (&[9.0, 1.0, 2.0], Some(2.0)),
        ];
        for (values, expected) in table {
            assert_eq!(median(values.to_vec()), expected, "{values:?}");
        }
    }

    #[test]
    fn shares_have_wilsons_interval() {
        assert_eq!(share(0, 0), None);
        // By hand: (0.95 + z²/40 ± z·√(0.95·0.05/20 + z²/1600)) / (1 + z²/20).
        let ranged = share(19, 20).unwrap();
        assert!((ranged.low - 0.7639).abs() < 1e-4, "{ranged:?}");
        assert!((ranged.high - 0.9911).abs() < 1e-4, "{ranged:?}");
        assert_eq!(share(20, 20).unwrap().high, 1.0);
        assert_eq!(share(0, 20).unwrap().low, 0.0);
    }

    #[test]
    fn orders_are_summed_up_apart() {
        let trials = [
            trial(Order::Mirrored, 0.003, 0.005),
            trial(Order::Sequential, 0.06, 0.01),
            trial(Order::Mirrored, -0.004, 0.007),
            trial(Order::Sequential, -0.08, 0.03),
            Trial {
                outcome: Err("died".into()),
                ..trial(Order::Sequential, 0.0, 0.0)
            },
        ];
        let summary = summarise(&trials);
        assert_eq!(summary.failed, 1);
        let [mirrored, sequential] = &summary.lines[..2] else {
            panic!("{summary:?}")
        };
        assert_eq!((mirrored.runs, mirrored.hold_nil), (2, 2));
        assert_eq!((sequential.runs, sequential.hold_nil), (2, 0));
        assert!(near(mirrored.median_half_width, 0.006));
        assert!(near(mirrored.median_within_launch_half_width, 0.003));
        assert!(near(mirrored.rmse, (12.5e-6_f64).sqrt()));
        assert!(near(sequential.rmse, (50e-4_f64).sqrt()));
        assert!(near(summary.comparisons[0].ratio.map(|r| r.estimate), 20.0));
    }

    #[test]
    fn nothing_measured_says_nothing() {
        let summary = summarise(&[]);
        assert!(
            summary
                .lines
                .iter()
                .all(|l| l.runs == 0 && l.coverage.is_none() && l.rmse.is_none())
        );
        assert!(summary.comparisons.iter().all(|c| c.ratio.is_none()));
    }

    #[test]
    fn ratios_are_bracketed() {
        let narrow: Vec<f64> = (1..=20).map(|i| f64::from(i) * 1e-4).collect();
        let wide: Vec<f64> = narrow.iter().map(|e| e * -3.0).collect();
        let ratio = ratio_of_rmse(&wide, &narrow).unwrap();
        assert!(near(Some(ratio.estimate), 3.0));
        assert!(
            1.0 < ratio.low && ratio.low < 3.0 && 3.0 < ratio.high,
            "{ratio:?}"
        );
        let same = ratio_of_rmse(&narrow, &narrow).unwrap();
        assert!(same.low < 1.0 && 1.0 < same.high, "{same:?}");
        assert_eq!(
            ratio_of_rmse(&wide, &[0.0, 0.0]),
            None,
            "nothing can be divided by nil"
        );
        assert_eq!(ratio_of_rmse(&wide, &[0.1]), None);
    }
}
