//! What is allowed where: no rendered value can end its line or contradict the framing.

use super::fields::{Field, Fields};
use super::flow::Protocol;
use super::table::Table;
use super::text::{Part, Request, Text};
use crate::request::{RequestError, ValueFault};

/// The longest path that the `http` crate accepts; servers accept far less.
const PATH_BYTES_MAX: usize = 65_534;
/// The longest header value; servers accept far less.
const HEADER_BYTES_MAX: usize = 1 << 20;
/// The longest content of a request.
const BODY_BYTES_MAX: usize = 1 << 30;
/// The `http` crate holds some 24,000 headers; servers accept about a hundred.
const HEADERS_MAX: usize = 1_000;

/// Checks a request with all values that its fields can have.
pub(super) fn request(
    request: &Request,
    fields: &Fields,
    protocol: Protocol,
) -> Result<(), RequestError> {
    method(&request.method, protocol)?;
    if request.authority.is_empty() || !is_visible(request.authority.as_bytes()) {
        return Err(RequestError::Host(request.authority.clone()));
    }
    path(request, fields, protocol)?;
    if request.headers.len() > HEADERS_MAX {
        return Err(RequestError::TooManyHeaders(request.headers.len()));
    }
    for (name, value) in &request.headers {
        header(name, value, fields, protocol)?;
    }
    existing_columns(&request.body, fields, |_, _| Ok(()))?;
    within("the body", &request.body, fields, BODY_BYTES_MAX)
}

/// Checks the fields themselves, used or not.
pub(super) fn ranges(fields: &Fields) -> Result<(), RequestError> {
    for field in &fields.fields {
        if let Field::Random { low, high } = *field
            && low > high
        {
            return Err(RequestError::EmptyRange { low, high });
        }
    }
    Ok(())
}

fn method(method: &str, protocol: Protocol) -> Result<(), RequestError> {
    if !is_token(method) {
        return Err(RequestError::Method(method.to_owned()));
    }
    if method == "CONNECT" {
        return Err(RequestError::Connect);
    }
    if protocol == Protocol::Grpc && method != "POST" {
        return Err(RequestError::GrpcMethod(method.to_owned()));
    }
    Ok(())
}

fn path(request: &Request, fields: &Fields, protocol: Protocol) -> Result<(), RequestError> {
    let path = &request.path;
    let is_asterisk = path.as_literal() == Some(b"*") && request.method == "OPTIONS";
    let is_legal = |bytes: &[u8]| bytes.iter().all(|&byte| is_path_byte(byte, protocol));
    let refused = || RequestError::Path(path.describe());
    existing_columns(path, fields, |table, column| {
        every_cell(table, column, ValueFault::Path, is_legal)
    })?;
    for part in path.parts() {
        match part {
            Part::Literal(bytes) if !is_legal(bytes) => return Err(refused()),
            _ => {}
        }
    }
    match path.parts().first() {
        Some(Part::Literal(bytes)) if bytes.starts_with(b"/") || is_asterisk => {}
        Some(Part::Field(field)) => match fields.fields[*field] {
            Field::Column { table, column } => {
                let starts = |cell: &[u8]| cell.starts_with(b"/");
                every_cell(&fields.tables[table], column, ValueFault::PathStart, starts)?;
            }
            Field::Counter { .. } | Field::Random { .. } => return Err(refused()),
        },
        _ => return Err(refused()),
    }
    within("the path", path, fields, PATH_BYTES_MAX)
}

fn header(
    name: &str,
    value: &Text,
    fields: &Fields,
    protocol: Protocol,
) -> Result<(), RequestError> {
    let is = |names: &[&str]| names.iter().any(|n| name.eq_ignore_ascii_case(n));
    let named = || name.to_owned();
    if !is_token(name) {
        return Err(RequestError::HeaderName(named()));
    }
    if is(&["content-length", "transfer-encoding"]) {
        return Err(RequestError::Framing(named()));
    }
    if protocol != Protocol::Http1 {
        if is(&["connection", "keep-alive", "proxy-connection", "upgrade"]) {
            return Err(RequestError::ConnectionHeader(named()));
        }
        // RFC 9113, 8.2.2.
        if is(&["te"]) && value.as_literal() != Some(b"trailers") {
            return Err(RequestError::ConnectionHeader(named()));
        }
        // It becomes `:authority`, of which a target has one.
        if is(&["host"]) && value.as_literal().is_none_or(|host| !is_host(host)) {
            return Err(RequestError::Host(value.describe()));
        }
    }
    existing_columns(value, fields, |table, column| {
        every_cell(table, column, ValueFault::Header, is_header_value)
    })?;
    for part in value.parts() {
        match part {
            Part::Literal(bytes) if !is_header_value(bytes) => {
                return Err(RequestError::HeaderValue(named()));
            }
            _ => {}
        }
    }
    within("a header's value", value, fields, HEADER_BYTES_MAX)
}

/// Checks that all fields of a text exist, and their columns with `check`.
fn existing_columns(
    text: &Text,
    fields: &Fields,
    check: impl Fn(&Table, usize) -> Result<(), RequestError>,
) -> Result<(), RequestError> {
    for index in text.fields() {
        let missing = RequestError::NoSuchField(index);
        match fields.fields.get(index) {
            Some(&Field::Column { table, column }) => {
                let has_column = |table: &&Table| column < table.columns().len();
                match fields.tables.get(table).filter(has_column) {
                    Some(table) => check(table, column)?,
                    None => return Err(missing),
                }
            }
            Some(Field::Counter { .. } | Field::Random { .. }) => {}
            None => return Err(missing),
        }
    }
    Ok(())
}

fn every_cell(
    table: &Table,
    column: usize,
    fault: ValueFault,
    is_legal: impl Fn(&[u8]) -> bool,
) -> Result<(), RequestError> {
    match (0..table.rows()).find(|&row| !is_legal(table.cell(row, column))) {
        None => Ok(()),
        Some(row) => Err(RequestError::Value {
            table: table.name().to_owned(),
            row: row + 1,
            column: table.columns()[column].clone(),
            fault,
        }),
    }
}

fn within(
    what: &'static str,
    text: &Text,
    fields: &Fields,
    bytes_max: usize,
) -> Result<(), RequestError> {
    let bytes = fields.longest_bytes(text);
    if bytes > bytes_max {
        return Err(RequestError::TooLong {
            what,
            bytes,
            bytes_max,
        });
    }
    Ok(())
}

/// HTTP/2 goes through the `http` crate, which rejects every byte that is never valid in a URI.
fn is_path_byte(byte: u8, protocol: Protocol) -> bool {
    byte.is_ascii_graphic() && (protocol == Protocol::Http1 || !b"\"#<>`".contains(&byte))
}

/// Tabs and bytes above ASCII are legal in values (RFC 9110, 5.5).
fn is_header_value(value: &[u8]) -> bool {
    value.iter().all(|&b| b == b'\t' || !b.is_ascii_control())
}

fn is_host(host: &[u8]) -> bool {
    !host.is_empty() && is_visible(host)
}

fn is_visible(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_graphic)
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
