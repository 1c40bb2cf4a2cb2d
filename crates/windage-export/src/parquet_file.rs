//! Parquet, written in groups of rows: at most one group is in memory.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::column::Value;
use crate::export::ExportError;

/// Rows of a group: 40 columns of these are some 30 MB.
const GROUP_ROWS: usize = 1 << 16;

/// A Parquet table in the making.
pub(crate) struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Cells>,
    rows: usize,
    group_rows: usize,
}

/// A column's values in the present group. Parquet stores the values that are there, and for every
/// row whether there is one (1) or not (0).
enum Cells {
    Text(Vec<ByteArray>, Vec<i16>),
    Whole(Vec<i64>, Vec<i16>),
    Real(Vec<f64>, Vec<i16>),
    Flag(Vec<bool>, Vec<i16>),
}

impl<W: Write + Send> ParquetFile<W> {
    /// `kinds` has the missing value of each column.
    pub(crate) fn create(
        output: W,
        names: impl Iterator<Item = &'static str>,
        kinds: &[Value],
    ) -> Result<ParquetFile<W>, ExportError> {
        let columns: Vec<Cells> = kinds.iter().map(Cells::of).collect();
        let fields = names.zip(&columns).map(|(name, of)| of.field(name));
        let schema = Type::group_type_builder("rows")
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("windage".to_owned())
            .build();
        Ok(ParquetFile {
            writer: SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))?,
            columns,
            rows: 0,
            group_rows: GROUP_ROWS,
        })
    }

    pub(crate) fn row(&mut self, values: Vec<Value>) -> Result<(), ExportError> {
        for (cells, value) in self.columns.iter_mut().zip(values) {
            cells.push(value);
        }
        self.rows += 1;
        match self.rows < self.group_rows {
            true => Ok(()),
            false => self.write_group(),
        }
    }

    pub(crate) fn finish(mut self) -> Result<(), ExportError> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), ExportError> {
        let mut group = self.writer.next_row_group()?;
        for cells in &mut self.columns {
            cells.write(&mut group)?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Cells {
    fn of(kind: &Value) -> Cells {
        match kind {
            Value::Text(_) => Cells::Text(Vec::new(), Vec::new()),
            Value::Whole(_) => Cells::Whole(Vec::new(), Vec::new()),
            Value::Real(_) => Cells::Real(Vec::new(), Vec::new()),
            Value::Flag(_) => Cells::Flag(Vec::new(), Vec::new()),
        }
    }

    fn field(&self, name: &str) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self {
            Cells::Text(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Cells::Whole(..) => (Physical::INT64, None),
            Cells::Real(..) => (Physical::DOUBLE, None),
            Cells::Flag(..) => (Physical::BOOLEAN, None),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    }

    /// Adds a value of the column's own kind.
    fn push(&mut self, value: Value) {
        fn put<T>(value: Option<T>, values: &mut Vec<T>, levels: &mut Vec<i16>) {
            levels.push(i16::from(value.is_some()));
            values.extend(value);
        }
        match (self, value) {
            (Cells::Text(values, levels), Value::Text(value)) => {
                put(value.as_deref().map(ByteArray::from), values, levels);
            }
            (Cells::Whole(values, levels), Value::Whole(value)) => put(value, values, levels),
            (Cells::Real(values, levels), Value::Real(value)) => put(value, values, levels),
            (Cells::Flag(values, levels), Value::Flag(value)) => put(value, values, levels),
            _ => unreachable!("a column's values are all of the kind with which it was made"),
        }
    }

    /// Writes the next column of a group, and empties it.
    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        match self {
            Cells::Text(values, levels) => write::<ByteArrayType, _>(group, values, levels),
            Cells::Whole(values, levels) => write::<Int64Type, _>(group, values, levels),
            Cells::Real(values, levels) => write::<DoubleType, _>(group, values, levels),
            Cells::Flag(values, levels) => write::<BoolType, _>(group, values, levels),
        }
    }
}

fn write<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    levels: &mut Vec<i16>,
) -> Result<(), ParquetError> {
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("too few columns".to_owned()))?;
    column
        .typed::<T>()
        .write_batch(values, Some(levels), None)?;
    values.clear();
    levels.clear();
    column.close()
}

#[cfg(test)]
#[path = "parquet_file_tests.rs"]
mod tests;
