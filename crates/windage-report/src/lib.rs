//! Renderers: terminal, Markdown, CSV, HTML, pictures.
//!
//! They take a [`windage_analysis::Analysis`] and return text: no clock, no file, no socket.
//! `rows`, `facts`, `warnings` and `summary` decide what is shown; renderers only format it. JSON
//! is the analysis' own wire type ([`windage_analysis::wire`]).

#![forbid(unsafe_code)]

mod agent_answer;
mod calibration;
mod ci;
mod comparison;
mod csv;
mod duration;
mod fact;
mod facts;
mod guide;
mod history;
mod limit;
mod markdown;
pub mod number;
mod page;
mod picture;
mod pieces;
mod placement;
mod precision;
mod rows;
mod self_reported;
mod sentences;
mod summary;
mod terminal;
mod turns;
mod warnings;

pub use crate::ci::{annotations, bencher, benchmark_action, comment, junit};
pub use crate::comparison::{
    comparison_csv, comparison_html, comparison_markdown, comparison_page_json, comparison_terminal,
};
pub use crate::csv::{ReportError, bill_csv, bpf_csv, csv, curves_csv, stages_csv};
pub use crate::fact::one_line;
pub use crate::guide::{
    GuideError, GuideOptions, guide, summary_of_runs, summary_of_runs_markdown,
};
pub use crate::history::{history_amount, history_change, history_label, history_scale};
pub use crate::markdown::markdown;
pub use crate::page::{
    DASHBOARD_POLICY, FlameGraph, PageSource, SCRIPT, STYLE, Sent, dashboard_html, flame_graphs,
    page_html, page_json,
};
pub use crate::picture::{PictureError, PictureKind, PictureOptions, Theme, png, svg};
pub use crate::sentences::{Words, warning};
pub use crate::summary::{CostsMost, costs_most, summary};
pub use crate::terminal::{TerminalOptions, terminal, wrap};
pub use crate::warnings::evidence;
