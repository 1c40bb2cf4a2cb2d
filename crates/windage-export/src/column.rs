//! Columns: a name, a kind of value, and how a row gets it.

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(Option<String>),
    Whole(Option<i64>),
    Real(Option<f64>),
    Flag(Option<bool>),
}

/// A column of rows of that type. A value that is unknown is missing.
pub(crate) struct Column<Row> {
    pub(crate) name: &'static str,
    pub(crate) of: Of<Row>,
}

/// How a row gets a column's value.
pub(crate) enum Of<Row> {
    Text(fn(&Row) -> Option<String>),
    Whole(fn(&Row) -> Option<u64>),
    Real(fn(&Row) -> Option<f64>),
    Flag(fn(&Row) -> Option<bool>),
}

impl<Row> Column<Row> {
    pub(crate) fn value(&self, row: &Row) -> Value {
        match self.of {
            Of::Text(of) => Value::Text(of(row)),
            // Data frames subtract columns, and a difference of unsigned numbers would wrap. Only a
            // damaged counter is as large as this.
            Of::Whole(of) => Value::Whole(of(row).and_then(|value| i64::try_from(value).ok())),
            Of::Real(of) => Value::Real(of(row)),
            Of::Flag(of) => Value::Flag(of(row)),
        }
    }

    /// The missing value of this column, from which its kind is known.
    pub(crate) fn missing(&self) -> Value {
        match self.of {
            Of::Text(_) => Value::Text(None),
            Of::Whole(_) => Value::Whole(None),
            Of::Real(_) => Value::Real(None),
            Of::Flag(_) => Value::Flag(None),
        }
    }
}

pub(crate) fn text<Row>(name: &'static str, of: fn(&Row) -> Option<String>) -> Column<Row> {
    let of = Of::Text(of);
    Column { name, of }
}

pub(crate) fn whole<Row>(name: &'static str, of: fn(&Row) -> Option<u64>) -> Column<Row> {
    let of = Of::Whole(of);
    Column { name, of }
}

pub(crate) fn real<Row>(name: &'static str, of: fn(&Row) -> Option<f64>) -> Column<Row> {
    let of = Of::Real(of);
    Column { name, of }
}

pub(crate) fn flag<Row>(name: &'static str, of: fn(&Row) -> Option<bool>) -> Column<Row> {
    let of = Of::Flag(of);
    Column { name, of }
}
