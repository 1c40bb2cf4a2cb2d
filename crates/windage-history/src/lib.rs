//! Results of many runs in a database: their course over commits, and where it changes.
//!
//! A [`Row`] is what one run found for one arm in one metric. A [`History`] keeps rows in SQLite: it
//! reads the `analysis.json` of run directories, and writes and reads CSV, so that results outlive
//! the runs. A [`Course`] is a series of rows of one machine, with its change points.

#![forbid(unsafe_code)]

mod course;
mod database;
mod document;
mod history;
mod json;
mod row;

pub use course::{Change, Course, courses};
pub use database::{DatabaseKind, Unusable, open_database};
pub use history::{FILE_NAME, Found, History, HistoryError, Which};
pub use json::to_json;
pub use row::Row;
