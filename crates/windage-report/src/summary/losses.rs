//! Lost telemetry, in words.

use windage_analysis::{Analysis, ArmAnalysis};

use crate::number;
use crate::pieces::{Piece, arm, joined, text};

/// Telemetry lost beyond what sampling explains, in measured windows and elsewhere.
pub(super) fn losses(analysis: &Analysis) -> Vec<Vec<Piece>> {
    let lossy = |one: &&ArmAnalysis, is_measured: bool| {
        let of = one.fidelity.as_ref();
        of.is_some_and(|of| {
            of.beyond_sampling == Some(true) && of.measured_loss().is_some() == is_measured
        })
    };
    let sentence = |is_measured, end: &str| {
        let arms = analysis.arms.iter().filter(|one| lossy(one, is_measured));
        let clauses: Vec<_> = arms.filter_map(loss).collect();
        (!clauses.is_empty()).then(|| {
            let mut sentence = joined(clauses, ", ");
            sentence.push(text(end));
            sentence
        })
    };
    let measured = sentence(
        true,
        ", more than sampling explains; the cost is that of the delivered telemetry",
    );
    let elsewhere = sentence(
        false,
        ", more than sampling explains, but nothing in measured windows: the cost is that of the \
         delivered telemetry",
    );
    measured.into_iter().chain(elsewhere).collect()
}

fn loss(one: &ArmAnalysis) -> Option<Vec<Piece>> {
    let fidelity = one.fidelity.as_ref()?;
    let (lost, expected) = (fidelity.lost?, fidelity.expected?);
    (lost > 0.0 && expected > 0.0).then(|| {
        let share = number::percent_short(lost / expected);
        let what = fidelity.of.as_str();
        vec![arm(one), text(format!(" lost {share} of its {what}"))]
    })
}
