//! Results of an analysis, as samples.

use std::collections::BTreeSet;

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis};
use windage_model::{Interval, Metric, Reason, Soundness, WarningCode};

use crate::families::{self, Family, Samples};

/// The families of an estimate and of both ends of its interval.
type OfInterval = [&'static Family; 3];

const RELATIVE: OfInterval = [
    families::OVERHEAD,
    families::OVERHEAD_LOW,
    families::OVERHEAD_HIGH,
];
const ABSOLUTE: OfInterval = [
    families::DIFFERENCE,
    families::DIFFERENCE_LOW,
    families::DIFFERENCE_HIGH,
];
const WORDS: [Soundness; 3] = [Soundness::Valid, Soundness::Suspect, Soundness::Void];
/// Warnings that every run in progress has and that mean nothing there: its end is not recorded,
/// and its last block may be half written.
const OF_ANY_RUN_THAT_GOES_ON: [WarningCode; 2] =
    [WarningCode::RunIncomplete, WarningCode::JournalCut];

/// Whether an analysed run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    GoingOn,
    Ended,
}

/// Removes the warnings that every run in progress has, under each of its loads.
pub(crate) fn forgive_going_on(analysis: &mut Analysis) {
    let reasons = &mut analysis.validity.reasons;
    reasons.retain(|warning| !OF_ANY_RUN_THAT_GOES_ON.contains(&warning.code()));
    analysis.other_loads.iter_mut().for_each(forgive_going_on);
}

/// Estimates, fidelity and validity under each load; nothing before the first block.
pub(crate) fn put(analysis: &Analysis, stage: Stage, samples: &mut Samples) {
    let measured = analysis.regimes().filter(|under| under.design.blocks > 0);
    for under_load in measured {
        let regime = under_load.regime.as_deref().unwrap_or_default();
        for arm in &under_load.arms {
            put_arm(regime, arm, samples);
        }
        put_validity(regime, under_load, stage, samples);
    }
}

fn put_arm(regime: &str, arm: &ArmAnalysis, samples: &mut Samples) {
    let labels = [("regime", regime), ("arm", arm.id.as_str())];
    for (metric, found) in &arm.metrics {
        put_metric(&labels, *metric, found, samples);
    }
    if let Some(fidelity) = &arm.fidelity {
        let labels = [&labels[..], &[("of", fidelity.of.as_str())]].concat();
        samples.put(families::EXPECTED, fidelity.expected, &labels);
        samples.put(families::DELIVERED, fidelity.delivered as f64, &labels);
    }
}

fn put_metric(
    labels: &[(&'static str, &str)],
    metric: Metric,
    found: &MetricAnalysis,
    samples: &mut Samples,
) {
    let Ok(difference) = &found.difference else {
        return;
    };
    let labels = [labels, &[("metric", metric.as_str())]].concat();
    if let Some(relative) = &difference.relative {
        put_interval(RELATIVE, relative, &labels, samples);
    }
    let labels = [&labels[..], &[("unit", metric.unit().as_str())]].concat();
    put_interval(ABSOLUTE, &difference.absolute, &labels, samples);
}

fn put_interval(
    families: OfInterval,
    interval: &Interval,
    labels: &[(&'static str, &str)],
    samples: &mut Samples,
) {
    let values = [interval.estimate, interval.low, interval.high];
    for (family, value) in families.into_iter().zip(values) {
        samples.put(family, value, labels);
    }
}

fn put_validity(regime: &str, analysis: &Analysis, stage: Stage, samples: &mut Samples) {
    let speaks =
        |of: &&Reason| stage == Stage::Ended || !OF_ANY_RUN_THAT_GOES_ON.contains(&of.code());
    let reasons = || analysis.validity.reasons.iter().filter(speaks);
    let codes: BTreeSet<WarningCode> = reasons().map(Reason::code).collect();
    let soundness = reasons().map(Reason::soundness).max();
    let soundness = soundness.unwrap_or(Soundness::Valid);
    samples.put_state(
        families::VALIDITY,
        "verdict",
        &WORDS.map(Soundness::as_str),
        soundness.as_str(),
        &[("regime", regime)],
    );
    for code in codes {
        let labels = [("regime", regime), ("code", code.as_str())];
        samples.put(families::WARNING, 1.0, &labels);
    }
}
