//! `windage compare A B`: did the overhead change between two runs of one plan?

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use windage_analysis::{Comparable, Compared, ComparedRun, Comparison, wire};
use windage_model::{Metric, Soundness};
use windage_record::{RecordError, RunDir};
use windage_report::TerminalOptions;

use super::report::{Unreportable, WIDTH, refused, tell};
use crate::exit::Exit;
use crate::flag_values::metric;
use crate::message;
use crate::run_name::find;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage compare 20260101-120000-app 20260108-120000-app\n  windage \
    compare windage-runs/before windage-runs/after --metric cpu_per_request --format markdown\n  \
    windage compare before after --format html -o comparison.html"
)]
pub(crate) struct CompareFlags {
    /// The reference run: its directory, or just its name.
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,
    /// The later run.
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,
    /// Only this metric, such as cpu_per_request; may be given several times. The first one leads.
    #[arg(long = "metric", value_name = "NAME", value_parser = metric)]
    pub(crate) metrics: Vec<Metric>,
    /// The format of the comparison.
    #[arg(long, value_name = "FORM", default_value = "terminal")]
    pub(crate) format: CompareFormat,
    /// The same as `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write to a file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// Text for a terminal of 80 columns.
    Terminal,
    /// Markdown tables for a pull request or a ticket.
    Markdown,
    /// One self-contained HTML page.
    Html,
    /// The data of that page, as JSON.
    Page,
    /// The comparison as JSON, for other programs.
    Json,
    /// CSV, one line per arm and metric.
    Csv,
}

/// Reads both runs and prints how their overheads differ.
pub(crate) fn compare(flags: &CompareFlags) -> Exit {
    let result = read(flags).and_then(|compared| {
        let text = written(flags, &compared)?;
        Ok((compared, text))
    });
    let (compared, text) = match result {
        Ok(done) => done,
        Err(error) => return refused(&error),
    };
    tell(flags.output.as_deref(), &text).max(exit(&compared.comparison))
}

fn exit(found: &Comparison) -> Exit {
    let is_void = |run: &ComparedRun| run.validity == Soundness::Void;
    match found.comparable() {
        _ if is_void(&found.a) || is_void(&found.b) => Exit::Void,
        Comparable::No => Exit::Inconclusive,
        Comparable::Yes | Comparable::WithCare => Exit::Success,
    }
}

fn read(flags: &CompareFlags) -> Result<Compared, Unreportable> {
    let open = |run: &Path| -> Result<RunDir, RecordError> { RunDir::open(find(run)) };
    let (a, b) = (open(&flags.a)?, open(&flags.b)?);
    let mut compared = Compared::of_run_directories(&a, &b)?;
    if !flags.metrics.is_empty() {
        let kept = compared.comparison.only(&flags.metrics);
        kept.map_err(|metric| Unreportable::NotMeasured(metric.as_str()))?;
    }
    Ok(compared)
}

fn written(flags: &CompareFlags, compared: &Compared) -> Result<String, Unreportable> {
    let format = if flags.json {
        CompareFormat::Json
    } else {
        flags.format
    };
    let color = flags.output.is_none() && message::colors_on_stdout();
    let terminal = TerminalOptions {
        width: WIDTH,
        color,
        all: true,
    };
    Ok(match format {
        CompareFormat::Terminal => windage_report::comparison_terminal(compared, terminal),
        CompareFormat::Markdown => windage_report::comparison_markdown(compared),
        CompareFormat::Html => windage_report::comparison_html(compared),
        CompareFormat::Page => windage_report::comparison_page_json(compared) + "\n",
        CompareFormat::Json => format!(
            "{:#}\n",
            wire::comparison_to_json(compared, &windage_report::Words)
        ),
        CompareFormat::Csv => windage_report::comparison_csv(compared)?,
    })
}
