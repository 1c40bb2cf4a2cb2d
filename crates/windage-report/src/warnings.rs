//! A run's warnings, merged so that each is shown once.

use windage_analysis::Analysis;
use windage_model::{Evidence, Reason, Soundness, WarningCode};

use crate::fact::one_line;
use crate::number;
use crate::sentences;

/// A warning as every renderer shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WarningRow {
    pub(crate) code: WarningCode,
    pub(crate) soundness: Soundness,
    /// What was found and what to do.
    pub(crate) text: String,
    /// Name and figure.
    pub(crate) evidence: Vec<(String, String)>,
    /// What it is about; `None` for the entire run.
    pub(crate) about: Option<String>,
}

impl WarningRow {
    /// The evidence in one line; empty without any.
    pub(crate) fn evidence_text(&self) -> String {
        let pairs: Vec<_> = self
            .evidence
            .iter()
            .map(|(k, v)| format!("{k} = {v}"))
            .collect();
        pairs.join(", ")
    }
}

/// The run's own warnings, then those of single metrics, gravest first.
pub(crate) fn warnings(analysis: &Analysis) -> Vec<WarningRow> {
    let mut rows: Vec<WarningRow> = analysis
        .validity
        .reasons
        .iter()
        .map(|warning| row(warning, None))
        .collect();
    for (code, warnings) in of_metrics(analysis) {
        let is_duplicate = |of: &Reason| {
            let own = analysis.validity.reasons.iter();
            let mut of_code = own.filter(|own| own.code() == code);
            of_code.any(|own| sentences::reason(own) == sentences::reason(of))
        };
        let new: Vec<_> = warnings
            .into_iter()
            .filter(|(warning, _)| !is_duplicate(warning))
            .collect();
        if let Some((first, _)) = new.first() {
            let places: Vec<_> = new.iter().map(|(_, place)| place.clone()).collect();
            rows.push(row(first, Some(enumerate(&places))));
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.soundness));
    rows
}

/// The heading of the warnings, or the sentence for a run without any.
pub(crate) fn heading(soundness: Soundness, has_warnings: bool) -> &'static str {
    match (soundness, has_warnings) {
        (Soundness::Valid, false) => "valid: no warnings",
        (Soundness::Valid, true) => "valid, with warnings for:",
        (Soundness::Suspect, _) => "suspect: read the figures with these warnings in mind",
        (Soundness::Void, _) => "void: do not use the figures",
    }
}

type Located<'a> = Vec<(&'a Reason, String)>;

/// Metrics usually share their warnings, so there is one row per code.
fn of_metrics(analysis: &Analysis) -> Vec<(WarningCode, Located<'_>)> {
    let mut by_code: Vec<(WarningCode, Located<'_>)> = Vec::new();
    for arm in &analysis.arms {
        for (metric, result) in &arm.metrics {
            for warning in &result.validity.reasons {
                let place = format!("{} of {}", metric.as_str(), one_line(&arm.name));
                match by_code.iter_mut().find(|(code, _)| *code == warning.code()) {
                    Some((_, located)) => located.push((warning, place)),
                    None => by_code.push((warning.code(), vec![(warning, place)])),
                }
            }
        }
    }
    by_code
}

fn row(of: &Reason, about: Option<String>) -> WarningRow {
    WarningRow {
        code: of.code(),
        soundness: of.soundness(),
        text: one_line(&sentences::reason(of)),
        evidence: evidence(of),
        about,
    }
}

/// A longer text that the sentence has is not shown again.
const SHORT: usize = 20;

/// The evidence of a reason, each with its name, as short as possible.
#[must_use]
pub fn evidence(of: &Reason) -> Vec<(String, String)> {
    let shown = |evidence: &Evidence| match evidence {
        Evidence::Number(n) => number::plain(*n),
        Evidence::Text(t) => one_line(t),
        Evidence::List(list) => one_line(&list.join(", ")),
    };
    let known = of.evidence();
    let known = known.iter().map(|(name, of)| (name.clone(), shown(of)));
    let sentence = one_line(&sentences::reason(of));
    let is_new = |text: &str| text.chars().count() < SHORT || !sentence.contains(text);
    known.filter(|(_, text)| is_new(text)).collect()
}

/// The first few, and how many more.
fn enumerate(places: &[String]) -> String {
    const SHOWN: usize = 2;
    let first = places
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match places.len() {
        n if n > SHOWN => format!("{first} and {} more", n - SHOWN),
        _ => first,
    }
}
