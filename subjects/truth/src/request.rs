//! Parses requests: finds only where each ends and whether its connection stays open.

/// Longest head that is read.
const LONGEST_HEAD_BYTES: usize = 8 * 1024;
const MOST_HEADERS: usize = 64;

/// Not a request that this server answers. The connection is closed without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused;

/// A whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Whether another may follow on the same connection.
    pub(crate) keep_alive: bool,
}

/// The part of a request that has arrived so far; empty if requests arrive complete.
#[derive(Debug, Default)]
pub(crate) struct Head(Vec<u8>);

impl Head {
    /// Takes the bytes read. `None` while the request is incomplete.
    ///
    /// Answered are GET requests of HTTP/1.0 and 1.1 without a body, one at a time.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Option<Request>, Refused> {
        if self.0.is_empty() {
            let request = parse(bytes)?;
            if request.is_some() {
                return Ok(request);
            }
        }
        if self.0.len() + bytes.len() > LONGEST_HEAD_BYTES {
            return Err(Refused);
        }
        self.0.extend_from_slice(bytes);
        let request = parse(&self.0)?;
        if request.is_some() {
            self.0 = Vec::new();
        }
        Ok(request)
    }
}

fn parse(bytes: &[u8]) -> Result<Option<Request>, Refused> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    match head.parse(bytes) {
        Ok(httparse::Status::Partial) => Ok(None),
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => examine(&head).map(Some),
        // Data after the head is a body or a pipelined request.
        Ok(httparse::Status::Complete(_)) | Err(_) => Err(Refused),
    }
}

fn examine(head: &httparse::Request<'_, '_>) -> Result<Request, Refused> {
    let has_body = head.headers.iter().any(|header| {
        header.name.eq_ignore_ascii_case("transfer-encoding")
            || header.name.eq_ignore_ascii_case("content-length") && header.value != b"0"
    });
    if head.method != Some("GET") || has_body {
        return Err(Refused);
    }
    let says = |word: &str| {
        head.headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("connection"))
            .any(|header| header.value.eq_ignore_ascii_case(word.as_bytes()))
    };
    let keep_alive = match head.version {
        Some(0) => says("keep-alive"),
        _ => !says("close"),
    };
    Ok(Request { keep_alive })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOES_ON: Result<Option<Request>, Refused> = Ok(Some(Request { keep_alive: true }));
    const IS_LAST: Result<Option<Request>, Refused> = Ok(Some(Request { keep_alive: false }));

    #[test]
    fn requests_are_read_or_refused() {
        let table: [(&str, _, &str); 12] = [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", GOES_ON, "plain"),
            (
                "GET / HTTP/1.1\r\nConnection: Close\r\n\r\n",
                IS_LAST,
                "closing",
            ),
            ("GET / HTTP/1.0\r\n\r\n", IS_LAST, "the old version"),
            (
                "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
                GOES_ON,
                "the old one kept",
            ),
            (
                "GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
                GOES_ON,
                "an empty body",
            ),
            (
                "GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
                Err(Refused),
                "a body",
            ),
            (
                "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                Err(Refused),
                "chunks",
            ),
            ("POST / HTTP/1.1\r\n\r\n", Err(Refused), "another method"),
            ("GET / HTTP/1.1\r\n\r\nGET", Err(Refused), "one sent ahead"),
            ("\u{16}\u{3}\u{1}", Err(Refused), "TLS"),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Err(Refused), "HTTP/2"),
            ("GET / HTTP/1.1\r\nHo", Ok(None), "half a head"),
        ];
        for (text, expected, why) in table {
            assert_eq!(Head::default().feed(text.as_bytes()), expected, "{why}");
        }
    }

    #[test]
    fn a_request_may_come_byte_by_byte() {
        let mut head = Head::default();
        for _ in 0..2 {
            let (last, before) = b"GET / HTTP/1.1\r\n\r\n".split_last().unwrap();
            for &byte in before {
                assert_eq!(head.feed(&[byte]), Ok(None));
            }
            assert_eq!(head.feed(&[*last]), GOES_ON);
            assert_eq!(head.0.capacity(), 0, "nothing is kept");
        }
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let mut head = Head::default();
        assert_eq!(head.feed(b"GET / HTTP/1.1\r\nX: "), Ok(None));
        let line = [b'x'; 1024];
        let taken = (0..100)
            .take_while(|_| head.feed(&line) == Ok(None))
            .count();
        assert_eq!(taken, 7, "8 KiB less what came first");
        assert!(head.0.len() <= LONGEST_HEAD_BYTES);
    }
}
