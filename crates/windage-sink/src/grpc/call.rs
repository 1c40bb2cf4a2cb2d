//! One call: its message in, its status out.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::RecvStream;
use h2::server::SendResponse;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::time::timeout;

use crate::account::Ticket;
use crate::behaviour::Wait;
use crate::exchange::{Decode, Encoding, Form, Head, Refusal, Route, header};
use crate::grpc::line::Line;
use crate::grpc::status;
use crate::malformed::Malformed;
use crate::otlp;
use crate::receiver::{Ending, Receiver, Underway, Verdict};
use crate::room::Room;
use crate::signal::Signal;

/// How long a message may take to arrive; exporters give up after 10 s by default.
const ARRIVES_WITHIN: Duration = Duration::from_secs(30);

/// How long an answer may wait for room in its caller's flow-control window. An answer has a few bytes:
/// only a client that never reads has no room for it.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

/// What a call takes without its message: its task, and its stream in `h2`.
const CALL_BYTES: usize = 4 << 10;

/// Each message is preceded by a flag and its length.
const PREFIX_BYTES: usize = 5;

/// A call that was admitted by its head.
///
/// The head is gone by then: a caller may take its time to send the message, and a head can take several
/// times the memory of the size by which it is limited.
pub(super) struct Call {
    body: RecvStream,
    respond: SendResponse<Bytes>,
    signal: Signal,
    encoding: Encoding,
    /// Returned when the call has ended.
    room: Room,
}

impl Call {
    /// Decides about a call by its head; `None`: it was refused.
    pub(super) fn admit(
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        receiver: &Receiver,
    ) -> Option<Call> {
        let (head, body) = request.into_parts();
        let admitted = admit(&head).and_then(|(signal, encoding)| {
            let mut room = receiver.account.budget.room();
            room.grow_to(CALL_BYTES)?;
            Ok((signal, encoding, room))
        });
        match admitted {
            Ok((signal, encoding, room)) => Some(Call {
                body,
                respond,
                signal,
                encoding,
                room,
            }),
            Err(refusal) => {
                receiver.not_taken(&refusal);
                if is_grpc(&head.headers) {
                    refuse(&mut respond, &refusal);
                } else {
                    refuse_other(&mut respond, &refusal);
                }
                None
            }
        }
    }

