//! Why a request can't be sent.

/// Why a request can't be sent.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RequestError {
    /// The method is not a token of RFC 9110.
    #[error("method {0:?} is not an HTTP token; use one such as GET or POST")]
    Method(String),
    /// The host is empty or has invalid characters.
    #[error(
        "host {0:?} is empty or has spaces or control characters; write it as NAME or NAME:PORT"
    )]
    Host(String),
    /// The path does not start with `/`, or has other than visible ASCII.
    #[error(
        "path {0:?} must start with / and have no spaces, control or non-ASCII characters (nor any of \" # < > ` in HTTP/2); percent-encode them"
    )]
    Path(String),
    /// A header's name is not a token.
    #[error("header name {0:?} is not an HTTP token; it takes letters, digits and -")]
    HeaderName(String),
    /// A header's value has a line break or another control character. The message omits the value,
    /// which may be secret.
    #[error("the value of header {0:?} has a line break or control character; remove it")]
    HeaderValue(String),
    /// A header that the engine must set itself.
    #[error("header {0:?} conflicts with how the engine sends the body; remove it")]
    Framing(String),
    /// CONNECT turns the connection into a tunnel.
    #[error("method CONNECT opens a tunnel and requests nothing; use another method")]
    Connect,
    /// A gRPC call with a method other than POST.
    #[error("a gRPC call is a POST, not {0:?}; leave the method out")]
    GrpcMethod(String),
    /// A connection header, which HTTP/2 forbids.
    #[error("header {0:?} is not allowed in HTTP/2; remove it")]
    ConnectionHeader(String),
    /// More headers than any server accepts.
    #[error("{0} headers are too many; use at most 1000")]
    TooManyHeaders(usize),
    /// A part of the request can get too long to be sent.
    #[error("{what} can reach {bytes} bytes, but the limit is {bytes_max}; make it shorter")]
    TooLong {
        /// Which part.
        what: &'static str,
        /// Its length with the longest values of all fields.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// A text refers to a missing field, or a field to a missing table or column.
    #[error("field {0} does not exist, or its table or column does not; define it")]
    NoSuchField(usize),
    /// An empty range.
    #[error("no number lies between {low} and {high}; swap them")]
    EmptyRange {
        /// The smallest value.
        low: u64,
        /// The largest value.
        high: u64,
    },
    /// A table value is invalid where it is used. The message omits the value, which may be secret.
    #[error("{table}, row {row} below the names, column {column:?}: {fault}")]
    Value {
        /// The table's file.
        table: String,
        /// The row, counted from 1 below the row of names.
        row: usize,
        /// The column's name.
        column: String,
        /// What is wrong with it.
        fault: ValueFault,
    },
    /// A flow without steps, or with too many.
    #[error("flow {flow} has {steps} steps; give it at least 1 and at most 65535")]
    Steps {
        /// The flow, counted from 1.
        flow: usize,
        /// Number of steps.
        steps: usize,
    },
    /// No flow has a weight, or there are too many.
    #[error(
        "{0} flows are too many, or none has a weight; give 1 to 65535 flows, at least one with a weight above 0"
    )]
    Flows(usize),
    /// An error in one of several requests.
    #[error("flow {flow}, step {step}: {error}")]
    InStep {
        /// The flow, counted from 1.
        flow: usize,
        /// The step, counted from 1.
        step: usize,
        /// What is wrong there.
        error: Box<RequestError>,
    },
}

/// Why a table value is invalid where it is used.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ValueFault {
    /// Not visible ASCII.
    #[error(
        "a value in a path must have no spaces, control or non-ASCII characters (nor any of \" # < > ` in HTTP/2); percent-encode them"
    )]
    Path,
    /// It begins a path but does not start with `/`.
    #[error(
        "a value that begins a path must start with /; add it to the value or before the field"
    )]
    PathStart,
    /// It could end the header line.
    #[error("a value in a header must have no line breaks or control characters; remove them")]
    Header,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Protocol, Request, Text, Work};

    fn serialised(
        method: &str,
        host: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Vec<u8>, RequestError> {
        let header = |(name, value): &(String, String)| (name.clone(), Text::from(&value[..]));
        let request = Request {
            method: method.to_owned(),
            authority: host.to_owned(),
            path: path.into(),
            headers: headers.iter().map(header).collect(),
            body: Text::literal(body),
        };
        let work = Work::single(request, Protocol::Http1)?;
        Ok(work.constant().unwrap().to_vec())
    }

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn requests_on_the_wire() {
        type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);
        let table: &[Row] = &[
            ("GET", "/", &[], "", "GET / HTTP/1.1\r\nHost: h:1\r\n\r\n"),
            (
                "GET",
                "/a?b=c",
                &[("X-A", "b\tc")],
                "",
                "GET /a?b=c HTTP/1.1\r\nHost: h:1\r\nX-A: b\tc\r\n\r\n",
            ),
            (
                "GET",
                "/",
                &[("hOST", "other")],
                "",
                "GET / HTTP/1.1\r\nhOST: other\r\n\r\n",
            ),
            (
                "POST",
                "/",
                &[],
                "",
                "POST / HTTP/1.1\r\nHost: h:1\r\nContent-Length: 0\r\n\r\n",
            ),
            (
                "DELETE",
                "/",
                &[],
                "xyz",
                "DELETE / HTTP/1.1\r\nHost: h:1\r\nContent-Length: 3\r\n\r\nxyz",
            ),
            (
                "OPTIONS",
                "*",
                &[],
                "",
                "OPTIONS * HTTP/1.1\r\nHost: h:1\r\n\r\n",
            ),
        ];
        for (method, path, pairs, body, wire) in table {
            let bytes = serialised(method, "h:1", path, &headers(pairs), body.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), *wire);
        }
    }

    #[test]
    fn no_part_can_end_its_line() {
        let refused = |method, host, path, pairs: &[(&str, &str)]| {
            serialised(method, host, path, &headers(pairs), b"").unwrap_err()
        };
        assert_eq!(
            refused("GE T", "h", "/", &[]),
            RequestError::Method("GE T".into())
        );
        assert_eq!(
            refused("GET", "h\r\nX: y", "/", &[]),
            RequestError::Host("h\r\nX: y".into())
        );
        assert_eq!(
            refused("GET", "", "/", &[]),
            RequestError::Host(String::new())
        );
        for path in ["", "a", "/a b", "/\r\nX: y", "/é", "*"] {
            assert_eq!(
                refused("GET", "h", path, &[]),
                RequestError::Path(path.into())
            );
        }
        for name in ["", "A:B", "A\r\nB"] {
            assert_eq!(
                refused("GET", "h", "/", &[(name, "v")]),
                RequestError::HeaderName(name.into())
            );
        }
        for value in ["v\r\nX: y", "v\n", "\0"] {
            assert_eq!(
                refused("GET", "h", "/", &[("A", value)]),
                RequestError::HeaderValue("A".into())
            );
        }
        for name in ["Content-Length", "transfer-encoding"] {
            assert_eq!(
                refused("GET", "h", "/", &[(name, "1")]),
                RequestError::Framing(name.into())
            );
        }
    }
}
