//! Incremental parser of responses. Pure: bytes in, progress out.

use std::mem::MaybeUninit;

use crate::chunked::Chunked;
use crate::protocol_error::{MAX_HEAD_BYTES, ProtocolError};

const MAX_HEADERS: usize = 128;
/// Heads up to this length are remembered, see [`ResponseParser`].
const MAX_REMEMBERED_BYTES: usize = 4 * 1024;

/// The result of feeding bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed; all fed bytes are consumed.
    Partial,
    /// A whole final response; the parser is ready for the next.
    Complete {
        /// The response.
        answer: Answer,
        /// How many of the bytes fed belong to it.
        consumed: usize,
    },
}

/// A whole response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Whether another request may follow on the same connection.
    pub keep_alive: bool,
}

/// An incremental parser of HTTP/1.0 and HTTP/1.1 responses on one connection.
///
/// Interim (1xx) responses are skipped. Bodies are discarded, so memory is bounded by one head.
/// The last head is remembered: a server answers the same request with the same bytes until its
/// `Date` changes, and comparing them costs a tenth of parsing them.
#[derive(Debug)]
pub struct ResponseParser {
    is_head: bool,
    stage: Stage,
    answer: Answer,
    /// The head so far, if it arrived in pieces.
    partial: Vec<u8>,
    /// Length of `partial` at which it is parsed even without an empty line.
    next_attempt_bytes: usize,
    remembered: Vec<u8>,
    remembered_head: Head,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

/// What a head says about the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    answer: Answer,
    body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// No body, and the final response is still to come.
    Interim,
    Length(u64),
    Chunked,
    UntilClose,
}

impl ResponseParser {
    /// A parser for responses to one kind of request; those to HEAD have no body.
    #[must_use]
    pub fn new(is_head: bool) -> ResponseParser {
        let answer = Answer {
            status: 0,
            keep_alive: false,
        };
        ResponseParser {
            is_head,
            stage: Stage::Head,
            answer,
            partial: Vec::new(),
            next_attempt_bytes: 0,
            remembered: Vec::new(),
            remembered_head: Head {
                answer,
                body: Body::Interim,
            },
        }
    }

    /// Sets whether the next answers are to HEAD.
    #[inline]
    pub(crate) fn expect(&mut self, is_head: bool) {
        if self.is_head != is_head {
            self.is_head = is_head;
            // The remembered head may be framed differently.
            self.remembered.clear();
        }
    }

    /// Starts over on a new connection.
    pub fn reset(&mut self) {
        self.stage = Stage::Head;
        self.partial.clear();
    }

    /// Parses more bytes.
    ///
    /// # Errors
    /// When the bytes are not a response with a recognisable end. The connection is then unusable;
    /// call [`reset`](Self::reset) before the next.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Progress, ProtocolError> {
        let mut consumed = 0;
        loop {
            let rest = &bytes[consumed..];
            match &mut self.stage {
                Stage::Head => {
                    let Some((head, length)) = self.head(rest)? else {
                        return Ok(Progress::Partial);
                    };
                    consumed += length;
                    self.answer = head.answer;
                    self.stage = match head.body {
                        Body::Interim => Stage::Head,
                        Body::Length(length) => Stage::Length(length),
                        Body::Chunked => Stage::Chunked(Chunked::start()),
                        Body::UntilClose => Stage::UntilClose,
                    };
                }
                Stage::Length(left) => match usize::try_from(*left) {
                    Ok(left) if left <= rest.len() => return Ok(self.complete(consumed + left)),
                    _ => {
                        *left -= rest.len() as u64;
                        return Ok(Progress::Partial);
                    }
                },
                Stage::Chunked(chunked) => {
                    return match chunked.feed(rest)? {
                        Some(length) => Ok(self.complete(consumed + length)),
                        None => Ok(Progress::Partial),
                    };
                }
                Stage::UntilClose => return Ok(Progress::Partial),
            }
        }
    }

    /// Tells the parser that the connection ended. Returns the response if that was its end, and
    /// `None` if it was cut off or had not begun.
    pub fn finish(&mut self) -> Option<Answer> {
        let ended = matches!(self.stage, Stage::UntilClose);
        self.reset();
        ended.then_some(self.answer)
    }

    /// Whether any byte of the next response has arrived.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !matches!(self.stage, Stage::Head) || !self.partial.is_empty()
    }

    fn complete(&mut self, consumed: usize) -> Progress {
        self.stage = Stage::Head;
        Progress::Complete {
            answer: self.answer,
            consumed,
        }
    }

    /// The head and how many of `bytes` belong to it, or `None` after storing all of them.
    fn head(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, ProtocolError> {
        if !self.partial.is_empty() {
            return self.head_in_pieces(bytes);
        }
        if !self.remembered.is_empty() && bytes.starts_with(&self.remembered) {
            return Ok(Some((self.remembered_head, self.remembered.len())));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        match parse_head(bytes, self.is_head)? {
            Some((head, length)) => {
                if length <= MAX_REMEMBERED_BYTES {
                    self.remembered.clear();
                    self.remembered.extend_from_slice(&bytes[..length]);
                    self.remembered_head = head;
                }
                Ok(Some((head, length)))
            }
            None => {
                self.partial.extend_from_slice(bytes);
                self.next_attempt_bytes = 2 * bytes.len();
                Ok(None)
            }
        }
    }

    /// Parsing again at every piece would take quadratic time. So it is tried after an empty line
    /// and at doubled lengths, which rejects early what can't become a head.
    fn head_in_pieces(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, ProtocolError> {
        let before = self.partial.len();
        let kept = bytes.len().min(MAX_HEAD_BYTES + 1 - before);
        self.partial.extend_from_slice(&bytes[..kept]);
        let fresh = &self.partial[before.saturating_sub(2)..];
        let length = self.partial.len();
        if length < self.next_attempt_bytes && length <= MAX_HEAD_BYTES && !has_empty_line(fresh) {
            return Ok(None);
        }
        self.next_attempt_bytes = 2 * length;
        let Some((head, length)) = parse_head(&self.partial, self.is_head)? else {
            return Ok(None);
        };
        self.partial.clear();
        // Every empty line triggers an attempt, so the head can't have ended earlier.
        Ok(Some((head, length.saturating_sub(before))))
    }
}

fn has_empty_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|w| w == b"\n\n") || bytes.windows(3).any(|w| w == b"\n\r\n")
}

