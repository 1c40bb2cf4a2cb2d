//! The warnings of one load, for the page document.

use serde::Serialize;
use windage_analysis::Analysis;

use crate::rows::capitalised;
use crate::warnings::{self, WarningRow};

#[derive(Serialize)]
pub(super) struct ValidityWire {
    verdict: &'static str,
    /// What the verdict means, shown behind it.
    meaning: String,
    warnings: Vec<WarningWire>,
}

#[derive(Serialize)]
struct WarningWire {
    code: &'static str,
    verdict: &'static str,
    text: String,
    evidence: Vec<(String, String)>,
    about: Option<String>,
}

impl ValidityWire {
    pub(super) fn of(load: &Analysis) -> ValidityWire {
        let soundness = load.validity.soundness();
        let warnings = warnings::warnings(load);
        let heading = warnings::heading(soundness, !warnings.is_empty());
        let meaning = heading.trim_start_matches(soundness.as_str());
        let meaning = capitalised(meaning.trim_start_matches([':', ',', ' ']));
        let end = if meaning.ends_with(':') { "" } else { "." };
        ValidityWire {
            verdict: soundness.as_str(),
            meaning: meaning + end,
            warnings: warnings.into_iter().map(WarningWire::from).collect(),
        }
    }
}

impl From<WarningRow> for WarningWire {
    fn from(row: WarningRow) -> Self {
        WarningWire {
            code: row.code.as_str(),
            verdict: row.soundness.as_str(),
            text: row.text,
            evidence: row.evidence,
            about: row.about,
        }
    }
}
