//! Writes the rows of one table.

use std::io::{self, Write};

use windage_record::{Entry, Journal, Launch, RecordError, RunDir};

use crate::column::{Column, Value};
use crate::csv_file::CsvFile;
use crate::parquet_file::ParquetFile;
use crate::tables::{Scope, blocks, launches, windows};

/// A table of raw records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// A row for each isolated window.
    Windows,
    /// A row for each block of turns and arm.
    Blocks,
    /// A row for each launch and arm.
    Launches,
}

/// The form of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// CSV with a heading row.
    Csv,
    /// Apache Parquet, compressed by Snappy.
    Parquet,
}

/// Why a table is incomplete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The run could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The output could not be written.
    #[error("{0}; what was written is incomplete")]
    Output(#[from] io::Error),
    /// The Parquet writer refused a row or the output.
    #[error("Parquet: {0}; what was written is incomplete, try CSV instead")]
    Parquet(#[from] parquet::errors::ParquetError),
}

impl From<csv::Error> for ExportError {
    fn from(error: csv::Error) -> ExportError {
        // The conversion in the `csv` crate hides which I/O error it was.
        ExportError::Output(match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            refused => io::Error::other(format!("{refused:?}")),
        })
    }
}

impl ExportError {
    /// Whether the reader of the output has ended, as `head` does.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        let error = match self {
            ExportError::Output(error) => Some(error),
            ExportError::Parquet(parquet::errors::ParquetError::External(source)) => {
                source.downcast_ref()
            }
            ExportError::Record(_) | ExportError::Parquet(_) => None,
        };
        error.is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// A table in the making, over one run or several.
pub struct Export<W: Write + Send> {
    output: Output<W>,
    rows: Rows,
}

enum Output<W: Write + Send> {
    Csv(CsvFile<W>),
    Parquet(ParquetFile<W>),
}

/// The columns of the table.
enum Rows {
    Windows(Vec<Column<windows::Row>>),
    Blocks(Vec<Column<blocks::Row>>),
    Launches(Vec<Column<launches::Row>>),
}

impl<W: Write + Send> Export<W> {
    /// Begins a table.
    ///
    /// # Errors
    /// When the output can't be written.
    pub fn create(table: Table, encoding: Encoding, output: W) -> Result<Export<W>, ExportError> {
        let rows = match table {
            Table::Windows => Rows::Windows(windows::columns()),
            Table::Blocks => Rows::Blocks(blocks::columns()),
            Table::Launches => Rows::Launches(launches::columns()),
        };
        let (names, kinds) = match &rows {
            Rows::Windows(columns) => heading(columns),
            Rows::Blocks(columns) => heading(columns),
            Rows::Launches(columns) => heading(columns),
        };
        let names = names.into_iter();
        let output = match encoding {
            Encoding::Csv => Output::Csv(CsvFile::create(output, names)?),
            Encoding::Parquet => Output::Parquet(ParquetFile::create(output, names, &kinds)?),
        };
        Ok(Export { output, rows })
    }

    /// Adds the rows of a run, up to its last complete block.
    ///
    /// # Errors
    /// When the journal can't be read, or the output can't be written.
    pub fn add(&mut self, run: &RunDir) -> Result<(), ExportError> {
        let journal = Journal::open(run)?;
        let scope = Scope::of(run.manifest());
        match &self.rows {
            Rows::Windows(columns) => {
                let mut order = windows::Order::default();
                for entry in journal {
                    if let Entry::Window(window) = entry? {
                        let row = order.row(&scope, window);
                        self.output.row(columns, &row)?;
                    }
                }
            }
            Rows::Blocks(columns) => {
                for entry in journal {
                    if let Entry::Turns(block) = entry? {
                        for row in blocks::rows(&scope, block) {
                            self.output.row(columns, &row)?;
                        }
                    }
                }
            }
            Rows::Launches(columns) => {
                // A launch's row needs its end, which is recorded later.
                let mut open: Option<Launch> = None;
                for entry in journal {
                    let (begun, end) = match entry? {
                        Entry::LaunchStarted(launch) => (open.replace(launch), None),
                        Entry::LaunchEnded(end) => (open.take(), Some(end)),
                        _ => continue,
                    };
                    for row in launches::rows(&scope, begun, end) {
                        self.output.row(columns, &row)?;
                    }
                }
                for row in launches::rows(&scope, open, None) {
                    self.output.row(columns, &row)?;
                }
            }
        }
        Ok(())
    }

    /// Ends the table. Without it, a Parquet file can't be read.
    ///
    /// # Errors
    /// When the output can't be written.
    pub fn finish(self) -> Result<(), ExportError> {
        match self.output {
            Output::Csv(file) => file.finish(),
            Output::Parquet(file) => file.finish(),
        }
    }
}

impl<W: Write + Send> Output<W> {
    fn row<Row>(&mut self, columns: &[Column<Row>], row: &Row) -> Result<(), ExportError> {
        let values: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
        match self {
            Output::Csv(file) => file.row(&values),
            Output::Parquet(file) => file.row(values),
        }
    }
}

/// The names of columns, and their missing values.
fn heading<Row>(columns: &[Column<Row>]) -> (Vec<&'static str>, Vec<Value>) {
    let of = columns.iter();
    of.map(|column| (column.name, column.missing())).unzip()
}

#[cfg(test)]
#[path = "export_tests.rs"]
mod tests;
