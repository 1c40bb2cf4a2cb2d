//! Facts, sentences, tables and doubts in the document.

use serde::Serialize;
use windage_analysis::Analysis;

use crate::doubts::{self, DoubtRow};
use crate::facts::Fact;
use crate::rows::{Align, Cell, Column, Note, Row, Table, Tone};
use crate::summary::Piece;

/// All of them as they are in the document.
pub(crate) fn each<T, Wire: From<T>>(all: Vec<T>) -> Vec<Wire> {
    all.into_iter().map(Wire::from).collect()
}

#[derive(Serialize)]
pub(crate) struct FactWire {
    label: String,
    text: String,
}

impl From<Fact> for FactWire {
    fn from(fact: Fact) -> Self {
        FactWire {
            label: fact.label,
            text: fact.text,
        }
    }
}

/// Words, or the name of an arm.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PieceWire {
    Text(String),
    Arm(String),
}

impl From<Piece> for PieceWire {
    fn from(piece: Piece) -> Self {
        match piece {
            Piece::Text(text) => PieceWire::Text(text),
            Piece::Arm(name) => PieceWire::Arm(name),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct TableWire {
    title: String,
    columns: Vec<ColumnWire>,
    rows: Vec<RowWire>,
    notes: Vec<NoteWire>,
    facts: Vec<FactWire>,
    detail: bool,
}

impl From<Table> for TableWire {
    fn from(table: Table) -> Self {
        TableWire {
            title: table.title,
            columns: each(table.columns),
            rows: each(table.rows),
            notes: each(table.notes),
            facts: each(table.facts),
            detail: table.detail,
        }
    }
}

#[derive(Serialize)]
struct ColumnWire {
    heading: String,
    about: &'static str,
    align: &'static str,
}

impl From<Column> for ColumnWire {
    fn from(column: Column) -> Self {
        ColumnWire {
            heading: column.heading,
            about: column.about,
            align: match column.align {
                Align::Left => "left",
                Align::Right => "right",
            },
        }
    }
}

#[derive(Serialize)]
struct RowWire {
    arm: String,
    cells: Vec<CellWire>,
}

impl From<Row> for RowWire {
    fn from(row: Row) -> Self {
        RowWire {
            arm: row.arm,
            cells: each(row.cells),
        }
    }
}

#[derive(Serialize)]
struct CellWire {
    text: String,
    tone: &'static str,
    basis: Option<String>,
    value: Option<f64>,
}

impl From<Cell> for CellWire {
    fn from(cell: Cell) -> Self {
        CellWire {
            text: cell.text,
            tone: match cell.tone {
                Tone::Plain => "plain",
                Tone::Faint => "faint",
                Tone::Alarm => "alarm",
                Tone::Judged(verdict) => verdict.as_str(),
            },
            basis: cell.basis,
            value: cell.value.filter(|value| value.is_finite()),
        }
    }
}

#[derive(Serialize)]
struct NoteWire {
    mark: String,
    text: String,
}

impl From<Note> for NoteWire {
    fn from(note: Note) -> Self {
        NoteWire {
            mark: note.mark,
            text: note.text,
        }
    }
}

#[derive(Serialize)]
pub(super) struct ValidityWire {
    verdict: &'static str,
    heading: &'static str,
    doubts: Vec<DoubtWire>,
}

impl ValidityWire {
    pub(super) fn of(load: &Analysis) -> ValidityWire {
        let soundness = load.validity.soundness();
        let doubts = doubts::doubts(load);
        ValidityWire {
            verdict: soundness.as_str(),
            heading: doubts::heading(soundness, !doubts.is_empty()),
            doubts: each(doubts),
        }
    }
}

#[derive(Serialize)]
struct DoubtWire {
    code: &'static str,
    verdict: &'static str,
    text: String,
    evidence: Vec<(String, String)>,
    about: Option<String>,
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
