//! Requests, serialised once and sent as they are ever after.

/// Why a request can't be put on the wire.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RequestError {
    /// The method is not a token of RFC 9110.
    #[error("method {0:?} is not an HTTP token; use one such as GET or POST")]
    Method(String),
    /// The host is empty or holds what no host holds.
    #[error(
        "host {0:?} is empty or has spaces or control characters; write it as NAME or NAME:PORT"
    )]
    Host(String),
    /// The path does not start with `/` or is not plain visible ASCII.
    #[error(
        "path {0:?} must start with / and have no spaces, control or non-ASCII characters; percent-encode them"
    )]
    Path(String),
    /// A header's name is not a token.
    #[error("header name {0:?} is not an HTTP token; it takes letters, digits and -")]
    HeaderName(String),
    /// A header's value holds a line break or another control character; the value itself may be
    /// secret and is not repeated.
    #[error("the value of header {0:?} has a line break or control character; remove it")]
    HeaderValue(String),
    /// A header that the engine must set itself.
    #[error("header {0:?} would contradict how the body is sent; leave it out")]
    Framing(String),
}

/// Puts a request into the bytes that go over the wire.
///
/// `Host` is added unless `headers` has one; `Content-Length` is added when there is a body, and
/// for POST, PUT and PATCH without one.
///
/// # Errors
/// Anything that would let a value end its line (CR, LF, NUL) or contradict the framing.
pub fn serialise_request(
    method: &str,
    host: &str,
    path: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> Result<Vec<u8>, RequestError> {
    check(is_token(method), RequestError::Method, method)?;
    check(
        !host.is_empty() && is_visible(host),
        RequestError::Host,
        host,
    )?;
    let has_form = path.starts_with('/') || (path == "*" && method == "OPTIONS");
    check(has_form && is_visible(path), RequestError::Path, path)?;

    let mut wire = Vec::with_capacity(128 + path.len() + body.len());
    for part in [method, " ", path, " HTTP/1.1\r\n"] {
        wire.extend_from_slice(part.as_bytes());
    }
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        push_header(&mut wire, "Host", host);
    }
    for (name, value) in headers {
        check(is_token(name), RequestError::HeaderName, name)?;
        let frames = ["content-length", "transfer-encoding"];
        check(
            !frames.iter().any(|f| name.eq_ignore_ascii_case(f)),
            RequestError::Framing,
            name,
        )?;
        // Tabs and bytes above ASCII are legal in values (RFC 9110, 5.5).
        check(
            value.bytes().all(|b| b == b'\t' || !b.is_ascii_control()),
            RequestError::HeaderValue,
            name,
        )?;
        push_header(&mut wire, name, value);
    }
    if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
        push_header(&mut wire, "Content-Length", &body.len().to_string());
    }
    wire.extend_from_slice(b"\r\n");
    wire.extend_from_slice(body);
    Ok(wire)
}

fn check(holds: bool, error: fn(String) -> RequestError, text: &str) -> Result<(), RequestError> {
    if holds {
        Ok(())
    } else {
        Err(error(text.to_owned()))
    }
}

fn push_header(wire: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        wire.extend_from_slice(part.as_bytes());
    }
}

fn is_visible(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_graphic())
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let serialised =
                serialise_request(method, "h:1", path, &headers(pairs), body.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(serialised).unwrap(), *wire);
        }
    }

    #[test]
    fn nothing_can_end_its_line() {
        let refused = |method, host, path, pairs: &[(&str, &str)]| {
            serialise_request(method, host, path, &headers(pairs), b"").unwrap_err()
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
