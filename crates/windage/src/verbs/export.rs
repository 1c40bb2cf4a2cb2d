//! `windage report RUN… --format windows|blocks|launches`: raw records as a table.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use windage_export::{Encoding, Export, ExportError, Table};
use windage_record::{RecordError, RunDir};

use crate::exit::Exit;
use crate::flags::ReportFlags;
use crate::run_name::find;

/// The ending of Parquet files.
const PARQUET: &str = "parquet";

/// Why there is no table, or not all of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unexportable {
    #[error(
        "Parquet would print binary data to the terminal; name a file with --output, or redirect standard output"
    )]
    OnTerminal,
    #[error("--parquet needs --format windows, blocks or launches")]
    ParquetUnused,
    #[error(
        "--otlp needs the format of an analysis, such as --format json: raw records have no results to push"
    )]
    NothingToPush,
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("can't write {}: {cause}", path.display())]
    File { path: PathBuf, cause: ExportError },
    #[error("can't write to standard output: {0}")]
    Stdout(ExportError),
}

impl Unexportable {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Unexportable::OnTerminal
            | Unexportable::ParquetUnused
            | Unexportable::NothingToPush
            | Unexportable::Record(_) => Exit::Usage,
            Unexportable::File { .. } | Unexportable::Stdout(_) => Exit::CouldNotMeasure,
        }
    }
}

/// Writes the table of all runs to the file, or to standard output.
pub(crate) fn export(flags: &ReportFlags, table: Table) -> Result<(), Unexportable> {
    if flags.otlp.is_some() {
        return Err(Unexportable::NothingToPush);
    }
    let output = flags.output.as_deref();
    let encoding = match flags.parquet || output.is_some_and(ends_in_parquet) {
        true => Encoding::Parquet,
        false => Encoding::Csv,
    };
    if encoding == Encoding::Parquet && output.is_none() && std::io::stdout().is_terminal() {
        return Err(Unexportable::OnTerminal);
    }
    // A run that can't be opened is found before a file is overwritten.
    let runs = flags.runs.iter().map(|run| RunDir::open(find(run)));
    let runs = runs.collect::<Result<Vec<RunDir>, _>>()?;
    match output {
        Some(path) => {
            let file = File::create(path).map_err(ExportError::from);
            let written = file.and_then(|file| write(&runs, table, encoding, BufWriter::new(file)));
            written.map_err(|cause| in_file(path, cause))
        }
        None => match write(&runs, table, encoding, std::io::stdout()) {
            // A closed pipe, as by `head`, is no failure.
            Err(error) if error.is_broken_pipe() => Ok(()),
            Err(ExportError::Record(error)) => Err(error.into()),
            written => written.map_err(Unexportable::Stdout),
        },
    }
}

fn write(
    runs: &[RunDir],
    table: Table,
    encoding: Encoding,
    output: impl Write + Send,
) -> Result<(), ExportError> {
    let mut export = Export::create(table, encoding, output)?;
    for run in runs {
        export.add(run)?;
    }
    export.finish()
}

fn in_file(path: &Path, cause: ExportError) -> Unexportable {
    match cause {
        ExportError::Record(error) => error.into(),
        cause => Unexportable::File {
            path: path.to_owned(),
            cause,
        },
    }
}

fn ends_in_parquet(path: &Path) -> bool {
    path.extension()
        .is_some_and(|of| of.eq_ignore_ascii_case(PARQUET))
}
