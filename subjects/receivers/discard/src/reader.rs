//! Finds where one request ends and the next begins.

/// More header fields than any sender of telemetry has.
const MOST_FIELDS: usize = 32;

/// A longer head is an error, which limits the memory per connection.
const MOST_HEAD_BYTES: usize = 16 * 1024;

/// The state of one connection between two reads.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The beginning of an incomplete head.
    head: Vec<u8>,
    /// How many bytes of the current body are still missing.
    body_left: usize,
    is_in_body: bool,
}

impl Reader {
    /// Takes the bytes read and returns how many requests ended in them.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Result<u64, String> {
        let mut requests = 0;
        loop {
            if !self.is_in_body {
                match self.take_head(bytes)? {
                    Some(taken) => bytes = &bytes[taken..],
                    None => return Ok(requests),
                }
            }
            let taken = self.body_left.min(bytes.len());
            bytes = &bytes[taken..];
            self.body_left -= taken;
            if self.body_left > 0 {
                return Ok(requests);
            }
            self.is_in_body = false;
            requests += 1;
            if bytes.is_empty() {
                return Ok(requests);
            }
        }
    }

    /// How many of the bytes belong to the head that ends in them; `None` when it does not end.
    fn take_head(&mut self, bytes: &[u8]) -> Result<Option<usize>, String> {
        let before = self.head.len();
        let head = if before == 0 {
            parse(bytes)?
        } else {
            self.head.extend_from_slice(bytes);
            parse(&self.head)?
        };
        let Some((head_bytes, body_bytes)) = head else {
            if before == 0 {
                self.head.extend_from_slice(bytes);
            }
            if self.head.len() > MOST_HEAD_BYTES {
                return Err(format!("a head is longer than {MOST_HEAD_BYTES} bytes"));
            }
            return Ok(None);
        };
        self.head.clear();
        (self.body_left, self.is_in_body) = (body_bytes, true);
        Ok(Some(head_bytes - before))
    }
}

/// The lengths of head and body; `None` while the head is incomplete.
fn parse(bytes: &[u8]) -> Result<Option<(usize, usize)>, String> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let status = request
        .parse(bytes)
        .map_err(|error| format!("a request is malformed: {error}"))?;
    let httparse::Status::Complete(head_bytes) = status else {
        return Ok(None);
    };
    let length = request
        .headers
        .iter()
        .find(|field| field.name.eq_ignore_ascii_case("content-length"))
        .and_then(|field| std::str::from_utf8(field.value).ok()?.parse().ok())
        .ok_or("a request does not tell its length; chunks are not understood")?;
    Ok(Some((head_bytes, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[u8] = b"POST /v1/traces HTTP/1.1\r\nHost: a\r\ncontent-length: 5\r\n\r\nGET /\
        POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n";

    #[test]
    fn requests_are_counted_wherever_reads_split_them() {
        for first in 0..=TWO.len() {
            for second in first..=TWO.len() {
                let mut reader = Reader::default();
                let parts = [&TWO[..first], &TWO[first..second], &TWO[second..]];
                let mut requests = 0;
                for part in parts.into_iter().filter(|part| !part.is_empty()) {
                    requests += reader.take(part).unwrap();
                }
                assert_eq!(requests, 2, "cut at {first} and {second}");
                assert!(reader.head.is_empty() && !reader.is_in_body);
            }
        }
    }

    #[test]
    fn requests_without_a_known_length_are_errors() {
        let long = [b'a'; MOST_HEAD_BYTES + 1];
        let table: [(&[u8], &str); 4] = [
            (b"POST / HTTP/1.1\r\n\r\n", "length"),
            (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "length"),
            (b"\x00\r\n\r\n", "malformed"),
            (&long, "longer than 16384"),
        ];
        for (bytes, expected) in table {
            let error = Reader::default().take(bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
