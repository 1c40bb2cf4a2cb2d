//! Sentences in pieces: names are separate because each renderer sets them off in its own way.

use serde::Serialize;
use windage_analysis::ArmAnalysis;
use windage_model::{Direction, Interval, Metric};

use crate::fact::one_line;

/// A piece of a sentence. Names are separate because each renderer marks them in its own way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Piece {
    Text(String),
    Arm(String),
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

/// Adds the full stop; an empty sentence stays empty.
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

/// A difference as a cost: positive if the arm is worse.
pub(crate) fn as_cost(difference: &Interval, metric: Metric) -> Interval {
    match metric.direction() {
        Direction::Lower => *difference,
        Direction::Higher => reversed(difference),
    }
}

/// The interval of the negated figure.
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
