//! CSV, written row by row.

use std::io::Write;

use crate::column::Value;
use crate::export::ExportError;

/// A CSV table in the making.
pub(crate) struct CsvFile<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvFile<W> {
    pub(crate) fn create(
        output: W,
        names: impl Iterator<Item = &'static str>,
    ) -> Result<CsvFile<W>, ExportError> {
        let mut writer = csv::Writer::from_writer(output);
        writer.write_record(names)?;
        Ok(CsvFile { writer })
    }

    pub(crate) fn row(&mut self, values: &[Value]) -> Result<(), ExportError> {
        Ok(self.writer.write_record(values.iter().map(field))?)
    }

    pub(crate) fn finish(mut self) -> Result<(), ExportError> {
        Ok(self.writer.flush()?)
    }
}

fn field(value: &Value) -> String {
    match value {
        Value::Text(of) => of.as_deref().map(guarded).unwrap_or_default(),
        Value::Whole(of) => of.map(|of| of.to_string()).unwrap_or_default(),
        Value::Real(of) => of.map(|of| of.to_string()).unwrap_or_default(),
        Value::Flag(of) => of.map(|of| of.to_string()).unwrap_or_default(),
    }
}

/// Text that no spreadsheet evaluates (OWASP, "CSV Injection").
fn guarded(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_unrounded_or_empty_and_formulas_are_disarmed() {
        let text = |of: &str| Value::Text(Some(of.to_owned()));
        let table = [
            (text("otel"), "otel"),
            (text("=1+1"), "'=1+1"),
            (text("@SUM(A1)"), "'@SUM(A1)"),
            (Value::Text(None), ""),
            (Value::Whole(Some(1_500_000_001)), "1500000001"),
            (Value::Real(Some(1234.5)), "1234.5"),
            (Value::Flag(Some(true)), "true"),
            (Value::Flag(None), ""),
        ];
        for (value, expected) in table {
            assert_eq!(field(&value), expected, "{value:?}");
        }
    }
}
