//! The page document of a comparison. `web/src/comparison.ts` reads it.

use serde::Serialize;
use windage_analysis::{Comparable, Compared, ComparedLoad, ComparisonWarning, PlanTag, wire};
use windage_model::Soundness;

use super::changes::{ChangesWire, changes};
use super::{
    answer, closing, differs, header, heading, lone_arms, of_load, tables, terminal, title, told,
};
use crate::TerminalOptions;
use crate::fact::{Fact, one_line};
use crate::page::{Embedded, Kind, embed};
use crate::pieces::Piece;
use crate::rows::{Table, capitalised};
use crate::sentences;

/// The version of the document; raised when an older page would misread it.
const PAGE: u32 = 1;

#[derive(Serialize)]
struct ComparisonDocument {
    page: u32,
    comparison: serde_json::Value,
    title: String,
    /// A and B.
    runs: [String; 2],
    /// Comparability as a colour of validity.
    verdict: &'static str,
    heading: String,
    header: Vec<Fact>,
    warnings: Vec<ComparisonWarningWire>,
    loads: Vec<LoadWire>,
    differs: Vec<Table>,
    plan: Vec<PlanLineWire>,
    closing: Vec<Fact>,
}

#[derive(Serialize)]
struct ComparisonWarningWire {
    code: &'static str,
    verdict: &'static str,
    effect: &'static str,
    text: String,
}

#[derive(Serialize)]
struct LoadWire {
    heading: Option<String>,
    verdict: &'static str,
    answer: Vec<Vec<Piece>>,
    changes: Vec<ChangesWire>,
    tables: Vec<Table>,
    legend: Option<String>,
    facts: Vec<Fact>,
}

#[derive(Serialize)]
struct PlanLineWire {
    tag: &'static str,
    text: String,
}

/// The page document of a comparison, as one line of JSON (fields: docs/FORMAT.md).
#[must_use]
pub fn comparison_page_json(compared: &Compared) -> String {
    let of = &compared.comparison;
    let same = differs::same(compared).into_iter();
    let heading = capitalised(heading(of.comparable()).trim_end_matches(':'));
    let lines = compared.plan_diff.iter().flatten();
    let is_changed = lines
        .clone()
        .any(|line| !matches!(line.tag, PlanTag::Equal | PlanTag::Gap));
    let document = ComparisonDocument {
        page: PAGE,
        comparison: wire::comparison_to_json(compared, &sentences::Words),
        title: title(compared),
        runs: [&of.a.run, &of.b.run].map(|run| one_line(run)),
        verdict: verdict(of.comparable()),
        heading: format!("{heading}."),
        header: header(compared),
        warnings: of.warnings.iter().map(ComparisonWarningWire::of).collect(),
        loads: of
            .loads
            .iter()
            .map(|load| load_wire(compared, load))
            .collect(),
        differs: differs::tables(compared),
        plan: lines
            .filter(|_| is_changed)
            .map(|line| PlanLineWire {
                tag: line.tag.as_str(),
                text: differs::plan_line(line),
            })
            .collect(),
        closing: same.chain(closing(compared)).collect(),
    };
    serde_json::to_string(&document).expect("plain structs with text keys always convert")
}

/// The comparison as one self-contained page that loads nothing.
#[must_use]
pub fn comparison_html(compared: &Compared) -> String {
    embed(&Embedded {
        kind: Kind::Comparison,
        title: &title(compared),
        json: &comparison_page_json(compared),
        without_script: &terminal::comparison_terminal(compared, TerminalOptions::default()),
    })
}

fn verdict(comparable: Comparable) -> &'static str {
    let soundness = match comparable {
        Comparable::Yes => Soundness::Valid,
        Comparable::WithCare => Soundness::Suspect,
        Comparable::No => Soundness::Void,
    };
    soundness.as_str()
}

impl ComparisonWarningWire {
    fn of(warning: &ComparisonWarning) -> ComparisonWarningWire {
        let (comparable, effect) = if warning.code.is_grave() {
            (Comparable::No, "verdicts are withheld")
        } else {
            (Comparable::WithCare, "with care")
        };
        ComparisonWarningWire {
            code: warning.code.as_str(),
            verdict: verdict(comparable),
            effect,
            text: told(warning),
        }
    }
}

fn load_wire(compared: &Compared, load: &ComparedLoad) -> LoadWire {
    let tables = tables::tables(load);
    let legend = tables::legend(load, &tables.iter().collect::<Vec<_>>());
    LoadWire {
        heading: of_load(load),
        verdict: verdict(load.comparable),
        answer: answer::sentences(&compared.comparison, load),
        changes: changes(load),
        tables,
        legend,
        facts: lone_arms(load),
    }
}
