//! One call: its message in, its status out.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, Response};
use tokio::time::timeout;

use crate::account::Ticket;
use crate::behaviour::Wait;
use crate::exchange::{Decode, Encoding, Form, Refusal, Route};
use crate::grpc::connection::Line;
use crate::grpc::message::{Framed, framed};
use crate::grpc::status;
use crate::malformed::Malformed;
use crate::otlp::{self, Signal};
use crate::receiver::{Receiver, Underway, Verdict};

/// How long a message may take to arrive; exporters give up after 10 s by default.
const ARRIVES_WITHIN: Duration = Duration::from_secs(30);

/// Serves one call.
pub(super) async fn serve(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    receiver: Arc<Receiver>,
    line: Rc<Line>,
) {
    let (head, body) = request.into_parts();
    if !is_grpc(&head.headers) {
        receiver.not_taken(&Refusal::ContentType("application/grpc"));
        let mut response = Response::new(());
        // Over plain HTTP/2 there is no status behind the answer to tell it with.
        *response.status_mut() = hyper::StatusCode::UNSUPPORTED_MEDIA_TYPE;
        let _ = respond.send_response(response, true);
        return;
    }
    let verdict = match admit(&head.method, head.uri.path(), &head.headers) {
        Ok((signal, encoding)) => take_in(body, signal, encoding, &receiver).await,
        Err(refusal) => {
            receiver.not_taken(&refusal);
            Verdict::Refused(refusal)
        }
    };
    match verdict {
        Verdict::Accepted {
            answer,
            wait,
            mut ticket,
        } => {
            if wait != Wait::No {
                ticket.pend();
            }
            let is_there = waited(&mut respond, &receiver, wait).await;
            let sent = is_there
                && succeed(&mut respond, &answer.body, &line, &mut ticket)
                    .await
                    .is_some();
            if sent {
                ticket.answered();
            }
        }
        Verdict::Refused(refusal) => refuse(&mut respond, &refusal),
        Verdict::Reset => {
            line.reset();
            // As long as the call is held, its stream gets no reset of its own.
            line.ends().await;
        }
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get("content-type").map(HeaderValue::as_bytes);
    content_type.is_some_and(|value| value.starts_with(b"application/grpc"))
}

/// Decides about a call by its head alone.
fn admit(
    method: &hyper::Method,
    path: &str,
    headers: &HeaderMap,
) -> Result<(Signal, Encoding), Refusal> {
    let signal = Signal::from_method(path).ok_or(Refusal::Path(
        "call Export of OTLP's trace, metrics, logs or profiles service",
    ))?;
    if method != hyper::Method::POST {
        return Err(Refusal::Method("POST"));
    }
    let encoding = match headers.get("grpc-encoding").map(HeaderValue::as_bytes) {
        None | Some(b"identity") => Encoding::Identity,
        Some(b"gzip") => Encoding::Gzip,
        Some(_) => return Err(Refusal::ContentEncoding),
    };
    Ok((signal, encoding))
}

/// Reads the call's message within the time it has.
async fn take_in(
    mut body: RecvStream,
    signal: Signal,
    encoding: Encoding,
    receiver: &Arc<Receiver>,
) -> Verdict {
    let mut incoming = Incoming {
        frames: Framed::default(),
        underway: None,
        signal,
        encoding,
        receiver,
    };
    let read = timeout(ARRIVES_WITHIN, incoming.read(&mut body)).await;
    let refusal = match read.unwrap_or(Err(Refusal::Slow)) {
        Ok(()) if incoming.frames.is_whole() => None,
        Ok(()) => Some(Refusal::Cut),
        Err(refusal) => Some(refusal),
    };
    match (incoming.underway, refusal) {
        (Some(underway), None) => underway.finish(),
        (Some(mut underway), Some(refusal)) => {
            underway.settle(&refusal);
            Verdict::Refused(refusal)
        }
        (None, refusal) => {
            let refusal = refusal.unwrap_or(Refusal::Cut);
            receiver.not_taken(&refusal);
            Verdict::Refused(refusal)
        }
    }
}

/// A message on its way.
struct Incoming<'a> {
    frames: Framed,
    underway: Option<Underway>,
    signal: Signal,
    encoding: Encoding,
    receiver: &'a Arc<Receiver>,
}

