//! The page: its document, and the frame with document, script and style.

mod bill;
mod curves;
mod document;
mod figures;
mod flames;
mod forest;
mod latency;
mod scatter;
mod series;
mod services;
mod shell;
mod telemetry;
mod validity;

use document::PageDocument;

pub use document::PageSource;
pub(crate) use figures::BandWire;
pub use flames::{FlameGraph, flame_graphs};
pub use shell::{DASHBOARD_POLICY, SCRIPT, STYLE, Sent, dashboard_html};
pub(crate) use shell::{Embedded, Kind, embed};

use crate::fact::one_line;
use crate::terminal::{TerminalOptions, terminal};

/// The page document of a run, as one line of JSON (fields: docs/FORMAT.md).
#[must_use]
pub fn page_json(source: PageSource<'_>) -> String {
    serde_json::to_string(&PageDocument::of(source))
        .expect("plain structs with text keys always convert")
}

/// The report as one self-contained page: the document, the script that shows it and the style.
///
/// It loads nothing; its own CSP forbids that and all scripts but this one. Without scripts it
/// shows the report as text.
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
