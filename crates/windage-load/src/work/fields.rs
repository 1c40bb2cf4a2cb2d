//! Fields: the parts that change from one request to the next, to defeat caches.

use super::table::Table;
use super::text::{Part, Text};

/// The source of a field's value. Within a request a field has one value, however often it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A number that grows by `step` with each request that has it, over all threads together. It
    /// wraps at 2⁶⁴.
    Counter {
        /// The first value.
        from: u64,
        /// The increment.
        step: u64,
    },
    /// A whole number drawn uniformly from `low` to `high`, both included.
    Random {
        /// The smallest value.
        low: u64,
        /// The largest value.
        high: u64,
    },
    /// A value of a table. All columns of a table that a flow uses come from the same row, in all
    /// its steps.
    Column {
        /// Index into [`Fields::tables`].
        table: usize,
        /// Index into [`Table::columns`].
        column: usize,
    },
}

/// The fields that texts refer to by index.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    /// Indexed by [`Part::Field`](crate::Part::Field).
    pub fields: Vec<Field>,
    /// Indexed by [`Field::Column`].
    pub tables: Vec<Table>,
}

/// The values of fields in one request.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) fields: &'a Fields,
    /// By field: its number, or the row of its table.
    pub(super) numbers: &'a [u64],
}

impl<'a> Values<'a> {
    /// Appends a text to `out`.
    pub(super) fn write(self, text: &Text, out: &mut Vec<u8>) {
        for part in text.parts() {
            match part {
                Part::Literal(bytes) => out.extend_from_slice(bytes),
                Part::Field(field) => match self.cell(*field) {
                    Some(cell) => out.extend_from_slice(cell),
                    None => write_decimal(self.numbers[*field], out),
                },
            }
        }
    }

    /// Number of bytes that [`Values::write`] appends.
    pub(super) fn bytes(self, text: &Text) -> usize {
        let bytes = |part: &Part| match part {
            Part::Literal(bytes) => bytes.len(),
            Part::Field(field) => match self.cell(*field) {
                Some(cell) => cell.len(),
                None => decimal_digits(self.numbers[*field]),
            },
        };
        text.parts().iter().map(bytes).sum()
    }

    /// The text alone.
    pub(super) fn render(self, text: &Text) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes(text));
        self.write(text, &mut out);
        out
    }

    fn cell(self, field: usize) -> Option<&'a [u8]> {
        match self.fields.fields[field] {
            Field::Column { table, column } => {
                // A row is an index into a table in memory, so it fits.
                let row = self.numbers[field] as usize;
                Some(self.fields.tables[table].cell(row, column))
            }
            Field::Counter { .. } | Field::Random { .. } => None,
        }
    }
}

/// Appends a number in decimal digits.
pub(super) fn write_decimal(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn decimal_digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Digits of the largest number.
pub(super) const LONGEST_NUMBER: usize = 20;

impl Fields {
    /// The most bytes that a text can have; missing fields count as empty.
    pub(super) fn longest_bytes(&self, text: &Text) -> usize {
        let longest = |part: &Part| match part {
            Part::Literal(bytes) => bytes.len(),
            Part::Field(field) => match self.fields.get(*field) {
                Some(&Field::Column { table, column }) => self
                    .tables
                    .get(table)
                    .map_or(0, |table| table.longest_cell(column)),
                _ => LONGEST_NUMBER,
            },
        };
        text.parts().iter().map(longest).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_counted_as_they_are_written() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            write_decimal(number, &mut out);
            assert_eq!(String::from_utf8(out.clone()).unwrap(), number.to_string());
            assert_eq!(decimal_digits(number), out.len(), "{number}");
        }
        assert_eq!(decimal_digits(u64::MAX), LONGEST_NUMBER);
    }
}