impl Incoming<'_> {
    async fn read(&mut self, body: &mut RecvStream) -> Result<(), Refusal> {
        while let Some(data) = body.data().await {
            let data = match data {
                Ok(data) => data,
                // A caller that leaves behind its last byte has still delivered all of it.
                Err(_) if self.frames.is_whole() => return Ok(()),
                Err(_) => return Err(Refusal::Cut),
            };
            let taken = self.take(&data);
            // What was looked at no longer counts against the sender's window.
            let _ = body.flow_control().release_capacity(data.len());
            taken?;
        }
        Ok(())
    }

    fn take(&mut self, mut data: &[u8]) -> Result<(), Refusal> {
        if self.underway.is_none() {
            let Some(announced) = self.frames.prefix(&mut data)? else {
                return Ok(());
            };
            if announced.bytes as usize > self.receiver.max_body_bytes {
                return Err(Refusal::TooLarge);
            }
            let encoding = match (announced.is_compressed, self.encoding) {
                (false, _) => Encoding::Identity,
                (true, Encoding::Gzip) => Encoding::Gzip,
                (true, Encoding::Identity) => {
                    let why = "it is compressed, and the call does not say how";
                    return Err(Malformed::Grpc(why).into());
                }
            };
            let form = Form::OtlpProtobuf(self.signal);
            self.underway = Some(self.receiver.begin(Route {
                decode: Decode::OtlpProtobuf(self.signal),
                encoding,
                accepted: otlp::accepted(form),
                form,
            })?);
        }
        self.frames.take(data)?;
        match &mut self.underway {
            Some(underway) if !data.is_empty() => underway.push(data),
            _ => Ok(()),
        }
    }
}

/// Waits as the backend's behaviour asks; whether the caller is still there afterwards.
async fn waited(respond: &mut SendResponse<Bytes>, receiver: &Receiver, wait: Wait) -> bool {
    if wait == Wait::No {
        return true;
    }
    tokio::select! {
        // A caller that has left gets no answer, even when it could.
        biased;
        _ = poll_fn(|context| respond.poll_reset(context)) => false,
        () = receiver.wait(wait) => true,
    }
}

/// Tells of success; `None` when that may not have reached the caller.
async fn succeed(
    respond: &mut SendResponse<Bytes>,
    message: &[u8],
    line: &Line,
    ticket: &mut Ticket,
) -> Option<()> {
    let message = Bytes::from(framed(message));
    let mut stream = respond.send_response(head(), false).ok()?;
    stream.reserve_capacity(message.len());
    while stream.capacity() < message.len() {
        // The caller's window has no room for the answer yet.
        ticket.pend();
        poll_fn(|context| stream.poll_capacity(context))
            .await?
            .ok()?;
    }
    stream.send_data(message, false).ok()?;
    stream.send_trailers(status::success()).ok()?;
    // The connection, woken by now, writes before this call goes on.
    tokio::task::yield_now().await;
    (!line.is_over()).then_some(())
}

/// Head and status in one: nothing else is said. When the caller is still sending, its stream is
/// reset as soon as that is written, because nobody holds it any more.
fn refuse(respond: &mut SendResponse<Bytes>, refusal: &Refusal) {
    let mut response = head();
    response.headers_mut().extend(status::refusal(refusal));
    // A caller that is gone needs no reason.
    let _ = respond.send_response(response, true);
}

fn head() -> Response<()> {
    let mut response = Response::new(());
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/grpc"));
    headers.insert(
        "grpc-accept-encoding",
        HeaderValue::from_static("identity,gzip"),
    );
    response
}
