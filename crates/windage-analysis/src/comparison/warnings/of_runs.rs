//! Warnings that either run has by itself.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{Reason, Soundness, WarningCode};

use super::{ComparisonEvidence, ComparisonWarningCode, Found};
use crate::comparison::shared_arms::{is_in_both, shared_arms};
use crate::comparison::{Pair, deferred, regime};
use crate::{Analysis, ArmAnalysis, RunSide};

/// Warnings about the runs as a whole, and about single figures of arms that both have.
pub(super) fn of_both(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    for (name, run) in [(RunSide::A, a), (RunSide::B, b)] {
        of_side(found, name, run, regime(pair));
    }
    for (name, [run, other]) in [(RunSide::A, [a, b]), (RunSide::B, [b, a])] {
        of_metrics(found, name, shared_arms(run, other), regime(pair));
    }
    of_deferred(found, pair);
}

fn of_side(found: &mut Found, name: RunSide, run: &Analysis, regime: Option<String>) {
    let separate = [WarningCode::ControlDiffers, WarningCode::SingleRound];
    let codes = |wanted: Soundness| -> Vec<String> {
        let reasons = run.validity.reasons.iter();
        let wanted =
            reasons.filter(|of| of.soundness() == wanted && !separate.contains(&of.code()));
        let codes: BTreeSet<WarningCode> = wanted.map(Reason::code).collect();
        codes.iter().map(|code| code.as_str().to_owned()).collect()
    };
    for (code, soundness) in [
        (ComparisonWarningCode::Void, Soundness::Void),
        (ComparisonWarningCode::Suspect, Soundness::Suspect),
    ] {
        let codes = codes(soundness);
        if !codes.is_empty() {
            let codes = ComparisonEvidence::Items(Some(name), codes);
            found.push(code, regime.clone(), codes);
        }
    }
    let of_run = ComparisonEvidence::Run(name);
    if run.validity.has(WarningCode::ControlDiffers) {
        let code = ComparisonWarningCode::ControlDiffers;
        found.push(code, regime.clone(), of_run.clone());
    }
    if run.design.rounds == 1 {
        found.push(ComparisonWarningCode::SingleLaunch, regime, of_run);
    }
}

/// One warning per run: which codes, and for which arms.
fn of_metrics<'a>(
    found: &mut Found,
    name: RunSide,
    arms: impl Iterator<Item = (&'a ArmAnalysis, &'a ArmAnalysis)>,
    regime: Option<String>,
) {
    let mut warned: BTreeMap<WarningCode, Vec<String>> = BTreeMap::new();
    for (arm, _) in arms {
        for reason in arm.metrics.values().flat_map(|of| &of.validity.reasons) {
            let arms = warned.entry(reason.code()).or_default();
            if arms.last().is_none_or(|last| last != arm.id.as_str()) {
                arms.push(arm.id.to_string());
            }
        }
    }
    if !warned.is_empty() {
        let of_arms = ComparisonEvidence::OfArms(name, warned.into_iter().collect());
        found.push(ComparisonWarningCode::SuspectMetric, regime, of_arms);
    }
}

/// Arms whose deferred cost is known in only one run.
fn of_deferred(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    for (name, [run, other]) in [(RunSide::A, [a, b]), (RunSide::B, [b, a])] {
        let unknown = shared_arms(run, other)
            .filter(|(arm, in_other)| !deferred::is_held(arm) && is_apart(arm, in_other))
            .map(|(arm, _)| arm.id.to_string());
        let unknown: Vec<String> = unknown.collect();
        if !unknown.is_empty() {
            let arms = ComparisonEvidence::Items(Some(name), unknown);
            found.push(ComparisonWarningCode::DeferredInOne, regime(pair), arms);
        }
    }
}

fn is_apart(a: &ArmAnalysis, b: &ArmAnalysis) -> bool {
    let mut held_by = deferred::HELD_BY.into_iter();
    held_by.any(|metric| is_in_both(metric, a, b) && deferred::is_in_one(metric, [a, b]))
}
