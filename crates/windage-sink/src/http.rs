//! One OTLP/HTTP exchange: what is let in, what is answered, what is counted.
//!
//! The answers are those of the OTLP specification: an empty `Export…ServiceResponse` on
//! success, a `google.rpc.Status` with a message otherwise, both as protobuf.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use thiserror::Error;

use crate::Counts;
use crate::body::{BodyError, Encoding, Limits};
use crate::counts::Tally;
use crate::otlp::{self, Signal};
use crate::wire::WireError;

const PROTOBUF: &str = "application/x-protobuf";

/// Receives one request. It is counted before the answer leaves, so that whoever has the answer
/// finds it in the counts.
pub(crate) async fn answer(
    request: Request<Incoming>,
    tally: &Tally,
    limits: &Limits,
) -> Response<Full<Bytes>> {
    let open = Open { tally };
    let (head, mut body) = request.into_parts();
    let outcome = match admit(&head.method, head.uri.path(), &head.headers) {
        Ok((signal, encoding)) => receive(&mut body, signal, encoding, limits).await,
        Err(refusal) => Err(refusal),
    };
    match outcome {
        Ok(counts) => {
            open.settle(&counts);
            respond(StatusCode::OK, Bytes::new())
        }
        Err(refusal) => {
            open.settle(&refusal.counts());
            limits.discard(&mut body).await;
            refusal.response()
        }
    }
}

/// Decides by the head alone.
fn admit(method: &Method, path: &str, headers: &HeaderMap) -> Result<(Signal, Encoding), Refusal> {
    let signal = Signal::from_path(path).ok_or(Refusal::Path)?;
    if method != Method::POST {
        return Err(Refusal::Method);
    }
    match media_type(headers) {
        Some(kind) if kind.eq_ignore_ascii_case(PROTOBUF) => {}
        Some(kind) if kind.eq_ignore_ascii_case("application/json") => return Err(Refusal::Json),
        _ => return Err(Refusal::ContentType),
    }
    let encoding = match headers
        .get(header::CONTENT_ENCODING)
        .map(HeaderValue::as_bytes)
    {
        None => Encoding::Identity,
        Some(name) if name.eq_ignore_ascii_case(b"identity") => Encoding::Identity,
        Some(name) if name.eq_ignore_ascii_case(b"gzip") => Encoding::Gzip,
        Some(_) => return Err(Refusal::ContentEncoding),
    };
    Ok((signal, encoding))
}

/// The content type without its parameters.
fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    value.split(';').next().map(str::trim)
}

async fn receive(
    body: &mut Incoming,
    signal: Signal,
    encoding: Encoding,
    limits: &Limits,
) -> Result<Counts, Refusal> {
    let held = limits.read(body, encoding).await?;
    let carried = otlp::count(signal, &held.bytes)?;
    Ok(Counts {
        requests: 1,
        body_bytes: held.bytes.len() as u64,
        ..carried
    })
}

/// Why a request was not accepted; the text is what the client is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
enum Refusal {
    #[error("no such path; send to /v1/traces, /v1/metrics or /v1/logs")]
    Path,
    #[error("only POST is served here")]
    Method,
    #[error("OTLP/JSON is not decoded; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")]
    Json,
    #[error("the content type must be application/x-protobuf")]
    ContentType,
    #[error("the content encoding must be gzip or identity")]
    ContentEncoding,
    #[error("{}", body_text(*.0))]
    Body(BodyError),
    #[error("not an OTLP message: {0}")]
    Malformed(#[from] WireError),
}

impl From<BodyError> for Refusal {
    fn from(error: BodyError) -> Self {
        Refusal::Body(error)
    }
}

fn body_text(error: BodyError) -> &'static str {
    match error {
        BodyError::TooLarge => "the body is larger than the sink's bound; send smaller batches",
        BodyError::NoRoom => "too many large bodies at once; try again",
        BodyError::Slow => "the body took too long to arrive",
        BodyError::Cut => "the body ended before its end",
        BodyError::BadGzip => "the body is not valid gzip",
    }
}

impl Refusal {
    fn status(self) -> StatusCode {
        match self {
            Refusal::Path => StatusCode::NOT_FOUND,
            Refusal::Method => StatusCode::METHOD_NOT_ALLOWED,
            Refusal::Json | Refusal::ContentType | Refusal::ContentEncoding => {
                StatusCode::UNSUPPORTED_MEDIA_TYPE
            }
            Refusal::Body(BodyError::TooLarge) => StatusCode::PAYLOAD_TOO_LARGE,
            // One of the four that the OTLP specification lets exporters try again after.
            Refusal::Body(BodyError::NoRoom) => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Body(BodyError::Slow) => StatusCode::REQUEST_TIMEOUT,
            Refusal::Body(BodyError::Cut | BodyError::BadGzip) | Refusal::Malformed(_) => {
                StatusCode::BAD_REQUEST
            }
        }
    }

