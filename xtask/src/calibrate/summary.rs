//! What many runs say together. Values in, values out.

use super::experiment::{Experiment, Found, METRICS, Outcome};
use crate::record::summary::{Ranged, median, ratio_of_rmse, rmse, share};
use crate::record::trial::Order;

/// The whole study in figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    /// Of the control, by metric and order: the truth is nil.
    pub(crate) controls: Vec<ControlLine>,
    /// Of the injected cost, by order.
    pub(crate) treatments: Vec<TreatmentLine>,
    /// How much farther from the truth the sequential order is than the mirrored one.
    pub(crate) comparisons: Vec<Comparison>,
    /// Runs without an outcome.
    pub(crate) failed: usize,
}

/// The control in one metric under one order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ControlLine {
    pub(crate) metric: &'static str,
    pub(crate) order: Order,
    pub(crate) runs: usize,
    /// Runs whose 95 % interval leaves nil out.
    pub(crate) false_positives: usize,
    pub(crate) median_half_width: Option<f64>,
    /// That of the intervals from variation within launches alone.
    pub(crate) median_half_width_within_launches: Option<f64>,
    /// Runs in which a covariate narrowed the interval.
    pub(crate) with_covariate: usize,
    /// The median half-width if none had been used.
    pub(crate) median_half_width_without_covariate: Option<f64>,
    pub(crate) rmse: Option<f64>,
}

/// The injected cost in CPU a request under one order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TreatmentLine {
    pub(crate) order: Order,
    pub(crate) runs: usize,
    /// Runs whose 95 % interval holds the truth.
    pub(crate) hold_truth: usize,
    /// The same as a share.
    pub(crate) coverage: Option<Ranged>,
    /// Runs whose 95 % interval leaves nil out.
    pub(crate) found: usize,
    /// Runs whose interval from variation within launches alone does.
    pub(crate) found_within_launches: usize,
    pub(crate) median_half_width: Option<f64>,
    pub(crate) median_estimate: Option<f64>,
    pub(crate) median_truth_counted: Option<f64>,
    pub(crate) median_truth_clocked: Option<f64>,
    /// Mean of estimate − truth.
    pub(crate) bias: Option<f64>,
    pub(crate) rmse: Option<f64>,
}

/// The errors of one arm in one metric under both orders.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) arm: &'static str,
    pub(crate) metric: &'static str,
    /// RMSE sequential / RMSE mirrored.
    pub(crate) ratio: Option<Ranged>,
}

/// Sums up the runs made so far.
pub(crate) fn summarise(experiments: &[Experiment]) -> Summary {
    let of_order = |order| {
        let runs = experiments.iter().filter(move |e| e.order == order);
        runs.filter_map(|e| e.outcome.as_ref().ok())
            .collect::<Vec<&Outcome>>()
    };
    let outcomes = Order::BOTH.map(of_order);
    let mut controls = Vec::new();
    let mut comparisons = Vec::new();
    for (index, metric) in METRICS.into_iter().enumerate() {
        for (order, outcomes) in Order::BOTH.into_iter().zip(&outcomes) {
            let found: Vec<Found> = outcomes.iter().filter_map(|o| o.control[index]).collect();
            controls.push(control_line(metric, order, &found));
        }
        let errors = |o: &Outcome| Some(o.control[index]?.reading.estimate);
        comparisons.push(comparison("control", metric, &outcomes, errors));
    }
    comparisons.push(comparison("treatment", METRICS[0], &outcomes, |o| {
        Some(o.error())
    }));
    let treatments = Order::BOTH
        .into_iter()
        .zip(&outcomes)
        .map(|(order, outcomes)| treatment_line(order, outcomes))
        .collect();
    Summary {
        controls,
        treatments,
        comparisons,
        failed: experiments.iter().filter(|e| e.outcome.is_err()).count(),
    }
}

