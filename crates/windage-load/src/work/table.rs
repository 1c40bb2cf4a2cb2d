//! Tables: rows of a CSV file, from which fields take their values.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest file accepted, and the most memory that a table uses.
const TABLE_BYTES_MAX: u64 = 256 << 20;

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowOrder {
    /// From the first row to the last, then again from the first.
    #[default]
    InOrder,
    /// Any row, drawn uniformly with replacement.
    Random,
}

/// Why a table can't be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file could not be opened.
    #[error("can't open {file}: {source}; name a CSV file whose first row has the column names")]
    Open {
        /// The file.
        file: String,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// The file could not be read.
    #[error("can't read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// The kernel's error.
        source: csv::Error,
    },
    /// A row has more or fewer values than there are columns.
    #[error(
        "{file}, row {row} below the names: {found} values for {expected} columns; quote values that contain a comma, and give every row a value in each column"
    )]
    Ragged {
        /// The file.
        file: String,
        /// The row, counted from 1 below the row of names; empty lines do not count.
        row: usize,
        /// Values in that row.
        found: usize,
        /// Columns of the table.
        expected: usize,
    },
    /// A column has no name, or one that is not UTF-8.
    #[error("{file}: column {column} has no readable name; name every column in the first row")]
    Unnamed {
        /// The file.
        file: String,
        /// The column, counted from 1.
        column: usize,
    },
    /// Two columns have the same name.
    #[error("{file}: two columns are named {name:?}; rename one")]
    SameName {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
    /// There are no rows below the names.
    #[error(
        "{file} has no rows; give it a first row of column names and at least one row of values"
    )]
    NoRows {
        /// The file.
        file: String,
    },
    /// The table is too large to keep in memory.
    #[error("{file} takes more than {} MiB; use a part of its rows or columns", TABLE_BYTES_MAX >> 20)]
    TooLarge {
        /// The file.
        file: String,
    },
}

/// Rows of a CSV file, kept in memory; at most 256 MiB.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    columns: Vec<String>,
    order: RowOrder,
    /// All values, row by row.
    bytes: Vec<u8>,
    /// Start of each value, and the end of the last one.
    bounds: Vec<u32>,
    /// By column.
    longest: Vec<usize>,
}

impl Table {
    /// Reads a CSV file (RFC 4180), whose first row has the column names.
    ///
    /// # Errors
    /// When it can't be read, is not a table, has no rows or takes more than 256 MiB.
    pub fn read(path: &Path, order: RowOrder) -> Result<Table, TableError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Table::from_reader(file, &name, order),
            Err(source) => Err(TableError::Open { file: name, source }),
        }
    }

    /// Reads CSV from any reader; errors call it `name`.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn from_reader(
        reader: impl Read,
        name: &str,
        order: RowOrder,
    ) -> Result<Table, TableError> {
        Table::within(reader, name, order, TABLE_BYTES_MAX)
    }

    fn within(
        reader: impl Read,
        name: &str,
        order: RowOrder,
        bytes_max: u64,
    ) -> Result<Table, TableError> {
        let file = || name.to_owned();
        let too_large = || TableError::TooLarge { file: file() };
        // A quote that is never closed makes one value of the whole file, so limit the read.
        let mut csv = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(reader.take(bytes_max + 1));
        let failed = |source| TableError::Read {
            file: file(),
            source,
        };
        let columns = column_names(name, csv.byte_headers().map_err(failed)?)?;
        let mut table = Table {
            name: file(),
            longest: vec![0; columns.len()],
            columns,
            order,
            bytes: Vec::new(),
            bounds: vec![0],
        };
        let mut record = csv::ByteRecord::new();
        loop {
            let is_row = csv.read_byte_record(&mut record).map_err(failed)?;
            // Checked first, because the cut at the limit can look like a short row.
            if csv.get_ref().limit() == 0 {
                return Err(too_large());
            }
            if !is_row {
                break;
            }
            table.check_length(&record)?;
            table.push(&record, bytes_max).ok_or_else(too_large)?;
        }
        if table.rows() == 0 {
            return Err(TableError::NoRows { file: file() });
        }
        table.bytes.shrink_to_fit();
        table.bounds.shrink_to_fit();
        Ok(table)
    }

    fn check_length(&self, record: &csv::ByteRecord) -> Result<(), TableError> {
        if record.len() == self.columns.len() {
            return Ok(());
        }
        Err(TableError::Ragged {
            file: self.name.clone(),
            row: self.rows() + 1,
            found: record.len(),
            expected: self.columns.len(),
        })
    }

    /// `None` when that would use too much memory.
    fn push(&mut self, record: &csv::ByteRecord, bytes_max: u64) -> Option<()> {
        for (cell, longest) in record.iter().zip(&mut self.longest) {
            self.bytes.extend_from_slice(cell);
            self.bounds.push(u32::try_from(self.bytes.len()).ok()?);
            *longest = cell.len().max(*longest);
        }
        let taken = self.bytes.len() + self.bounds.len() * size_of::<u32>();
        (taken as u64 <= bytes_max).then_some(())
    }

    /// Its name in errors: the file it was read from.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The index of a column by name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The number of rows without the names; at least one.
    #[must_use]
    pub fn rows(&self) -> usize {
        (self.bounds.len() - 1) / self.columns.len()
    }

    /// The order of rows.
    #[must_use]
    pub fn order(&self) -> RowOrder {
        self.order
    }

    /// The value in a row and a column, both counted from 0.
    pub(super) fn cell(&self, row: usize, column: usize) -> &[u8] {
        let at = row * self.columns.len() + column;
        &self.bytes[self.bounds[at] as usize..self.bounds[at + 1] as usize]
    }

    /// The length in bytes of a column's longest value; zero if there is no such column.
    pub(super) fn longest_cell(&self, column: usize) -> usize {
        self.longest.get(column).copied().unwrap_or(0)
    }
}

fn column_names(file: &str, header: &csv::ByteRecord) -> Result<Vec<String>, TableError> {
    let mut columns = Vec::with_capacity(header.len());
    let mut seen = HashSet::with_capacity(header.len());
    for (index, name) in header.iter().enumerate() {
        let file = || file.to_owned();
        let name = std::str::from_utf8(name).map_or("", str::trim).to_owned();
        if name.is_empty() {
            return Err(TableError::Unnamed {
                file: file(),
                column: index + 1,
            });
        }
        if !seen.insert(name.clone()) {
            return Err(TableError::SameName { file: file(), name });
        }
        columns.push(name);
    }
    if columns.is_empty() {
        return Err(TableError::NoRows {
            file: file.to_owned(),
        });
    }
    Ok(columns)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
