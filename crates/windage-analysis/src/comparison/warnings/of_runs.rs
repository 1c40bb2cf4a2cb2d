//! Warnings that either run has by itself.

use std::collections::BTreeMap;

use windage_model::{Soundness, Warning, WarningCode};

use super::of_load::{is_in_both, shared_arms};
use super::{ComparisonWarningCode, Found};
use crate::comparison::{Pair, deferred, listed, regime};
use crate::{Analysis, ArmAnalysis};

/// Warnings about the runs as a whole, and about single figures of arms that both have.
pub(super) fn of_both(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    for (name, run) in [("A", a), ("B", b)] {
        of_side(found, name, run, regime(pair));
    }
    for (name, [run, other]) in [("A", [a, b]), ("B", [b, a])] {
        of_metrics(found, name, shared_arms(run, other), regime(pair));
    }
    of_deferred(found, pair);
}

fn of_side(found: &mut Found, name: &str, run: &Analysis, regime: Option<String>) {
    let codes = |wanted: Soundness| -> Vec<&str> {
        let separate = [WarningCode::ControlDiffers, WarningCode::SingleRound];
        let has = |code: &&WarningCode| run.validity.reasons.iter().any(|of| of.code == **code);
        let all = WarningCode::ALL.iter();
        let wanted = all.filter(|code| code.soundness() == wanted && !separate.contains(code));
        wanted.filter(has).map(|code| code.as_str()).collect()
    };
    let void = codes(Soundness::Void).join(", ");
    if !void.is_empty() {
        let text = format!("Run {name} is void ({void}): its figures must not be used.");
        found.push(ComparisonWarningCode::Void, regime.clone(), text);
    }
    let suspect = codes(Soundness::Suspect).join(", ");
    if !suspect.is_empty() {
        let text = format!("Run {name} is suspect ({suspect}): see its report.");
        found.push(ComparisonWarningCode::Suspect, regime.clone(), text);
    }
    let has = |code| {
        let is = |warning: &Warning| warning.code == code;
        run.validity.reasons.iter().any(is)
    };
    if has(WarningCode::ControlDiffers) {
        let text = format!(
            "In run {name} the A/A control differs from the baseline: a change of that size means \
             nothing."
        );
        found.push(ComparisonWarningCode::ControlDiffers, regime.clone(), text);
    }
    if run.design.rounds == 1 {
        let text = format!(
            "Run {name} has one launch. Its interval holds for that launch alone, so a change may \
             be launch luck."
        );
        found.push(ComparisonWarningCode::SingleLaunch, regime, text);
    }
}

/// One warning per run: which codes, and for which arms.
fn of_metrics<'a>(
    found: &mut Found,
    name: &str,
    arms: impl Iterator<Item = (&'a ArmAnalysis, &'a ArmAnalysis)>,
    regime: Option<String>,
) {
    let mut warned: BTreeMap<WarningCode, Vec<&str>> = BTreeMap::new();
    for (arm, _) in arms {
        let warnings = arm.metrics.values().flat_map(|of| &of.validity.reasons);
        for warning in warnings.filter(|of| of.code.soundness() != Soundness::Valid) {
            let arms = warned.entry(warning.code).or_default();
            if arms.last() != Some(&arm.id.as_str()) {
                arms.push(arm.id.as_str());
            }
        }
    }
    if warned.is_empty() {
        return;
    }
    let listed_codes: Vec<String> = warned
        .iter()
        .map(|(code, arms)| format!("{} ({})", code.as_str(), listed(arms)))
        .collect();
    let text = format!(
        "In run {name} some figures are suspect, {}: see its report.",
        listed_codes.join(", ")
    );
    found.push(ComparisonWarningCode::SuspectMetric, regime, text);
}

/// Arms whose deferred cost is known in only one run.
fn of_deferred(found: &mut Found, pair: Pair<'_>) {
    let (a, b) = pair;
    for (name, [run, other]) in [("A", [a, b]), ("B", [b, a])] {
        let unknown = shared_arms(run, other)
            .filter(|(arm, in_other)| !deferred::is_held(arm) && is_apart(arm, in_other))
            .map(|(arm, _)| arm.id.as_str());
        let unknown: Vec<&str> = unknown.collect();
        if !unknown.is_empty() {
            let text = format!(
                "In run {name} alone the deferred cost of arms is unknown ({}): its CPU figures \
                 cover the windows alone, so there is no verdict on them. Measure both runs with \
                 the same `design.idle`.",
                listed(&unknown)
            );
            found.push(ComparisonWarningCode::DeferredInOne, regime(pair), text);
        }
    }
}

fn is_apart(a: &ArmAnalysis, b: &ArmAnalysis) -> bool {
    let mut held_by = deferred::HELD_BY.into_iter();
    held_by.any(|metric| is_in_both(metric, a, b) && deferred::is_in_one(metric, [a, b]))
}