fn control_line(metric: &'static str, order: Order, found: &[Found]) -> ControlLine {
    let readings = || found.iter().map(|f| f.reading);
    let without = |f: &Found| {
        let used = f.half_width_without_covariate;
        used.unwrap_or_else(|| f.reading.half_width())
    };
    ControlLine {
        metric,
        order,
        runs: found.len(),
        false_positives: readings().filter(|r| r.exceeds_nil).count(),
        median_half_width: median(readings().map(|r| r.half_width()).collect()),
        median_half_width_within_launches: median(
            readings()
                .filter_map(|r| r.within_launch_half_width)
                .collect(),
        ),
        with_covariate: found
            .iter()
            .filter(|f| f.half_width_without_covariate.is_some())
            .count(),
        median_half_width_without_covariate: median(found.iter().map(without).collect()),
        rmse: rmse(found.iter().map(|f| f.reading.estimate)),
    }
}

fn treatment_line(order: Order, outcomes: &[&Outcome]) -> TreatmentLine {
    let median_of =
        |value: fn(&Outcome) -> f64| median(outcomes.iter().map(|o| value(o)).collect());
    let runs = outcomes.len();
    let hold_truth = outcomes.iter().filter(|o| o.holds_truth()).count();
    let sum: f64 = outcomes.iter().map(|o| o.error()).sum();
    TreatmentLine {
        order,
        runs,
        hold_truth,
        coverage: share(hold_truth, runs),
        found: outcomes
            .iter()
            .filter(|o| o.treatment.reading.exceeds_nil)
            .count(),
        found_within_launches: outcomes
            .iter()
            .filter(|o| o.treatment.is_found_within_launches())
            .count(),
        median_half_width: median_of(|o| o.treatment.reading.half_width()),
        median_estimate: median_of(|o| o.treatment.reading.estimate),
        median_truth_counted: median_of(|o| o.truth.counted),
        median_truth_clocked: median_of(|o| o.truth.clocked),
        bias: (runs > 0).then(|| sum / runs as f64),
        rmse: rmse(outcomes.iter().map(|o| o.error())),
    }
}

fn comparison(
    arm: &'static str,
    metric: &'static str,
    outcomes: &[Vec<&Outcome>; 2],
    error: impl Fn(&Outcome) -> Option<f64>,
) -> Comparison {
    let errors = |of: &[&Outcome]| of.iter().filter_map(|o| error(o)).collect::<Vec<f64>>();
    let [mirrored, sequential] = outcomes;
    Comparison {
        arm,
        metric,
        ratio: ratio_of_rmse(&errors(sequential), &errors(mirrored)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::experiment::tests::outcome;
    use super::*;

    pub(crate) fn experiments() -> Vec<Experiment> {
        let run = |number, order, outcome| Experiment {
            number,
            order,
            outcome,
        };
        vec![
            run(1, Order::Mirrored, Ok(outcome(0.011))),
            run(1, Order::Sequential, Ok(outcome(0.02))),
            run(2, Order::Mirrored, Ok(outcome(0.009))),
            run(2, Order::Sequential, Ok(outcome(0.0))),
            run(3, Order::Mirrored, Err("it | ended".to_owned())),
        ]
    }

    #[test]
    fn orders_are_told_apart() {
        let summary = summarise(&experiments());
        assert_eq!(summary.failed, 1);
        let [mirrored, sequential] = &summary.treatments[..] else {
            panic!("two orders")
        };
        assert_eq!(
            (
                mirrored.runs,
                mirrored.hold_truth,
                mirrored.found,
                mirrored.found_within_launches
            ),
            (2, 2, 2, 2)
        );
        assert_eq!(
            (sequential.runs, sequential.hold_truth, sequential.found),
            (2, 0, 1)
        );
        let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-9, "{a:?} {b}");
        near(mirrored.rmse, 0.001);
        near(mirrored.bias, 0.0);
        near(mirrored.median_half_width, 0.002);
        near(sequential.rmse, 0.01);
        let injected = summary.comparisons.last().unwrap();
        assert_eq!(
            (injected.arm, injected.metric),
            ("treatment", "cpu_per_request")
        );
        near(injected.ratio.map(|r| r.estimate), 10.0);
    }

    #[test]
    fn covariates_are_counted_where_they_were_used() {
        let mut with = outcome(0.01).control[1].unwrap();
        with.half_width_without_covariate = Some(0.004);
        let line = control_line("throughput", Order::Mirrored, &[with, with]);
        assert_eq!((line.runs, line.with_covariate), (2, 2));
        assert_eq!(line.median_half_width_without_covariate, Some(0.004));
        assert!((line.median_half_width.unwrap() - 0.002).abs() < 1e-12);
    }
}
