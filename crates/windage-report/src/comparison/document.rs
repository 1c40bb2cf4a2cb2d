//! What the page shows of two runs. `web/src/comparison.ts` is its other end.

use serde::Serialize;
use windage_analysis::{Compared, ComparedLoad, wire};

use super::{
    answer, closing, differs, header, heading, lone_arms, of_load, tables, terminal, title,
};
use crate::TerminalOptions;
use crate::page::view::{FactWire, PieceWire, TableWire, each};
use crate::page::{Embedded, Kind, embed};

/// The version of the document; it changes when an older page would misunderstand it.
const PAGE: u32 = 1;

#[derive(Serialize)]
struct ComparisonDocument {
    page: u32,
    comparison: serde_json::Value,
    heading: &'static str,
    header: Vec<FactWire>,
    loads: Vec<LoadWire>,
    differs: Vec<TableWire>,
    closing: Vec<FactWire>,
}

#[derive(Serialize)]
struct LoadWire {
    heading: Option<String>,
    answer: Vec<Vec<PieceWire>>,
    tables: Vec<TableWire>,
    legend: Option<String>,
    facts: Vec<FactWire>,
}

/// What the page shows of two runs, as one line of JSON (docs/FORMAT.md has its fields).
#[must_use]
pub fn comparison_page_json(compared: &Compared) -> String {
    let of = &compared.comparison;
    let same = differs::same(compared).into_iter();
    let document = ComparisonDocument {
        page: PAGE,
        comparison: wire::comparison_to_json(compared),
        heading: heading(of.comparable()),
        header: each(header(compared)),
        loads: of
            .loads
            .iter()
            .map(|load| load_wire(compared, load))
            .collect(),
        differs: each(differs::tables(compared)),
        closing: each(same.chain(closing(compared)).collect()),
    };
    serde_json::to_string(&document).expect("plain structs with text keys always convert")
}

/// The comparison as one self-contained page, which loads nothing from elsewhere.
#[must_use]
pub fn comparison_html(compared: &Compared) -> String {
    embed(&Embedded {
        kind: Kind::Comparison,
        title: &title(compared),
        json: &comparison_page_json(compared),
        without_script: &terminal::comparison_terminal(compared, TerminalOptions::default()),
    })
}

fn load_wire(compared: &Compared, load: &ComparedLoad) -> LoadWire {
    let tables = tables::tables(load);
    let legend = tables::legend(load, &tables.iter().collect::<Vec<_>>());
    let answer = answer::sentences(&compared.comparison, load).into_iter();
    LoadWire {
        heading: of_load(load),
        answer: answer.map(each).collect(),
        tables: each(tables),
        legend,
        facts: each(lone_arms(load)),
    }
}
