//! One request and its answer in any protocol: what is admitted, how its body is decoded, what its
//! sender gets.

use std::borrow::Cow;
use std::time::Duration;

use thiserror::Error;

use crate::malformed::Malformed;
use crate::receipt::Receipt;
use crate::signal::Signal;

/// The head of a request over HTTP/1.1.
pub(crate) type Head = hyper::http::request::Parts;

/// A header's value, if it is present and is text.
pub(crate) fn header<'a>(head: &'a Head, name: &str) -> Option<&'a str> {
    head.headers.get(name)?.to_str().ok()
}

/// Whether the content type is this one, ignoring parameters.
pub(crate) fn is_of_type(head: &Head, media_type: &str) -> bool {
    header(head, "content-type")
        .and_then(|value| value.split(';').next())
        .is_some_and(|is| is.trim().eq_ignore_ascii_case(media_type))
}

/// How the body is compressed on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Identity,
    Gzip,
}

/// How a complete body is counted.
pub(crate) type DecodeWhole = fn(&[u8], &mut Receipt) -> Result<(), Malformed>;

/// How a body is treated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decode {
    /// OTLP protobuf, counted while it arrives.
    OtlpProtobuf(Signal),
    /// Held until it is complete.
    Whole(DecodeWhole),
    /// Not read: its counts are known without it.
    Unread(fn(&mut Receipt)),
}

/// An admitted request.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) decode: Decode,
    pub(crate) encoding: Encoding,
    /// The answer on success.
    pub(crate) accepted: Answer,
    /// The form of errors.
    pub(crate) form: Form,
}

/// The form in which a protocol reports errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A `google.rpc.Status`, and partial successes, as protobuf.
    OtlpProtobuf(Signal),
    /// The same as JSON.
    OtlpJson(Signal),
    /// A line of text.
    Text,
}

/// An answer over HTTP/1.1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Cow<'static, [u8]>,
    /// A header in addition to those of every answer.
    pub(crate) header: Option<(&'static str, Cow<'static, str>)>,
}

impl Answer {
    pub(crate) fn new(
        status: u16,
        content_type: &'static str,
        body: impl Into<Cow<'static, [u8]>>,
    ) -> Answer {
        Answer {
            status,
            content_type,
            body: body.into(),
            header: None,
        }
    }

    pub(crate) fn with(
        mut self,
        name: &'static str,
        value: impl Into<Cow<'static, str>>,
    ) -> Answer {
        self.header = Some((name, value.into()));
        self
    }
}

/// Why a request was not accepted. The text is sent to its sender.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    /// The text names the valid paths.
    #[error("no such path; {0}")]
    Path(&'static str),
    /// The allowed methods.
    #[error("only {0} is served here")]
    Method(&'static str),
    /// The allowed content types.
    #[error("the content type must be {0}")]
    ContentType(&'static str),
    #[error("the content encoding must be gzip or identity")]
    ContentEncoding,
    /// Larger than the limit, compressed or decompressed.
    #[error("the body is larger than the sink's limit; send smaller batches")]
    TooLarge,
    #[error("too many large bodies at once; try again")]
    NoRoom,
    #[error("the body took too long to arrive")]
    Slow,
    #[error("the body is incomplete")]
    Cut,
    #[error("the body is not valid gzip")]
    BadGzip,
    #[error("{0}")]
    Malformed(#[from] Malformed),
    /// The backend's behaviour requires it.
    #[error("this backend is set to refuse requests")]
    Backend {
        status: u16,
        retry_after: Option<Duration>,
    },
}

impl Refusal {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Refusal::Path(_) => 404,
            Refusal::Method(_) => 405,
            Refusal::ContentType(_) | Refusal::ContentEncoding => 415,
            Refusal::TooLarge => 413,
            // One of the four statuses after which the OTLP specification lets exporters retry.
            Refusal::NoRoom => 503,
            Refusal::Slow => 408,
            Refusal::Cut | Refusal::BadGzip | Refusal::Malformed(_) => 400,
            Refusal::Backend { status, .. } => *status,
        }
    }

    pub(crate) fn is_malformed(&self) -> bool {
        matches!(self, Refusal::Malformed(_) | Refusal::BadGzip)
    }

    /// An additional header of the answer.
    pub(crate) fn header(&self) -> Option<(&'static str, Cow<'static, str>)> {
        match self {
            Refusal::Method(allowed) => Some(("allow", Cow::Borrowed(allowed))),
            Refusal::ContentEncoding => Some(("accept-encoding", "gzip, identity".into())),
            Refusal::Backend {
                retry_after: Some(after),
                ..
            } => {
                // The header allows whole seconds only; 0 would mean "at once".
                let seconds = after.as_millis().div_ceil(1000);
                Some(("retry-after", seconds.to_string().into()))
            }
            _ => None,
        }
    }
}

/// The encoding that a head declares.
pub(crate) fn encoding(head: &Head) -> Result<Encoding, Refusal> {
    match header(head, "content-encoding") {
        None => Ok(Encoding::Identity),
        Some(name) if name.eq_ignore_ascii_case("identity") => Ok(Encoding::Identity),
        Some(name) if name.eq_ignore_ascii_case("gzip") => Ok(Encoding::Gzip),
        Some(_) => Err(Refusal::ContentEncoding),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The head of a request with these headers.
    pub(crate) fn head(method: &str, path: &str, headers: &[(&str, &str)]) -> Head {
        let request = hyper::Request::builder().method(method).uri(path);
        let with = |request: hyper::http::request::Builder, (name, value): &(&str, &str)| {
            request.header(*name, *value)
        };
        let request = headers.iter().fold(request, with);
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn retry_after_is_in_whole_seconds_and_never_zero() {
        for (ms, seconds) in [(1, "1"), (1000, "1"), (1001, "2")] {
            let refusal = Refusal::Backend {
                status: 429,
                retry_after: Some(Duration::from_millis(ms)),
            };
            assert_eq!(refusal.header(), Some(("retry-after", seconds.into())));
        }
    }
}