    fn counts(self) -> Counts {
        let malformed = matches!(
            self,
            Refusal::Malformed(_) | Refusal::Body(BodyError::BadGzip)
        );
        Counts {
            requests: 1,
            malformed: u64::from(malformed),
            rejected: u64::from(!malformed),
            rejected_json: u64::from(self == Refusal::Json),
            ..Counts::default()
        }
    }

    fn response(self) -> Response<Full<Bytes>> {
        let mut response = respond(self.status(), rpc_status(&self.to_string()));
        let headers = response.headers_mut();
        match self {
            Refusal::Method => {
                headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
            }
            Refusal::ContentEncoding => {
                headers.insert(
                    header::ACCEPT_ENCODING,
                    HeaderValue::from_static("gzip, identity"),
                );
            }
            _ => {}
        }
        response
    }
}

fn respond(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(PROTOBUF));
    response
}

/// A `google.rpc.Status` with nothing but its message (field 2); OTLP doesn't use the code.
fn rpc_status(message: &str) -> Bytes {
    let mut encoded = vec![2 << 3 | 2];
    let mut length = message.len();
    while length >= 0x80 {
        encoded.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    encoded.push(length as u8);
    encoded.extend_from_slice(message.as_bytes());
    encoded.into()
}

/// A request that is not settled yet. When its client goes away, hyper drops the exchange
/// wherever it stands; the request is then counted as cut instead of vanishing.
struct Open<'a> {
    tally: &'a Tally,
}

impl Open<'_> {
    fn settle(self, counts: &Counts) {
        self.tally.add(counts);
        std::mem::forget(self);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.tally.add(&Refusal::Body(BodyError::Cut).counts());
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[derive(Clone, PartialEq, Message)]
    struct RpcStatus {
        #[prost(int32, tag = "1")]
        code: i32,
        #[prost(string, tag = "2")]
        message: String,
    }

    #[test]
    fn refusals_decode_as_rpc_status() {
        for message in [
            "",
            "short",
            "x".repeat(127).as_str(),
            "x".repeat(20_000).as_str(),
        ] {
            let decoded = RpcStatus::decode(rpc_status(message)).unwrap();
            assert_eq!(
                decoded,
                RpcStatus {
                    code: 0,
                    message: message.to_owned()
                }
            );
        }
    }

    #[test]
    fn the_head_decides() {
        use Encoding::{Gzip, Identity};
        let proto = Some("application/x-protobuf");
        let traces = "/v1/traces";
        let table = [
            ("POST", traces, proto, None, Ok((Signal::Traces, Identity))),
            (
                "POST",
                "/v1/logs",
                proto,
                Some("gzip"),
                Ok((Signal::Logs, Gzip)),
            ),
            (
                "POST",
                "/v1/metrics",
                proto,
                Some("identity"),
                Ok((Signal::Metrics, Identity)),
            ),
            (
                "POST",
                traces,
                Some("Application/X-Protobuf; a=b"),
                Some("GZIP"),
                Ok((Signal::Traces, Gzip)),
            ),
            (
                "POST",
                traces,
                Some("application/json; charset=utf-8"),
                None,
                Err(Refusal::Json),
            ),
            (
                "POST",
                traces,
                Some("text/plain"),
                None,
                Err(Refusal::ContentType),
            ),
            ("POST", traces, None, None, Err(Refusal::ContentType)),
            (
                "POST",
                traces,
                proto,
                Some("zstd"),
                Err(Refusal::ContentEncoding),
            ),
            (
                "POST",
                traces,
                proto,
                Some("gzip, gzip"),
                Err(Refusal::ContentEncoding),
            ),
            ("GET", traces, proto, None, Err(Refusal::Method)),
            ("POST", "/v1/tracez", proto, None, Err(Refusal::Path)),
            ("GET", "/", None, None, Err(Refusal::Path)),
        ];
        for (method, path, kind, encoding, expected) in table {
            let mut headers = HeaderMap::new();
            for (name, value) in [
                (header::CONTENT_TYPE, kind),
                (header::CONTENT_ENCODING, encoding),
            ] {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(
                admit(&method, path, &headers),
                expected,
                "{method} {path} {kind:?} {encoding:?}"
            );
        }
    }

    #[test]
    fn each_refusal_is_counted_once() {
        let all = [
            Refusal::Path,
            Refusal::Method,
            Refusal::Json,
            Refusal::ContentType,
            Refusal::ContentEncoding,
            Refusal::Body(BodyError::TooLarge),
            Refusal::Body(BodyError::NoRoom),
            Refusal::Body(BodyError::Slow),
            Refusal::Body(BodyError::Cut),
            Refusal::Body(BodyError::BadGzip),
            Refusal::Malformed(WireError::Truncated),
        ];
        for refusal in all {
            let counts = refusal.counts();
            assert_eq!(counts.requests, 1, "{refusal:?}");
            assert_eq!(counts.rejected + counts.malformed, 1, "{refusal:?}");
            assert!(refusal.status().is_client_error() || refusal.status().is_server_error());
        }
    }
}
