//! The CSV files of fields. Each is read and checked once.

use std::ops::Range;
use std::path::PathBuf;

use crate::Problem;
use crate::load::{Field, RowOrder, Table};
use crate::problem::choices;
use crate::resolve::checker::Checker;
use crate::resolve::file::MAX_DATA_BYTES;
use crate::wire::{self, Text};

/// The files named so far.
#[derive(Default)]
pub(super) struct Tables(Vec<OpenTable>);

struct OpenTable {
    file: String,
    bytes: Vec<u8>,
    columns: Vec<String>,
    /// The order that the fields give, if any does.
    order: Option<RowOrder>,
}

impl Tables {
    /// A field of a CSV file. If it is invalid, reports the problem and returns a placeholder.
    pub(super) fn column(
        &mut self,
        checker: &mut Checker<'_>,
        path: &Text,
        keys: &wire::Field,
        field: Range<usize>,
    ) -> Field {
        let order = keys.order.as_ref().map(|text| {
            let word = checker.word("order", Some(text), RowOrder::InOrder, RowOrder::WORDS);
            (word, text)
        });
        let Some(name) = &keys.column else {
            let message = format!("a field from `{}` needs a `column`", path.get_ref());
            checker.report(
                Problem::new(field, message, "needs `column`")
                    .help("add column = \"NAME\", with a name from the file's first row"),
            );
            return some_column();
        };
        let Some(table) = self.table(checker, path) else {
            return some_column();
        };
        let open = &mut self.0[table];
        if let Some((order, text)) = order
            && *open.order.get_or_insert(order) != order
        {
            let message = format!("two fields give different orders for `{}`", open.file);
            checker.report(
                Problem::new(text.span(), message, "another order")
                    .help("all fields of one file are taken from the same row: give `order` once"),
            );
        }
        let column = name.get_ref().trim().to_owned();
        if !open.columns.contains(&column) {
            let message = format!("`{}` has no column `{column}`", open.file);
            let known: Vec<&str> = open.columns.iter().map(String::as_str).collect();
            checker.report(
                Problem::new(name.span(), message, "not in its first row")
                    .help(choices(&column, &known)),
            );
        }
        Field::Column { table, column }
    }

    /// The index of the file's table; the file is read when it is first named.
    fn table(&mut self, checker: &mut Checker<'_>, path: &Text) -> Option<usize> {
        let file = path.get_ref();
        if let Some(known) = self.0.iter().position(|open| open.file == *file) {
            return Some(known);
        }
        let bytes = checker.file_bytes("CSV file", path, MAX_DATA_BYTES)?;
        match columns(&bytes) {
            Ok(columns) => {
                self.0.push(OpenTable {
                    file: file.clone(),
                    bytes,
                    columns,
                    order: None,
                });
                Some(self.0.len() - 1)
            }
            Err(why) => {
                let message = format!("`{file}` is not a table: {why}");
                checker.report(Problem::new(path.span(), message, "in this file").help(
                    "give a CSV file whose first row names the columns; each other row is a set of \
                     values",
                ));
                None
            }
        }
    }

    pub(super) fn finish(self) -> Vec<Table> {
        let tables = self.0.into_iter();
        tables
            .map(|open| Table {
                file: PathBuf::from(open.file),
                bytes: open.bytes.into(),
                order: open.order.unwrap_or(RowOrder::InOrder),
            })
            .collect()
    }
}

/// The placeholder for an invalid field.
fn some_column() -> Field {
    Field::Column {
        table: 0,
        column: String::new(),
    }
}

/// The names of the columns, if the file is a valid table.
fn columns(bytes: &[u8]) -> Result<Vec<String>, String> {
    let mut reader = csv::Reader::from_reader(bytes);
    let heading = reader.headers().map_err(|error| error.to_string())?;
    let columns: Vec<String> = heading.iter().map(|name| name.trim().to_owned()).collect();
    for (index, name) in columns.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("its column {} has no name", index + 1));
        }
        if columns[..index].contains(name) {
            return Err(format!("two columns are named `{name}`"));
        }
    }
    let mut record = csv::ByteRecord::new();
    let mut rows = 0_usize;
    while reader
        .read_byte_record(&mut record)
        .map_err(|error| error.to_string())?
    {
        rows += 1;
    }
    if rows == 0 {
        return Err("it has no rows".to_owned());
    }
    Ok(columns)
}
