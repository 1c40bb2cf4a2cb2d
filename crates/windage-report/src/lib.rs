//! Renderers: terminal, Markdown, CSV, HTML.
//!
//! They take a [`windage_analysis::Analysis`] and return text: no clock, no file, no socket. What
//! there is to show is decided once, in `rows`, `facts`, `doubts` and `summary`; the renderers
//! only dress it. JSON is the analysis' own wire type ([`windage_analysis::wire`]).

mod calibration;
mod csv;
mod doubts;
mod duration;
mod facts;
mod firmness;
mod guide;
mod html;
mod markdown;
mod number;
mod rows;
mod said;
mod summary;
mod terminal;

pub use crate::csv::{csv, curves_csv, stages_csv};
pub use crate::guide::{
    GuideError, GuideOptions, guide, summary_of_runs, summary_of_runs_markdown,
};
pub use crate::html::{FlameGraph, flame_graphs, html};
pub use crate::markdown::markdown;
pub use crate::summary::summary;
pub use crate::terminal::{TerminalOptions, terminal};

/// The forms in which an analysis can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Aligned text for a terminal.
    Terminal,
    /// GitHub's Markdown.
    Markdown,
    /// One row for each arm and metric.
    Csv,
    /// One self-contained page.
    Html,
    /// The contract with other programs.
    Json,
    /// A sweep's table and what it shows, as published speed guides have it.
    Guide,
    /// Several runs side by side.
    Summary,
    /// One row for each point of a curve, as CSV.
    Curves,
    /// One row for each stage of a chain of arms, as CSV.
    Stages,
}

impl Format {
    /// Every format.
    pub const ALL: &'static [Format] = &[
        Format::Terminal,
        Format::Markdown,
        Format::Csv,
        Format::Html,
        Format::Json,
        Format::Guide,
        Format::Summary,
        Format::Curves,
        Format::Stages,
    ];

    /// The word used in flags.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Terminal => "terminal",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::Html => "html",
            Format::Json => "json",
            Format::Guide => "guide",
            Format::Summary => "summary",
            Format::Curves => "curves",
            Format::Stages => "stages",
        }
    }

    /// The format of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL
            .iter()
            .copied()
            .find(|format| format.as_str() == name)
    }

    /// Every name, for flags and their errors.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Format::ALL.iter().map(|format| format.as_str()).collect()
    }
}

/// Why a report could not be rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The CSV writer refused a row.
    #[error(
        "csv: a row could not be written; the analysis is unharmed, ask for --format json instead"
    )]
    Csv(#[from] ::csv::Error),
    /// What the CSV writer returned is not UTF-8.
    #[error("csv: the table is not UTF-8; the analysis is unharmed, ask for --format json instead")]
    NotUtf8(#[from] std::string::FromUtf8Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_format() {
        for (&format, name) in Format::ALL.iter().zip(Format::names()) {
            assert_eq!(Format::from_name(name), Some(format));
        }
        for unknown in ["", "HTML", "xml"] {
            assert_eq!(Format::from_name(unknown), None, "{unknown}");
        }
    }
}
