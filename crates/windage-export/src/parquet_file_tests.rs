use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::*;

#[test]
fn groups_of_rows_are_written_as_they_fill() {
    let mut bytes = Vec::new();
    let kinds = [Value::Whole(None), Value::Text(None)];
    let names = ["at_ns", "arm"].into_iter();
    let mut file = ParquetFile::create(&mut bytes, names, &kinds).unwrap();
    file.group_rows = 2;
    for at in 0..5 {
        let arm = (at % 2 == 0).then(|| format!("arm {at}"));
        file.row(vec![Value::Whole(Some(at)), Value::Text(arm)])
            .unwrap();
    }
    file.finish().unwrap();
    let read = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let groups = read.metadata().row_groups().iter();
    assert_eq!(
        groups.map(|of| of.num_rows()).collect::<Vec<_>>(),
        [2, 2, 1]
    );
    let rows = read.get_row_iter(None).unwrap().map(|row| row.unwrap());
    for (at, row) in (0i64..).zip(rows) {
        let fields: Vec<_> = row.get_column_iter().map(|(_, of)| of.clone()).collect();
        let arm = match at % 2 {
            0 => Field::Str(format!("arm {at}")),
            _ => Field::Null,
        };
        assert_eq!(fields, [Field::Long(at), arm]);
    }
}

#[test]
fn a_table_without_rows_has_its_columns() {
    let mut bytes = Vec::new();
    let names = ["is_void"].into_iter();
    let file = ParquetFile::create(&mut bytes, names, &[Value::Flag(None)]).unwrap();
    file.finish().unwrap();
    let read = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let schema = read.metadata().file_metadata().schema_descr();
    assert_eq!(schema.column(0).name(), "is_void");
    assert_eq!(read.metadata().file_metadata().num_rows(), 0);
}
