//! A CSV file whose columns are used in requests. An accepted file has rows and columns that are
//! found by name; a request made of them is either refused with a reason that can be shown, or
//! valid.

use std::time::Duration;
use windage_load::{
    Field, Fields, Flow, Part, Protocol, Request, RowOrder, Step, Table, Text, Work,
};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let table = match Table::from_reader(input, "users.csv", RowOrder::InOrder) {
        Ok(table) => table,
        Err(error) => {
            assert!(error.to_string().contains("users.csv"), "{error}");
            return Corpus::Keep;
        }
    };
    assert!(table.rows() > 0 && !table.columns().is_empty());
    let columns = table.columns().to_vec();
    for (index, name) in columns.iter().enumerate() {
        assert_eq!(table.column(name), Some(index), "{name:?}");
    }
    let column = |column| Field::Column { table: 0, column };
    let fields = Fields {
        fields: (0..columns.len()).map(column).collect(),
        tables: vec![table],
    };
    let last = columns.len() - 1;
    let request = Request {
        method: "POST".to_owned(),
        authority: "localhost".to_owned(),
        path: Text::new(vec![Part::Literal(b"/".to_vec()), Part::Field(0)]),
        headers: vec![("x-key".to_owned(), Text::new(vec![Part::Field(last)]))],
        body: Text::new((0..columns.len()).map(Part::Field).collect()),
    };
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let step = Step {
            request: request.clone(),
            think: Duration::ZERO,
        };
        let flow = Flow {
            weight: 1,
            steps: vec![step],
        };
        if let Err(error) = Work::new(vec![flow], fields.clone(), protocol) {
            assert!(!error.to_string().is_empty());
        }
    }
    Corpus::Keep
}
