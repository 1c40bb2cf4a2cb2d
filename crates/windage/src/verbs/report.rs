//! `windage report RUN`: everything recomputed from the run directory.

use std::io::Write;

use windage_analysis::{Analysis, of_run_directory, wire};
use windage_record::RunDir;
use windage_report::TerminalOptions;

use crate::cli::{ReportFlags, ReportFormat};
use crate::exit::Exit;
use crate::message;
use crate::run_name::find;

/// Columns of a report; wider terminals get no wider tables.
pub(crate) const WIDTH: usize = 80;

/// Reads the run and prints its report.
pub(crate) fn report(flags: &ReportFlags) -> Exit {
    let analysis = match RunDir::open(find(&flags.run)).and_then(|run| of_run_directory(&run)) {
        Ok(analysis) => analysis,
        Err(error) => {
            message::error(error);
            return Exit::Usage;
        }
    };
    let format = if flags.json {
        ReportFormat::Json
    } else {
        flags.format
    };
    let colors = flags.output.is_none() && message::colors_on_stdout();
    let text = match render(&analysis, format, colors) {
        Ok(text) => text,
        Err(error) => {
            message::error(error);
            return Exit::CouldNotMeasure;
        }
    };
    match &flags.output {
        None => print(&text),
        Some(path) => match std::fs::write(path, text) {
            Ok(()) => Exit::Success,
            Err(error) => {
                message::error(format_args!("can't write {}: {error}", path.display()));
                Exit::CouldNotMeasure
            }
        },
    }
}

/// The report in one form.
pub(crate) fn render(
    analysis: &Analysis,
    format: ReportFormat,
    color: bool,
) -> Result<String, windage_report::ReportError> {
    Ok(match format {
        ReportFormat::Terminal => windage_report::terminal(
            analysis,
            TerminalOptions {
                width: WIDTH,
                color,
            },
        ),
        ReportFormat::Markdown => windage_report::markdown(analysis),
        ReportFormat::Csv => windage_report::csv(std::slice::from_ref(analysis))?,
        ReportFormat::Html => windage_report::html(analysis),
        ReportFormat::Json => format!("{:#}\n", wire::to_json(analysis)),
    })
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
