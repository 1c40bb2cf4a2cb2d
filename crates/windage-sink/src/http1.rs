//! HTTP/1.1 by hyper. This module adds bounds on what a sender may do, and leads a request to its
//! answer.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, EXPECT, HeaderName, HeaderValue};
use hyper::server::conn::http1::{Builder, Parts};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use crate::behaviour::Wait;
use crate::exchange::{Answer, Refusal};
use crate::metered::{Metered, Traffic};
use crate::otlp;
use crate::receiver::{Ending, Receiver, Underway, Verdict};

/// How long a connection may idle, and how long the next head may take to arrive. Longer than the
/// 60 s between two metric exports, so that exporters need not reconnect for each.
const HEAD_WITHIN: Duration = Duration::from_secs(90);
/// How long a body may take to arrive; exporters give up after 10 s by default.
const BODY_WITHIN: Duration = Duration::from_secs(30);
/// How long a sender may go on after the last answer of its connection.
const LINGERS: Duration = Duration::from_secs(2);
/// A sender that sends more than this after the last answer is cut off: loopback can carry
/// gigabytes per second.
const LINGERS_FOR_BYTES: u64 = 1 << 30;
/// Consecutive reads before other connections get their turn.
const READS_IN_A_ROW: usize = 16;
/// The size of a read, and the longest head. Every connection keeps a buffer of this size.
const BUFFER_BYTES: usize = 24 << 10;

/// Ends a connection without an answer.
#[derive(Debug, Error)]
#[error("this backend is set to reset connections")]
struct Reset;

/// Serves requests until the client leaves, idles too long or breaks the protocol.
pub(crate) async fn serve<S>(stream: S, receiver: &Arc<Receiver>) -> Ending
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let traffic = Rc::new(Traffic::default());
    let metered = Metered::new(stream, Arc::clone(receiver), Rc::clone(&traffic));
    let service = service_fn(|request| Box::pin(answer(request, receiver, &traffic)));
    let mut connection = Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(BUFFER_BYTES)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(metered), service);
    // A request that has arrived is read in one go: half of it would hold memory while other
    // connections have their turn.
    let ended = poll_fn(|context| {
        for _ in 0..READS_IN_A_ROW {
            let polled = connection.poll_without_shutdown(context);
            if polled.is_ready() || !traffic.was_read.take() {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    let Parts { io, read_buf, .. } = connection.into_parts();
    let mut metered = io.into_inner();
    match ended {
        Ok(()) => {}
        Err(error) if error.is_user() => return Ending::Reset,
        Err(error) => {
            if let Some(status) = broken(&error, !read_buf.is_empty(), receiver) {
                let answer =
                    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                // A sender that has left needs no answer.
                let _ = metered.write_all(answer.as_bytes()).await;
            }
        }
    }
    end(metered).await;
    Ending::Closed
}

/// Counts a request whose head could not be read. Returns the status, unless hyper has sent it.
fn broken(error: &hyper::Error, has_begun: bool, receiver: &Receiver) -> Option<StatusCode> {
    if error.is_parse() {
        receiver.not_taken(&Refusal::Cut);
        error
            .is_parse_version_h2()
            .then_some(StatusCode::BAD_REQUEST)
    } else if error.is_timeout() && has_begun {
        receiver.not_taken(&Refusal::Slow);
        Some(StatusCode::REQUEST_TIMEOUT)
    } else {
        None
    }
}

/// Ends the connection. If the sender is still sending, closing would reset it and the last answer
/// might get lost, so input is discarded for a while (RFC 9112, section 9.6).
async fn end<S: AsyncRead + AsyncWrite + Unpin>(mut metered: Metered<S>) {
    if metered.shutdown().await.is_ok() {
        let mut rest = metered.take(LINGERS_FOR_BYTES);
        let _ = timeout(LINGERS, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
    }
}

/// Receives a request and answers it.
async fn answer(
    request: Request<Incoming>,
    receiver: &Arc<Receiver>,
    traffic: &Traffic,
) -> Result<Response<Full<Bytes>>, Reset> {
    let deadline = Instant::now() + BODY_WITHIN;
    let (head, mut body) = request.into_parts();
    let form = receiver.form(&head);
    let is_too_large = body.size_hint().lower() > receiver.max_body_bytes as u64;
    let admitted = match receiver.admit(&head) {
        Ok(_) if is_too_large => Err(Refusal::TooLarge),
        admitted => admitted.and_then(|route| receiver.begin(route)),
    };
    // A sender that waits for permission to send a body does not send it when refused.
    let mut is_coming = !head.headers.contains_key(EXPECT);
    // The head is part of the buffer that the body is read into.
    drop(head);
    let refusal = match admitted {
        Ok(mut underway) => {
            is_coming = true;
            let read = timeout_at(deadline, read(&mut body, &mut underway)).await;
            match read.unwrap_or(Err(Refusal::Slow)) {
                Ok(()) => return conclude(underway, receiver, traffic).await,
                Err(refusal) => {
                    underway.settle(&refusal);
                    refusal
                }
            }
        }
        Err(refusal) => {
            receiver.not_taken(&refusal);
            refusal
        }
    };
    let mut response = response(otlp::refused(form, &refusal));
    let rest = timeout_at(deadline, read_over(&mut body, receiver.max_body_bytes));
    if !is_coming || refusal == Refusal::Cut || rest.await != Ok(true) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    Ok(response)
}

async fn read(body: &mut Incoming, underway: &mut Underway) -> Result<(), Refusal> {
    while let Some(frame) = body.frame().await {
        if let Some(piece) = frame.map_err(|_| Refusal::Cut)?.data_ref() {
            underway.push(piece)?;
        }
    }
    Ok(())
}

/// Discards the rest of a refused body, so that its sender sees the answer and not a broken pipe.
/// Returns whether the end was reached.
async fn read_over(body: &mut Incoming, max_body_bytes: usize) -> bool {
    let mut left_bytes = max_body_bytes.saturating_mul(2);
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        match left_bytes.checked_sub(bytes) {
            Some(left) => left_bytes = left,
            None => return false,
        }
    }
    true
}

/// Decides about a complete request.
async fn conclude(
    underway: Underway,
    receiver: &Receiver,
    traffic: &Traffic,
) -> Result<Response<Full<Bytes>>, Reset> {
    let form = underway.route.form;
    match underway.finish() {
        Verdict::Accepted {
            answer,
            wait,
            mut ticket,
        } => {
            if wait != Wait::No {
                ticket.pend();
                // If the sender disconnects meanwhile, the connection ends, and this wait with it.
                receiver.wait(wait).await;
            }
            traffic.unsent.set(Some(ticket));
            Ok(response(answer))
        }
        Verdict::Refused(refusal) => Ok(response(otlp::refused(form, &refusal))),
        Verdict::Reset => Err(Reset),
    }
}

fn response(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if !answer.content_type.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    }
    if let Some((name, value)) = answer.header
        && let Ok(value) = HeaderValue::from_str(&value)
    {
        headers.insert(HeaderName::from_static(name), value);
    }
    response
}

#[cfg(test)]
mod tests;