    /// Receives the message and answers.
    pub(super) async fn serve(self, receiver: Arc<Receiver>, line: Rc<Line>) {
        let Call {
            body,
            mut respond,
            signal,
            encoding,
            room: _room,
        } = self;
        match take_in(body, signal, encoding, &receiver).await {
            Verdict::Accepted {
                answer,
                wait,
                mut ticket,
            } => {
                if wait != Wait::No {
                    ticket.pend();
                }
                if waited(&mut respond, &receiver, wait).await
                    && answer_in_time(&mut respond, &answer.body, &line, &mut ticket).await
                {
                    ticket.answered();
                }
            }
            Verdict::Refused(refusal) => refuse(&mut respond, &refusal),
            Verdict::Reset => {
                line.end(Ending::Reset);
                // While the call is held, its stream gets no reset of its own.
                line.ends().await;
            }
        }
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get("content-type").map(HeaderValue::as_bytes);
    content_type.is_some_and(|value| value.starts_with(b"application/grpc"))
}

/// Decides about a call by its head alone.
fn admit(head: &Head) -> Result<(Signal, Encoding), Refusal> {
    if !is_grpc(&head.headers) {
        return Err(Refusal::ContentType("application/grpc"));
    }
    let signal = Signal::from_method(head.uri.path()).ok_or(Refusal::Path(
        "call Export of OTLP's trace, metrics, logs or profiles service",
    ))?;
    if head.method != "POST" {
        return Err(Refusal::Method("POST"));
    }
    let encoding = match header(head, "grpc-encoding") {
        None | Some("identity") => Encoding::Identity,
        Some("gzip") => Encoding::Gzip,
        Some(_) => return Err(Refusal::ContentEncoding),
    };
    Ok((signal, encoding))
}

/// Reads the call's message within its time limit.
async fn take_in(
    mut body: RecvStream,
    signal: Signal,
    encoding: Encoding,
    receiver: &Arc<Receiver>,
) -> Verdict {
    let mut underway = None;
    let reading = async {
        let (encoding, bytes, first) = prefix(&mut body, encoding).await?;
        if bytes > receiver.max_body_bytes {
            return Err(Refusal::TooLarge);
        }
        let form = Form::OtlpProtobuf(signal);
        let underway = underway.insert(receiver.begin(Route {
            decode: Decode::OtlpProtobuf(signal),
            encoding,
            accepted: otlp::accepted(form),
            form,
        })?);
        message(&mut body, bytes, first, underway).await
    };
    let read = timeout(ARRIVES_WITHIN, reading).await;
    match (underway, read.unwrap_or(Err(Refusal::Slow))) {
        (Some(underway), Ok(())) => underway.finish(),
        (Some(mut underway), Err(refusal)) => {
            underway.settle(&refusal);
            Verdict::Refused(refusal)
        }
        (None, read) => {
            let refusal = read.err().unwrap_or(Refusal::Cut);
            receiver.not_taken(&refusal);
            Verdict::Refused(refusal)
        }
    }
}

/// Reads the prefix of a message: its encoding and length, and any bytes of the message that came
/// along.
async fn prefix(
    body: &mut RecvStream,
    encoding: Encoding,
) -> Result<(Encoding, usize, Bytes), Refusal> {
    let mut data = Bytes::new();
    while data.len() < PREFIX_BYTES {
        let more = next(body).await?.ok_or(Refusal::Cut)?;
        data = if data.is_empty() {
            more
        } else {
            [data, more].concat().into()
        };
    }
    let encoding = match (data.get_u8(), encoding) {
        (0, _) => Encoding::Identity,
        (1, Encoding::Gzip) => Encoding::Gzip,
        (1, Encoding::Identity) => {
            let why = "it is compressed, but the call names no encoding";
            return Err(Malformed::Grpc(why).into());
        }
        _ => return Err(Malformed::Grpc("its first byte is neither 0 nor 1").into()),
    };
    Ok((encoding, data.get_u32() as usize, data))
}

/// Reads a message of that many bytes, and checks that no other follows.
async fn message(
    body: &mut RecvStream,
    mut left_bytes: usize,
    first: Bytes,
    underway: &mut Underway,
) -> Result<(), Refusal> {
    let mut data = Some(first);
    while let Some(piece) = data {
        left_bytes = left_bytes
            .checked_sub(piece.len())
            .ok_or(Malformed::Grpc("a unary call has one message"))?;
        underway.push(&piece)?;
        data = match next(body).await {
            // A caller that disconnects after its last byte has still delivered everything.
            Err(_) if left_bytes == 0 => None,
            next => next?,
        };
    }
    if left_bytes == 0 {
        Ok(())
    } else {
        Err(Refusal::Cut)
    }
}

/// The next data of a call, released from its sender's flow-control window.
async fn next(body: &mut RecvStream) -> Result<Option<Bytes>, Refusal> {
    let data = body.data().await.transpose().map_err(|_| Refusal::Cut)?;
    if let Some(data) = &data {
        let _ = body.flow_control().release_capacity(data.len());
    }
    Ok(data)
}

/// Waits as the backend's behaviour requires. Returns whether the caller is still there.
async fn waited(respond: &mut SendResponse<Bytes>, receiver: &Receiver, wait: Wait) -> bool {
    if wait == Wait::No {
        return true;
    }
    tokio::select! {
        // A caller that has left gets no answer, even if one could be sent.
        biased;
        _ = poll_fn(|context| respond.poll_reset(context)) => false,
        () = receiver.wait(wait) => true,
    }
}

/// Reports success within the time limit; otherwise the connection ends, whose client reads nothing.
/// Returns whether the answer was sent.
async fn answer_in_time(
    respond: &mut SendResponse<Bytes>,
    message: &[u8],
    line: &Line,
    ticket: &mut Ticket,
) -> bool {
    let sent = timeout(ANSWERED_WITHIN, succeed(respond, message, line, ticket)).await;
    if sent.is_err() {
        line.end(Ending::Closed);
    }
    matches!(sent, Ok(Some(())))
}

/// Reports success; `None` when that may not have reached the caller.
async fn succeed(
    respond: &mut SendResponse<Bytes>,
    message: &[u8],
    line: &Line,
    ticket: &mut Ticket,
) -> Option<()> {
    let mut framed = BytesMut::with_capacity(PREFIX_BYTES + message.len());
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    let mut stream = respond.send_response(head(), false).ok()?;
    stream.reserve_capacity(framed.len());
    while stream.capacity() < framed.len() {
        // The caller's window has no room for the answer yet.
        ticket.pend();
        poll_fn(|context| stream.poll_capacity(context))
            .await?
            .ok()?;
    }
    stream.send_data(framed.freeze(), false).ok()?;
    stream.send_trailers(status::success()).ok()?;
    // The connection was woken and writes before this call continues.
    tokio::task::yield_now().await;
    (!line.is_over()).then_some(())
}

/// Sends head and status in one frame. If the caller is still sending, its stream is reset once
/// that is written, because nothing holds it any more.
fn refuse(respond: &mut SendResponse<Bytes>, refusal: &Refusal) {
    let mut response = head();
    response.headers_mut().extend(status::refusal(refusal));
    // A caller that has left needs no reason.
    let _ = respond.send_response(response, true);
}

/// Over plain HTTP/2 there is no gRPC status behind the answer, so the HTTP status reports the error.
fn refuse_other(respond: &mut SendResponse<Bytes>, refusal: &Refusal) {
    let mut response = Response::new(());
    *response.status_mut() =
        StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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
