//! One exchange at a time: its request and the progress of its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};

use crate::grpc;

/// What became of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A whole answer.
    Answer {
        /// HTTP status. For gRPC, the HTTP status of the same class as the gRPC status.
        status: u16,
        /// gRPC status, if the answer has one.
        grpc: Option<u32>,
    },
    /// There will be no whole answer.
    Failed {
        /// Whether the server broke the protocol. Otherwise it closed, sent GOAWAY or reset the
        /// stream.
        protocol: bool,
        /// What happened, for people.
        why: String,
    },
}

/// A lane of a session.
pub(super) struct Lane {
    stage: Stage,
    is_grpc: bool,
    /// The request's body while `h2` may hold some of it.
    upload: Option<SendStream<Upload>>,
    upload_left: Arc<AtomicUsize>,
    waker: Waker,
}

enum Stage {
    Free,
    /// Waiting for the answer's head.
    Head(ResponseFuture),
    /// The head has arrived; its body is being discarded.
    Body {
        body: RecvStream,
        status: u16,
        /// The gRPC status is in the head when an answer has no body.
        grpc: Option<Result<u32, grpc::StatusError>>,
    },
}

/// How an exchange ended.
pub(super) enum Outcome {
    Answer {
        status: u16,
        grpc: Option<u32>,
    },
    /// The server reset the stream.
    Reset(Reason),
    /// The server closed or sent GOAWAY.
    Closed(String),
    /// The server violated the protocol.
    Broken(String),
}

impl Lane {
    pub(super) fn new(waker: Waker) -> Lane {
        Lane {
            stage: Stage::Free,
            is_grpc: false,
            upload: None,
            upload_left: Arc::default(),
            waker,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        matches!(self.stage, Stage::Free)
    }

    /// Starts an exchange whose head was given to `h2`.
    pub(super) fn begin(
        &mut self,
        answer: ResponseFuture,
        mut upload: SendStream<Upload>,
        body: Bytes,
        is_grpc: bool,
    ) -> Result<(), h2::Error> {
        if !body.is_empty() {
            upload.send_data(self.upload_of(body), true)?;
            self.upload = Some(upload);
        }
        self.is_grpc = is_grpc;
        self.stage = Stage::Head(answer);
        Ok(())
    }

    /// Counts a body as it is sent. Reuses the previous body's counter unless `h2` still holds a
    /// frame of it.
    fn upload_of(&mut self, bytes: Bytes) -> Upload {
        match Arc::get_mut(&mut self.upload_left) {
            Some(left) => *left = AtomicUsize::new(bytes.len()),
            None => self.upload_left = Arc::new(AtomicUsize::new(bytes.len())),
        }
        Upload {
            bytes,
            left: Arc::clone(&self.upload_left),
        }
    }

    /// Continues reading. The lane is free once there is an outcome.
    pub(super) fn poll(&mut self) -> Option<Outcome> {
        let Poll::Ready(outcome) = self.read_on() else {
            return None;
        };
        // The server answered before it read the whole request. Drop the rest: it is useless, and
        // would wait in memory for a window that may never open (RFC 9113, 8.1).
        if let Some(mut upload) = self.upload.take()
            && self.upload_left.load(Ordering::Relaxed) > 0
        {
            upload.send_reset(Reason::CANCEL);
        }
        self.stage = Stage::Free;
        Some(outcome)
    }

    /// Cancels the current exchange, which resets the stream. Returns whether there was one.
    pub(super) fn cancel(&mut self) -> bool {
        if self.is_free() {
            return false;
        }
        // If the answer arrived whole in the meantime, the stream has already ended.
        if self.poll().is_none() {
            self.stage = Stage::Free;
            self.upload = None;
        }
        true
    }

    fn read_on(&mut self) -> Poll<Outcome> {
        let mut context = Context::from_waker(&self.waker);
        loop {
            match &mut self.stage {
                Stage::Free => return Poll::Pending,
                Stage::Head(answer) => match Pin::new(answer).poll(&mut context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(Outcome::failed(&error)),
                    Poll::Ready(Ok(answer)) => {
                        let (head, body) = answer.into_parts();
                        self.stage = Stage::Body {
                            body,
                            status: head.status.as_u16(),
                            grpc: self.is_grpc.then(|| grpc::status(&head.headers)).flatten(),
                        };
                    }
                },
                Stage::Body { body, status, grpc } => {
                    if let Some(failed) = std::task::ready!(discard(body, &mut context)) {
                        return Poll::Ready(failed);
                    }
                    if !self.is_grpc {
                        return Poll::Ready(Outcome::Answer {
                            status: *status,
                            grpc: None,
                        });
                    }
                    return match std::task::ready!(body.poll_trailers(&mut context)) {
                        Ok(trailers) => {
                            let last = trailers.as_ref().and_then(grpc::status);
                            Poll::Ready(grpc_outcome(*status, last.or(grpc.take())))
                        }
                        Err(error) => Poll::Ready(Outcome::failed(&error)),
                    };
                }
            }
        }
    }
}

/// Drops data as it arrives and returns its share of the windows. Ready at the end of the body,
/// with an error if one occurred.
fn discard(body: &mut RecvStream, context: &mut Context<'_>) -> Poll<Option<Outcome>> {
    // Saves a poll when the body ended with its head.
    while !body.is_end_stream() {
        match std::task::ready!(body.poll_data(context)) {
            Some(Ok(data)) => {
                // Can't exceed the amount received.
                let _ = body.flow_control().release_capacity(data.len());
            }
            Some(Err(error)) => return Poll::Ready(Some(Outcome::failed(&error))),
            None => break,
        }
    }
    Poll::Ready(None)
}

/// A gRPC status takes precedence over the HTTP status. Without one the answer is invalid, unless
/// its HTTP status shows that an intermediary gave it; then that status counts.
fn grpc_outcome(http: u16, grpc: Option<Result<u32, grpc::StatusError>>) -> Outcome {
    match grpc {
        Some(Ok(code)) => Outcome::Answer {
            status: grpc::http_status(code),
            grpc: Some(code),
        },
        Some(Err(error)) => Outcome::Broken(error.to_string()),
        None if http == 200 => Outcome::Broken(grpc::StatusError::Missing.to_string()),
        None => Outcome::Answer {
            status: http,
            grpc: None,
        },
    }
}

impl Outcome {
    fn failed(error: &h2::Error) -> Outcome {
        match error.reason() {
            Some(reason) if error.is_library() => {
                Outcome::Broken(format!("the server violated HTTP/2: {reason:?}"))
            }
            Some(reason) if error.is_reset() => Outcome::Reset(reason),
            Some(reason) => Outcome::Closed(format!("the server sent GOAWAY {reason:?}")),
            None => Outcome::Closed(format!("the server closed during an exchange: {error}")),
        }
    }
}

impl From<Outcome> for Event {
    fn from(outcome: Outcome) -> Event {
        let (protocol, why) = match outcome {
            Outcome::Answer { status, grpc } => return Event::Answer { status, grpc },
            Outcome::Reset(reason) => (false, format!("the server reset the stream: {reason:?}")),
            Outcome::Closed(why) => (false, why),
            Outcome::Broken(why) => (true, why),
        };
        Event::Failed { protocol, why }
    }
}

/// A request's body as it is sent, with a count of what is left.
#[derive(Debug)]
pub(super) struct Upload {
    bytes: Bytes,
    left: Arc<AtomicUsize>,
}

impl Buf for Upload {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.left.fetch_sub(count, Ordering::Relaxed);
    }
}
