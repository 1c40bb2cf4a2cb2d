//! `windage report RUN…`: recomputes everything from run directories.

use std::io::Write;
use std::path::{Path, PathBuf};

use windage_analysis::{Analysis, detailed, of_run_directory, wire};
use windage_export::Table;
use windage_record::{RecordError, RunDir};
use windage_report::{
    GuideError, GuideOptions, PageSource, ReportError, TerminalOptions, page_json,
};

use crate::exit::Exit;
use crate::flags::{ReportFlags, ReportFormat};
use crate::message;
use crate::run_name::find;
use crate::verbs::export::{Unexportable, export};
use crate::verbs::picture::{PictureForm, Undrawable};
use crate::verbs::publish::push_all;

/// Width of a report in columns; wider terminals get no wider tables.
pub(crate) const WIDTH: usize = 80;
/// Width of guides and summaries, whose tables are wider.
const WIDE: usize = 100;
/// The overhead that a guide accepts by default, as a share.
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
    #[error(transparent)]
    Picture(#[from] Undrawable),
    #[error("--format {format} shows one run; name one of the {runs}, or use --format markdown")]
    SeveralPages { format: &'static str, runs: usize },
    #[error("--metric {0}: neither run has it for any arm but the baseline; leave out --metric")]
    NotMeasured(&'static str),
    #[error("--budget needs --format guide")]
    BudgetUnused,
    #[error("run {0} has no budget to report; add a [[budget]] to its plan and measure again")]
    NoBudget(String),
    #[error(transparent)]
    Raw(#[from] Unexportable),
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
            | Unreportable::Picture(_)
            | Unreportable::SeveralPages { .. }
            | Unreportable::NotMeasured(_)
            | Unreportable::NoBudget(_)
            | Unreportable::BudgetUnused => Exit::Usage,
            Unreportable::Raw(raw) => raw.exit(),
            Unreportable::Render(_) | Unreportable::Write { .. } => Exit::CouldNotMeasure,
        }
    }
}

/// Reads the runs, prints their report, and pushes their results if that was requested.
pub(crate) fn report(flags: &ReportFlags) -> Exit {
    if let Some(table) = flags.format.table() {
        return match raw(flags, table) {
            Ok(()) => Exit::Success,
            Err(error) => refused(&error),
        };
    }
    let (analyses, written) = match read_and_written(flags) {
        Ok(done) => done,
        Err(error) => return refused(&error),
    };
    let exit = tell(flags.output.as_deref(), &written);
    match &flags.otlp {
        Some(endpoint) => exit.max(push_all(analyses.iter(), endpoint)),
        None => exit,
    }
}

pub(crate) fn tell(output: Option<&Path>, written: impl AsRef<[u8]>) -> Exit {
    let Some(path) = output else {
        return print(written);
    };
    match std::fs::write(path, written) {
        Ok(()) => Exit::Success,
        Err(cause) => refused(&Unreportable::Write {
            path: path.to_owned(),
            cause,
        }),
    }
}

pub(crate) fn refused(error: &Unreportable) -> Exit {
    message::error(error);
    error.exit()
}

/// Writes a table of raw records while the runs are read; nothing is analysed.
fn raw(flags: &ReportFlags, table: Table) -> Result<(), Unreportable> {
    if flags.budget.is_some() {
        return Err(Unreportable::BudgetUnused);
    }
    flags.picture.refuse()?;
    Ok(export(flags, table)?)
}

fn read_and_written(flags: &ReportFlags) -> Result<(Vec<Analysis>, Vec<u8>), Unreportable> {
    let format = if flags.json {
        ReportFormat::Json
    } else {
        flags.format
    };
    if flags.budget.is_some() && format != ReportFormat::Guide {
        return Err(Unreportable::BudgetUnused);
    }
    if flags.parquet {
        return Err(Unexportable::ParquetUnused.into());
    }
    if !matches!(format, ReportFormat::Svg | ReportFormat::Png) {
        flags.picture.refuse()?;
    }
    let color = flags.output.is_none() && message::colors_on_stdout();
    let terminal = TerminalOptions {
        width: WIDE,
        color,
        all: true,
    };
    let budget = flags.budget.unwrap_or(BUDGET);
    match format {
        ReportFormat::Terminal => of_all(flags, |all| Ok(on_terminal(all, color, flags.all))),
        ReportFormat::Markdown => of_all(flags, |all| {
            let reports = all.iter().map(windage_report::markdown).collect();
            Ok(with_summary(reports, || {
                windage_report::summary_of_runs_markdown(all)
            }))
        }),
        ReportFormat::Csv => of_all(flags, |all| Ok(windage_report::csv(all)?)),
        ReportFormat::Curves => of_all(flags, |all| Ok(windage_report::curves_csv(all)?)),
        ReportFormat::Stages => of_all(flags, |all| Ok(windage_report::stages_csv(all)?)),
        ReportFormat::Bill => of_all(flags, |all| Ok(windage_report::bill_csv(all)?)),
        ReportFormat::Bpf => of_all(flags, |all| Ok(windage_report::bpf_csv(all)?)),
        ReportFormat::Junit => of_budgets(flags, |all| Ok(windage_report::junit(all)?)),
        ReportFormat::Annotations => of_budgets(flags, |all| Ok(windage_report::annotations(all))),
        ReportFormat::Comment => of_budgets(flags, |all| Ok(windage_report::comment(all))),
        ReportFormat::Bencher => of_all(flags, |all| Ok(windage_report::bencher(all))),
        ReportFormat::BenchmarkAction => {
            of_all(flags, |all| Ok(windage_report::benchmark_action(all)))
        }
        ReportFormat::Html => page(flags, "html", windage_report::page_html),
        ReportFormat::Page => page(flags, "page", |source| page_json(source) + "\n"),
        ReportFormat::Svg => picture(flags, "svg", PictureForm::Svg),
        ReportFormat::Png => picture(flags, "png", PictureForm::Png),
        ReportFormat::Json => of_all(flags, |all| Ok(format!("{:#}\n", json(all)))),
        ReportFormat::Guide => of_all(flags, |all| {
            let options = GuideOptions { terminal, budget };
            Ok(windage_report::guide(all, options)?)
        }),
        ReportFormat::Windows | ReportFormat::Blocks | ReportFormat::Launches => {
            unreachable!("`report` writes tables of raw records")
        }
        ReportFormat::Summary => of_all(flags, |all| {
            Ok(windage_report::summary_of_runs(all, terminal))
        }),
    }
}

/// The report on all runs together, and their analyses.
fn of_all(
    flags: &ReportFlags,
    written: impl FnOnce(&[Analysis]) -> Result<String, Unreportable>,
) -> Result<(Vec<Analysis>, Vec<u8>), Unreportable> {
    let runs = flags.runs.iter();
    let mut analyses: Vec<Analysis> = runs.map(|run| read(run)).collect::<Result<_, _>>()?;
    for analysis in &mut analyses {
        plan_within(analysis, flags);
    }
    let text = written(&analyses)?;
    Ok((analyses, text.into_bytes()))
}

/// The report on all runs together, if they have a budget: an empty report would look like a pass.
fn of_budgets(
    flags: &ReportFlags,
    written: impl FnOnce(&[Analysis]) -> Result<String, Unreportable>,
) -> Result<(Vec<Analysis>, Vec<u8>), Unreportable> {
    of_all(flags, |all| {
        match all.iter().find(|run| run.worst_budget().is_none()) {
            Some(run) => Err(Unreportable::NoBudget(run.run.clone())),
            None => written(all),
        }
    })
}

fn json(analyses: &[Analysis]) -> serde_json::Value {
    match analyses {
        [one] => wire::to_json(one, &windage_report::Words),
        several => wire::several_to_json(several, &windage_report::Words),
    }
}

/// The page of a single run, in HTML or JSON.
fn page(
    flags: &ReportFlags,
    format: &'static str,
    form: fn(PageSource) -> String,
) -> Result<(Vec<Analysis>, Vec<u8>), Unreportable> {
    let run = RunDir::open(find(only_run(flags, format)?))?;
    let mut detailed = detailed(&run)?;
    plan_within(&mut detailed.analysis, flags);
    let source = PageSource {
        detailed: &detailed,
        directory: &run.name(),
    };
    let page = form(source).into_bytes();
    Ok((vec![detailed.analysis], page))
}

/// The picture of a single run.
fn picture(
    flags: &ReportFlags,
    format: &'static str,
    form: PictureForm,
) -> Result<(Vec<Analysis>, Vec<u8>), Unreportable> {
    form.refuse_terminal(flags.output.is_some())?;
    let analysis = read(only_run(flags, format)?)?;
    let drawn = flags.picture.drawn(&analysis, form)?;
    Ok((vec![analysis], drawn))
}

/// The run, for formats that show just one.
fn only_run<'a>(flags: &'a ReportFlags, format: &'static str) -> Result<&'a Path, Unreportable> {
    match flags.runs.as_slice() {
        [run] => Ok(run),
        several => Err(Unreportable::SeveralPages {
            format,
            runs: several.len(),
        }),
    }
}

fn plan_within(analysis: &mut Analysis, flags: &ReportFlags) {
    if let Some(within) = flags.within {
        analysis.plan_within(within.as_secs_f64());
    }
}

fn read(run: &Path) -> Result<Analysis, RecordError> {
    of_run_directory(&RunDir::open(find(run))?)
}

/// The reports for a terminal; several are followed by a summary.
pub(crate) fn on_terminal(analyses: &[Analysis], color: bool, all: bool) -> String {
    let options = |width| TerminalOptions { width, color, all };
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

/// Writes to standard output. A closed pipe, as by `head`, is no failure.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Exit {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_ref())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            message::error(format_args!("can't write to standard output: {error}"));
            Exit::CouldNotMeasure
        }
        _ => Exit::Success,
    }
}
