use super::*;
use proptest::prelude::*;

fn parse(text: &[u8]) -> Result<Table, TableError> {
    Table::within(text, "t.csv", RowOrder::InOrder, 1_000)
}

fn cells(table: &Table) -> Vec<Vec<String>> {
    let cell = |row, column| String::from_utf8_lossy(table.cell(row, column)).into_owned();
    let row = |row| (0..table.columns().len()).map(|c| cell(row, c)).collect();
    (0..table.rows()).map(row).collect()
}

#[test]
fn rows_of_a_file() {
    type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a [&'a str]], &'a str);
    let table: &[Row] = &[
        (
            "a,b\n1,2\n3,4\n",
            &["a", "b"],
            &[&["1", "2"], &["3", "4"]],
            "plain",
        ),
        (
            "\u{feff}a, b \r\n1,\r\n",
            &["a", "b"],
            &[&["1", ""]],
            "BOM, CRLF, blanks around names",
        ),
        ("a\n\"x,\"\"y\n\"\n", &["a"], &[&["x,\"y\n"]], "quoted"),
        (
            "a\n 1 \n\n2",
            &["a"],
            &[&[" 1 "], &["2"]],
            "values keep blanks, empty lines are skipped",
        ),
    ];
    for (text, columns, rows, why) in table {
        let table = parse(text.as_bytes()).unwrap();
        assert_eq!(table.columns(), *columns, "{why}");
        assert_eq!(cells(&table), *rows, "{why}");
        assert_eq!(table.rows(), rows.len(), "{why}");
    }
}

#[test]
fn columns_are_found_by_name() {
    let table = parse(b"id,name\n1,longest\n22,x\n").unwrap();
    assert_eq!(table.column("name"), Some(1));
    assert_eq!(table.column("Name"), None);
    assert_eq!(
        [0, 1, 2].map(|column| table.longest_cell(column)),
        [2, 7, 0]
    );
    assert_eq!((table.name(), table.order()), ("t.csv", RowOrder::InOrder));
}

#[test]
fn table_errors_name_file_place_and_remedy() {
    let no_rows =
        "t.csv has no rows; give it a first row of column names and at least one row of values";
    let table: &[(&[u8], &str)] = &[
        (b"", no_rows),
        (b"a,b\n", no_rows),
        (
            b"a,b\n1,2\n\n3\n",
            "t.csv, row 2 below the names: 1 values for 2 columns; quote values that contain a comma, and give every row a value in each column",
        ),
        (
            b"a,,c\n1,2,3\n",
            "t.csv: column 2 has no readable name; name every column in the first row",
        ),
        (
            b"\xff\n1\n",
            "t.csv: column 1 has no readable name; name every column in the first row",
        ),
        (
            b"a,b,a\n1,2,3\n",
            "t.csv: two columns are named \"a\"; rename one",
        ),
    ];
    for (text, message) in table {
        assert_eq!(parse(text).unwrap_err().to_string(), *message);
    }
    let missing = Table::read(Path::new("/nowhere/t.csv"), RowOrder::Random).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("can't open /nowhere/t.csv: "),
        "{missing}"
    );
}

#[test]
fn memory_is_bounded() {
    let is_too_large = |table| matches!(table, Err(TableError::TooLarge { .. }));
    let many_bytes = [b"a\n".to_vec(), vec![b'1'; 999]].concat();
    assert!(is_too_large(parse(&many_bytes)), "the file");
    let many_values = [b"a\n".to_vec(), b"1\n".repeat(250)].concat();
    assert!(
        is_too_large(parse(&many_values)),
        "502 bytes, but 250 bounds of 4 bytes"
    );
    let endless_quote = std::io::Read::chain(&b"a\n\""[..], std::io::repeat(b'1'));
    let endless = Table::within(endless_quote, "t.csv", RowOrder::InOrder, 1_000);
    assert!(is_too_large(endless), "a quote that is never closed");
    let names = Table::within(std::io::repeat(b'a'), "t.csv", RowOrder::InOrder, 1_000);
    assert!(is_too_large(names), "an endless first line");
    let two_columns = [b"a,b\n".to_vec(), b"11,\n".repeat(250)].concat();
    assert!(
        is_too_large(parse(&two_columns)),
        "not a short row at the bound"
    );
    assert!(
        parse(&many_values[..302]).is_ok(),
        "150 values of 1 byte and 4 bytes each"
    );
}

proptest! {
    #[test]
    fn tables_round_trip(
        rows in prop::collection::vec(prop::collection::vec("[ -~\n\"]{0,8}", 3), 1..10),
    ) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["a", "b", "c"]).unwrap();
        for row in &rows {
            writer.write_record(row).unwrap();
        }
        let text = writer.into_inner().unwrap();
        let table = Table::within(&text[..], "t.csv", RowOrder::InOrder, 10_000).unwrap();
        prop_assert_eq!(cells(&table), rows);
    }

    #[test]
    fn every_table_read_is_complete(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(table) = parse(&bytes) {
            prop_assert!(table.rows() > 0);
            prop_assert_eq!(table.bounds.len(), table.rows() * table.columns().len() + 1);
            prop_assert_eq!(cells(&table).len(), table.rows());
        }
    }
}
