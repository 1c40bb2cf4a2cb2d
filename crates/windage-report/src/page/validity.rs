//! What speaks against one load, in the document.

use serde::Serialize;
use windage_analysis::Analysis;

use crate::doubts::{self, DoubtRow};
use crate::rows::capitalised;

#[derive(Serialize)]
pub(super) struct ValidityWire {
    verdict: &'static str,
    /// What the verdict means, to stand behind it.
    meaning: String,
    doubts: Vec<DoubtWire>,
}

#[derive(Serialize)]
struct DoubtWire {
    code: &'static str,
    verdict: &'static str,
    text: String,
    evidence: Vec<(String, String)>,
    about: Option<String>,
}

impl ValidityWire {
    pub(super) fn of(load: &Analysis) -> ValidityWire {
        let soundness = load.validity.soundness();
        let doubts = doubts::doubts(load);
        let heading = doubts::heading(soundness, !doubts.is_empty());
        let meaning = heading.trim_start_matches(soundness.as_str());
        let meaning = capitalised(meaning.trim_start_matches([':', ' ']));
        let end = if meaning.ends_with(':') { "" } else { "." };
        ValidityWire {
            verdict: soundness.as_str(),
            meaning: meaning + end,
            doubts: doubts.into_iter().map(DoubtWire::from).collect(),
        }
    }
}

impl From<DoubtRow> for DoubtWire {
    fn from(row: DoubtRow) -> Self {
        DoubtWire {
            code: row.code.as_str(),
            verdict: row.soundness().as_str(),
            text: row.text,
            evidence: row.evidence,
            about: row.about,
        }
    }
}
