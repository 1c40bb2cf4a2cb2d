//! `windage report RUN…`: everything recomputed from run directories.

use std::io::Write;
use std::path::{Path, PathBuf};

use windage_analysis::{Analysis, of_run_directory, wire};
use windage_record::{RecordError, RunDir};
use windage_report::{GuideError, GuideOptions, ReportError, TerminalOptions};

use crate::cli::{ReportFlags, ReportFormat};
use crate::exit::Exit;
use crate::message;
use crate::run_name::find;

/// Columns of a report; wider terminals get no wider tables.
pub(crate) const WIDTH: usize = 80;
/// Columns of a guide and of a summary over runs, whose tables are as wide as published ones.
const WIDE: usize = 100;
/// The overhead that a guide is about unless a flag says another, as a share.
const BUDGET: f64 = 0.05;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreportable {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Guide(#[from] GuideError),
    #[error(transparent)]
    Render(#[from] ReportError),
    #[error("--format html is one page for one run; name one of the {0}, or ask for markdown")]
    SeveralPages(usize),
    #[error("--budget goes with --format guide alone")]
    BudgetUnused,
    #[error("can't write {}: {cause}", path.display())]
    Write {
        path: PathBuf,
        cause: std::io::Error,
    },
}

impl Unreportable {
    fn exit(&self) -> Exit {
        match self {
            Unreportable::Record(_)
            | Unreportable::Guide(_)
            | Unreportable::SeveralPages(_)
            | Unreportable::BudgetUnused => Exit::Usage,
            Unreportable::Render(_) | Unreportable::Write { .. } => Exit::CouldNotMeasure,
        }
    }
}

/// Reads the runs and prints their report.
pub(crate) fn report(flags: &ReportFlags) -> Exit {
    let text = match text(flags) {
        Ok(text) => text,
        Err(error) => return refused(&error),
    };
    let Some(path) = &flags.output else {
        return print(&text);
    };
    match std::fs::write(path, text) {
        Ok(()) => Exit::Success,
        Err(cause) => refused(&Unreportable::Write {
            path: path.clone(),
            cause,
        }),
    }
}

fn refused(error: &Unreportable) -> Exit {
    message::error(error);
    error.exit()
}

fn text(flags: &ReportFlags) -> Result<String, Unreportable> {
    let format = if flags.json {
        ReportFormat::Json
    } else {
        flags.format
    };
    if flags.budget.is_some() && format != ReportFormat::Guide {
        return Err(Unreportable::BudgetUnused);
    }
    let runs = flags.runs.iter();
    let mut analyses: Vec<Analysis> = runs.map(|run| read(run)).collect::<Result<_, _>>()?;
    if let Some(within) = flags.within {
        let analyses = analyses.iter_mut();
        analyses.for_each(|analysis| analysis.plan_within(within.as_secs_f64()));
    }
    let color = flags.output.is_none() && message::colors_on_stdout();
    written(&analyses, format, color, flags.budget.unwrap_or(BUDGET))
}

fn read(run: &Path) -> Result<Analysis, RecordError> {
    of_run_directory(&RunDir::open(find(run))?)
}

fn written(
    analyses: &[Analysis],
    format: ReportFormat,
    color: bool,
    budget: f64,
) -> Result<String, Unreportable> {
    let terminal = TerminalOptions { width: WIDE, color };
    Ok(match (format, analyses) {
        (ReportFormat::Terminal, all) => on_terminal(all, color),
        (ReportFormat::Markdown, all) => {
            let reports = all.iter().map(windage_report::markdown).collect();
            with_summary(reports, || windage_report::summary_of_runs_markdown(all))
        }
        (ReportFormat::Csv, all) => windage_report::csv(all)?,
        (ReportFormat::Curves, all) => windage_report::curves_csv(all)?,
        (ReportFormat::Stages, all) => windage_report::stages_csv(all)?,
        (ReportFormat::Html, [one]) => windage_report::html(one),
        (ReportFormat::Html, several) => return Err(Unreportable::SeveralPages(several.len())),
        (ReportFormat::Json, [one]) => format!("{:#}\n", wire::to_json(one)),
        (ReportFormat::Json, several) => format!("{:#}\n", wire::several_to_json(several)),
        (ReportFormat::Guide, all) => {
            windage_report::guide(all, GuideOptions { terminal, budget })?
        }
        (ReportFormat::Summary, all) => windage_report::summary_of_runs(all, terminal),
    })
}

/// The reports of runs for a terminal, of several with a summary over them at the end.
pub(crate) fn on_terminal(analyses: &[Analysis], color: bool) -> String {
    let options = |width| TerminalOptions { width, color };
    let report = |one: &Analysis| windage_report::terminal(one, options(WIDTH));
    with_summary(analyses.iter().map(report).collect(), || {
        windage_report::summary_of_runs(analyses, options(WIDE))
    })
}

fn with_summary(mut reports: Vec<String>, summary: impl Fn() -> String) -> String {
    if reports.len() > 1 {
        reports.push(summary());
    }
    reports.join("\n")
}

/// Writes to standard output. A reader that has gone, such as `head`, is no failure.
pub(crate) fn print(text: &str) -> Exit {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            message::error(format_args!("can't write to standard output: {error}"));
            Exit::CouldNotMeasure
        }
        _ => Exit::Success,
    }
}
