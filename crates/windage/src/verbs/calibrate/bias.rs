//! What many launches or runs say together: how far their mean is from the truth, and how much runs
//! differ. Pure functions.

use windage_stats::{
    BetweenRuns, Confidence, Effect, PooledBias, RunEstimate, between_runs, pooled_bias,
};

use super::findings::Unit;
use super::observed::{Observed, ObservedArm};
use super::truth::Truth;

/// The mean of what was found less the truth, in CPU per request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bias {
    /// The arm; `None` for all arms without a cost as if they were one.
    pub(super) arm: Option<String>,
    pub(super) unit: Unit,
    pub(super) pooled: PooledBias,
    pub(super) sample: Sample,
}

/// What a bias is the mean of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// Launches of the only run.
    Launches(usize),
    /// Several runs. Their scatter is part of the error.
    Runs(usize),
}

impl Bias {
    pub(super) fn ends(&self) -> (f64, f64) {
        self.pooled.ends(Confidence::P95)
    }
}

/// The bias of the arms without a cost together, then that of each arm with one.
pub(super) fn biases(runs: &[Observed]) -> Vec<Bias> {
    let without: Option<Vec<&Effect>> = runs.iter().map(|run| run.without_cost.as_ref()).collect();
    let without = without.and_then(|effects| {
        let errors: Vec<(&Effect, f64)> = effects.into_iter().map(|e| (e, 0.0)).collect();
        bias(None, Unit::Share, &errors)
    });
    let arms = runs.first().map_or(&[][..], |run| &run.arms);
    let with_cost = arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.truth != Truth::Nothing);
    let of_arm = |(at, arm): (usize, &ObservedArm)| {
        let unit = arm.truth.unit();
        let errors: Option<Vec<(&Effect, f64)>> = runs
            .iter()
            .map(|run| {
                let arm = run.arms.get(at)?;
                Some((effect(arm, unit)?, arm.truth.size()))
            })
            .collect();
        bias(Some(arm.name.clone()), unit, &errors?)
    };
    without
        .into_iter()
        .chain(with_cost.filter_map(of_arm))
        .collect()
}

/// The standard deviation between runs of an effect on CPU per request, as a share of the baseline:
/// the root of the arms' mean variance, because one arm in a few runs shows it badly. Its ends are
/// combined in the same way. Arms share the baseline, so they are not narrower than those of one.
pub(super) fn scatter_of_runs(runs: &[Observed]) -> Option<BetweenRuns> {
    let arms = runs.first().map_or(0, |run| run.arms.len());
    let of_arm = |at: usize| {
        let estimates: Option<Vec<RunEstimate>> = runs
            .iter()
            .map(|run| Some(estimate(effect(run.arms.get(at)?, Unit::Share)?, 0.0)))
            .collect();
        between_runs(&estimates?)
    };
    let found: Vec<BetweenRuns> = (0..arms).filter_map(of_arm).collect();
    let together = |value: fn(&BetweenRuns) -> f64| {
        let squares = found.iter().map(|of| value(of).powi(2));
        (squares.sum::<f64>() / found.len() as f64).sqrt()
    };
    (!found.is_empty()).then(|| BetweenRuns {
        standard_deviation: together(|of| of.standard_deviation),
        low: together(|of| of.low),
        high: together(|of| of.high),
        runs: runs.len(),
    })
}

/// The effect on CPU per request in the unit in which an arm is judged.
fn effect(arm: &ObservedArm, unit: Unit) -> Option<&Effect> {
    let cpu = arm.whole.cpu.as_ref()?;
    Some(match unit {
        Unit::Share => &cpu.share,
        Unit::Microseconds => &cpu.difference_us,
    })
}

/// From an effect and its truth in each run. In a single run its launches are the sample.
fn bias(arm: Option<String>, unit: Unit, runs: &[(&Effect, f64)]) -> Option<Bias> {
    let (errors, sample) = match runs {
        [(effect, truth)] => {
            let by_launch = effect.by_launch.iter();
            let errors = by_launch.map(|value| RunEstimate {
                estimate: value - truth,
                standard_error: 0.0,
            });
            (errors.collect(), Sample::Launches(effect.launches()))
        }
        runs => {
            let errors = runs.iter().map(|(effect, truth)| estimate(effect, *truth));
            (errors.collect::<Vec<_>>(), Sample::Runs(runs.len()))
        }
    };
    Some(Bias {
        arm,
        unit,
        pooled: pooled_bias(&errors)?,
        sample,
    })
}

fn estimate(effect: &Effect, truth: f64) -> RunEstimate {
    RunEstimate {
        estimate: effect.estimate - truth,
        standard_error: effect.standard_error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings::tests::{arm, run};
    use super::*;
    use windage_model::Metric;

    /// Runs whose only arm found these shares.
    fn runs(truth: Truth, shares: &[f64]) -> Vec<Observed> {
        let of = |&share: &f64| run(vec![arm("a", Metric::CpuPerRequest, truth, &[share])]);
        shares.iter().map(of).collect()
    }

    #[test]
    fn a_single_run_has_the_bias_of_its_launches() {
        let found = biases(&runs(Truth::Share(0.01), &[0.013]));
        assert_eq!(found.len(), 1, "there is no arm without a cost");
        assert_eq!(found[0].sample, Sample::Launches(14));
        assert!((found[0].pooled.mean - 0.003).abs() < 1e-9, "{found:?}");
        let found = biases(&runs(Truth::Nothing, &[0.002]));
        assert_eq!((found.len(), found[0].arm.as_ref()), (1, None));
    }

    #[test]
    fn several_runs_are_the_sample() {
        // A baseline of 50 µs: errors of 0.5, 1.5 and 1 µs.
        let found = biases(&runs(Truth::CpuUs(1.0), &[0.03, 0.05, 0.04]));
        assert_eq!(found[0].sample, Sample::Runs(3));
        assert_eq!(found[0].unit, Unit::Microseconds);
        assert!((found[0].pooled.mean - 1.0).abs() < 1e-9, "{found:?}");
        let (low, high) = found[0].ends();
        // Student's quantile of two degrees of freedom, 4.3027, times 0.5 µs / √3.
        assert!(
            (low + 0.2421).abs() < 1e-3 && (high - 2.2421).abs() < 1e-3,
            "{low} {high}"
        );
        assert!(biases(&[]).is_empty());
    }

    #[test]
    fn runs_that_differ_more_than_their_errors_scatter() {
        // Each run's own standard error is about 0.2 %.
        let table: [(&[f64], bool); 3] = [
            (&[0.01, 0.011, 0.009, 0.01, 0.01], false),
            (&[0.01, 0.05, 0.09, 0.03, 0.07], true),
            (&[0.01], false),
        ];
        for (shares, expected) in table {
            let found = scatter_of_runs(&runs(Truth::Nothing, shares));
            let scatters = found.is_some_and(|of| of.standard_deviation > 0.0);
            assert_eq!(scatters, expected, "{shares:?} {found:?}");
            assert_eq!(found.is_some(), shares.len() > 1);
        }
    }
}
