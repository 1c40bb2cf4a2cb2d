//! The answer in words, made by rules from the data: what it costs, whether the measurement may
//! be believed, and what was lost.

mod costs;
mod losses;
mod trust;

use costs::costs;
use losses::losses;
use serde::Serialize;
use trust::{reasons, trust};
use windage_analysis::{Analysis, ArmAnalysis};
use windage_model::{Direction, Interval, Metric, Soundness};

use crate::agent_answer;
use crate::facts::one_line;
pub use costs::{CostsMost, costs_most};
pub(crate) use costs::{alone, told};
pub(crate) use trust::control;

/// A piece of a sentence. Names are apart because each renderer sets them off in its own way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Piece {
    Text(String),
    Arm(String),
}

/// The answer in plain words, a few sentences: what each treatment costs and how sure that is, what
/// agents use beside it and what bystanders pay, how the control and the validity stand, what
/// telemetry was lost.
///
/// Names of arms stand between backticks.
#[must_use]
pub fn summary(analysis: &Analysis) -> String {
    sentences(analysis)
        .iter()
        .map(|sentence| plain(sentence))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The same, for renderers that set names off in their own way.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Vec<Piece>> {
    if analysis.validity.soundness() == Soundness::Void {
        let reasons = reasons(analysis, Soundness::Void, &[]);
        let sentence = format!("This run is void and its figures are not to be used: {reasons}");
        return vec![ended(vec![text(sentence)])];
    }
    let metric = analysis.primary;
    let mut sentences = vec![ended(costs(analysis, metric))];
    sentences.extend(agent_answer::sentences(analysis).into_iter().map(ended));
    sentences.push(ended(trust(analysis, metric)));
    sentences.extend(losses(analysis).into_iter().map(ended));
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

pub(crate) fn plain(sentence: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Arm(name) => format!("`{name}`"),
    };
    sentence.iter().map(piece).collect()
}

pub(crate) fn text(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

pub(crate) fn arm(arm: &ArmAnalysis) -> Piece {
    Piece::Arm(one_line(&arm.name))
}

/// The sentence with its full stop; nothing stays nothing.
pub(crate) fn ended(mut sentence: Vec<Piece>) -> Vec<Piece> {
    match sentence.last() {
        None => {}
        Some(Piece::Text(last)) if last.ends_with(['.', '!', '?']) => {}
        Some(_) => sentence.push(text(".")),
    }
    sentence
}

pub(crate) fn joined(clauses: Vec<Vec<Piece>>, between: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for clause in clauses {
        if !pieces.is_empty() {
            pieces.push(text(between));
        }
        pieces.extend(clause);
    }
    pieces
}

/// A difference as a cost: positive where the arm is worse.
pub(crate) fn as_cost(difference: &Interval, metric: Metric) -> Interval {
    match metric.direction() {
        Direction::Lower => *difference,
        Direction::Higher => reversed(difference),
    }
}

/// The interval of what is the other way round.
pub(crate) fn reversed(interval: &Interval) -> Interval {
    Interval {
        estimate: -interval.estimate,
        low: -interval.high,
        high: -interval.low,
        ..*interval
    }
}

pub(crate) fn without_stop(text: &str) -> String {
    one_line(text).trim_end_matches('.').to_owned()
}
