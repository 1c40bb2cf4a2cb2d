//! Raw records of runs as tables, so that others can recompute every figure.
//!
//! A table has a row for each isolated window, for each block of turns and arm, or for each launch
//! and arm. Its values are those of the journal. Only the predecessor of a window and whether a row
//! is void are derived. `docs/FORMAT.md` lists the columns.
//!
//! Rows are written as the journal is read: CSV line by line, Parquet in groups of rows.

#![forbid(unsafe_code)]

mod column;
mod csv_file;
mod export;
mod parquet_file;
mod tables;

pub use export::{Encoding, Export, ExportError, Table};
