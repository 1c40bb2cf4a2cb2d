//! HTTP/1.1 requests in wire format.

use super::fields::{Fields, LONGEST_NUMBER, Values, write_decimal};
use super::text::{Request, Text};

/// The most memory reserved for a message before its length is known.
const RESERVED_BYTES_MAX: usize = 16 * 1024;

/// A message that is ready except for the values of its fields.
#[derive(Debug)]
pub(super) struct Http1Message {
    /// The whole message, or everything before the value of Content-Length.
    start: Text,
    /// The content, if its length varies.
    measured_body: Option<Text>,
    reserved_bytes: usize,
}

impl Http1Message {
    /// Assembles a checked request.
    pub(super) fn new(request: &Request, fields: &Fields) -> Http1Message {
        let mut start = head(request);
        let measured_body = match request.body.as_literal() {
            Some(body) => {
                if has_content_length(request) {
                    push_header(&mut start, "Content-Length", &body.len().to_string().into());
                }
                start.push(b"\r\n");
                start.push(body);
                None
            }
            None => {
                start.push(b"Content-Length: ");
                Some(request.body.clone())
            }
        };
        let body_bytes = measured_body
            .as_ref()
            .map_or(0, |body| LONGEST_NUMBER + 4 + fields.longest_bytes(body));
        let reserved_bytes = (fields.longest_bytes(&start) + body_bytes).min(RESERVED_BYTES_MAX);
        Http1Message {
            start,
            measured_body,
            reserved_bytes,
        }
    }

    /// The message, if it is always the same.
    pub(super) fn constant(&self) -> Option<&[u8]> {
        match self.measured_body {
            None => self.start.as_literal(),
            Some(_) => None,
        }
    }

    /// Writes the message into `out`, replacing its content.
    pub(super) fn write(&self, values: Values<'_>, out: &mut Vec<u8>) {
        out.clear();
        // Reserves room for the longest message at once, so that later ones need no more.
        out.reserve(self.reserved_bytes);
        values.write(&self.start, out);
        if let Some(body) = &self.measured_body {
            write_decimal(values.bytes(body) as u64, out);
            out.extend_from_slice(b"\r\n\r\n");
            values.write(body, out);
        }
    }
}

/// Whether Content-Length is sent even without content.
pub(super) fn has_content_length(request: &Request) -> bool {
    !request.body.parts().is_empty() || matches!(&request.method[..], "POST" | "PUT" | "PATCH")
}

/// The request line and all headers except Content-Length.
fn head(request: &Request) -> Text {
    let mut head = Text::default();
    head.push(request.method.as_bytes());
    head.push(b" ");
    head.append(&request.path);
    head.push(b" HTTP/1.1\r\n");
    let is_host = |(name, _): &(String, Text)| name.eq_ignore_ascii_case("host");
    if !request.headers.iter().any(is_host) {
        push_header(&mut head, "Host", &request.authority[..].into());
    }
    for (name, value) in &request.headers {
        push_header(&mut head, name, value);
    }
    head
}

fn push_header(head: &mut Text, name: &str, value: &Text) {
    head.push(name.as_bytes());
    head.push(b": ");
    head.append(value);
    head.push(b"\r\n");
}
