//! The page: what it shows, as one document, and the frame that carries the document, the script
//! and the style.

mod bill;
mod curves;
mod document;
mod figures;
mod flames;
mod forest;
mod latency;
mod scatter;
mod series;
mod shell;
mod telemetry;
mod validity;

use document::PageDocument;
use windage_analysis::Detailed;

pub(crate) use figures::BandWire;
pub use flames::{FlameGraph, flame_graphs};
pub use shell::{DASHBOARD_POLICY, SCRIPT, STYLE, dashboard_html};
pub(crate) use shell::{Embedded, Kind, embed};

use crate::facts::one_line;
use crate::terminal::{TerminalOptions, terminal};

/// What a page is made of.
#[derive(Clone, Copy, Debug)]
pub struct PageSource<'a> {
    /// The run's analysis, with what pictures need.
    pub detailed: &'a Detailed,
    /// The name of the run directory, without the path to it.
    pub directory: &'a str,
}

/// What the page shows of a run, as one line of JSON (docs/FORMAT.md has its fields).
#[must_use]
pub fn page_json(source: PageSource<'_>) -> String {
    serde_json::to_string(&PageDocument::of(source))
        .expect("plain structs with text keys always convert")
}

/// The report as one self-contained page: the document, the script that shows it and the style.
///
/// Nothing is loaded from elsewhere; the page's own policy (CSP) forbids it, and any script but this
/// one. Where no script runs it has the report as text.
#[must_use]
pub fn page_html(source: PageSource<'_>) -> String {
    let analysis = &source.detailed.analysis;
    embed(&Embedded {
        kind: Kind::Run,
        title: &one_line(&analysis.plan),
        json: &page_json(source),
        without_script: &terminal(
            analysis,
            TerminalOptions {
                all: true,
                ..TerminalOptions::default()
            },
        ),
    })
}