/// The head at the start of `bytes` and its length; `None` when more bytes are needed.
fn parse_head(bytes: &[u8], is_head: bool) -> Result<Option<(Head, usize)>, ProtocolError> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    );
    let length = match parsed.map_err(ProtocolError::Head)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial if bytes.len() <= MAX_HEAD_BYTES => return Ok(None),
        httparse::Status::Partial => return Err(ProtocolError::HeadTooLong),
    };
    if length > MAX_HEAD_BYTES {
        return Err(ProtocolError::HeadTooLong);
    }
    let status = response.code.unwrap_or(0);
    let fields = Fields::of(response.headers, response.version == Some(1))?;
    let body = match status {
        101 => return Err(ProtocolError::Switched),
        100..=199 => Body::Interim,
        204 | 304 => Body::Length(0),
        _ if is_head => Body::Length(0),
        _ => fields.body,
    };
    // Without a length, the body ends with the connection.
    let keep_alive = fields.keep_alive && body != Body::UntilClose;
    Ok(Some((
        Head {
            answer: Answer { status, keep_alive },
            body,
        },
        length,
    )))
}

/// The headers that decide how the body ends and whether the connection stays open.
struct Fields {
    keep_alive: bool,
    body: Body,
}

impl Fields {
    fn of(headers: &[httparse::Header<'_>], is_http_1_1: bool) -> Result<Fields, ProtocolError> {
        let (mut closes, mut stays) = (false, is_http_1_1);
        let mut length = None;
        let mut coded = None;
        for header in headers {
            // The lengths of the three names rule out most other headers without comparing.
            match header.name.len() {
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for option in list(header.value) {
                        closes |= option.eq_ignore_ascii_case(b"close");
                        stays |= option.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    length = Some(content_length(header.value, length)?);
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    coded = list(header.value)
                        .last()
                        .map(|last| last.eq_ignore_ascii_case(b"chunked"));
                }
                _ => {}
            }
        }
        // A transfer coding overrides a length (RFC 9112, 6.3).
        let body = match (coded, length) {
            (Some(true), _) => Body::Chunked,
            (None, Some(length)) => Body::Length(length),
            (Some(false), _) | (None, None) => Body::UntilClose,
        };
        Ok(Fields {
            keep_alive: stays && !closes,
            body,
        })
    }
}

/// The members of a comma-separated list, trimmed.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(<[u8]>::trim_ascii)
}

/// One number, or the same number repeated, in one header or in several.
fn content_length(value: &[u8], mut before: Option<u64>) -> Result<u64, ProtocolError> {
    for member in list(value) {
        // `parse` would accept a leading plus sign.
        let digits = member.iter().all(u8::is_ascii_digit).then_some(member);
        let number = digits
            .and_then(|d| str::from_utf8(d).ok())
            .and_then(|d| d.parse().ok());
        match (number, before) {
            (Some(number), None) => before = Some(number),
            (Some(number), Some(before)) if number == before => {}
            _ => return Err(ProtocolError::ContentLength),
        }
    }
    before.ok_or(ProtocolError::ContentLength)
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
