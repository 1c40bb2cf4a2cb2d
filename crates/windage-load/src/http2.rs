//! One HTTP/2 connection with its streams, driven by readiness like any other socket.
//!
//! The `h2` crate speaks the protocol; this module drives it without a runtime. It polls `h2`'s
//! futures on the engine's thread: the connection whenever it is driven, a lane only when `h2` woke
//! it. So an answer costs the same with one stream as with a hundred.
//!
//! Memory is bounded whatever a server sends, see `limits.rs`.

mod end;
mod feed;
mod lane;
mod limits;
mod wakes;
mod wire;

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Connection, SendRequest};

use crate::transport::Transport;
use end::End;
use lane::{Lane, Outcome, Upload};
use limits::{MAX_BODY_BYTES, TURN_BYTES, TURNS_AT_ONCE};
use wakes::Wakes;
use wire::{Carrier, Port, Wire};

pub use feed::feed_http2;
pub(crate) use lane::Event;

/// A server that resets this many streams and answers none in between counts as closed.
const RESETS_IN_A_ROW: usize = 100;

/// Why a request was refused. Nothing of it was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("the connection takes no more requests: {0}")]
    Over(String),
    #[error("the connection's preface is still on its way; no request may be sent yet")]
    NotReady,
    #[error("the server allows no more streams on this connection")]
    NoFreeStream,
    #[error("lane {0} is not free")]
    Lane(usize),
    #[error("a request body of {0} bytes is too long for HTTP/2; send at most 2 GiB")]
    BodyTooLong(usize),
    #[error("the request can't be sent over HTTP/2: {0}; check its method, URL and headers")]
    Request(h2::Error),
}

/// A connection and its lanes, each of which carries one exchange at a time.
pub(crate) struct Session<C = Transport> {
    lanes: Vec<Lane>,
    busy: usize,
    front: Front<C>,
    wire: Arc<Mutex<Wire<C>>>,
    wakes: Arc<Wakes>,
    connection_waker: Waker,
    /// Streams that the server allows; 0 until its settings arrive.
    max_streams: usize,
    is_ready: bool,
    events: VecDeque<(usize, Event)>,
    resets_in_a_row: usize,
    /// Why no more requests are accepted, while answers may still come.
    leaving: Option<String>,
    ended: Option<String>,
}

/// The connection's stage.
#[expect(
    clippy::large_enum_variant,
    reason = "one per connection, and the large variant is the usual one"
)]
enum Front<C> {
    /// The preface is being sent.
    Opening(Opening<C>),
    Open {
        requests: SendRequest<Upload>,
        connection: Connection<Port<C>, Upload>,
    },
    Over,
}

/// `h2` returns its handshake as an unnamed future.
type Opening<C> = Pin<Box<dyn Future<Output = Result<Opened<C>, h2::Error>> + Send>>;
type Opened<C> = (SendRequest<Upload>, Connection<Port<C>, Upload>);

impl Session<Transport> {
    /// Starts HTTP/2 on an established transport with `streams` lanes. Nothing moves until it is
    /// driven.
    pub(crate) fn new(transport: Transport, streams: usize) -> Session {
        Session::over(transport, streams)
    }
}

impl<C: Carrier> Session<C> {
    fn over(carrier: C, streams: usize) -> Session<C> {
        let wire = Arc::new(Mutex::new(Wire::new(carrier)));
        let wakes = Arc::new(Wakes::new(streams));
        let opening = limits::builder(streams).handshake(Port(Arc::clone(&wire)));
        Session {
            lanes: (0..streams)
                .map(|lane| Lane::new(wakes.waker(lane)))
                .collect(),
            busy: 0,
            front: Front::Opening(Box::pin(opening)),
            wire,
            connection_waker: wakes.waker(streams),
            wakes,
            max_streams: 0,
            is_ready: false,
            events: VecDeque::with_capacity(streams),
            resets_in_a_row: 0,
            leaving: None,
            ended: None,
        }
    }

    /// Moves bytes both ways after an event on the socket. `hung_up` says that the stream has
    /// ended.
    ///
    /// Returns `true` if it stopped before the socket was drained, to let other connections run. No
    /// event will announce the rest, so call it again.
    #[must_use]
    pub(crate) fn drive(&mut self, hung_up: bool) -> bool {
        self.wire().reported(hung_up);
        self.push()
    }

    /// Drives until the socket is drained, for callers with no other connections. Gives up at some
    /// point on a server that never stops sending.
    pub(crate) fn drive_through(&mut self, hung_up: bool) {
        let _ = self.drive(hung_up) && (0..TURNS_AT_ONCE).any(|_| !self.push());
    }

    /// Sends what is queued after sends and cancels; receives only if unread bytes are known.
    /// Returns as [`drive`](Self::drive).
    #[must_use]
    pub(crate) fn push(&mut self) -> bool {
        for _ in 0..TURNS_AT_ONCE {
            if !self.turn() {
                self.notice_departure();
                return false;
            }
        }
        true
    }

    /// Whether the preface is over and exchanges may begin.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready && self.leaving.is_none() && self.ended.is_none()
    }

    /// How many more exchanges may begin now.
    pub(crate) fn free_streams(&self) -> usize {
        if !self.is_ready() {
            return 0;
        }
        self.max_streams
            .min(self.lanes.len())
            .saturating_sub(self.busy)
    }

    /// Queues a request on a free lane; the next [`push`](Self::push) sends it.
    ///
    /// # Errors
    /// When it can't be sent, or not now. The lane stays free.
    pub(crate) fn send(
        &mut self,
        lane: usize,
        request: http::Request<()>,
        body: Bytes,
        is_grpc: bool,
    ) -> Result<(), SessionError> {
        if let Some(why) = self.ended.as_ref().or(self.leaving.as_ref()) {
            return Err(SessionError::Over(why.clone()));
        }
        let Front::Open { requests, .. } = &self.front else {
            return Err(SessionError::NotReady);
        };
        if !self.is_ready {
            return Err(SessionError::NotReady);
        }
        if self.free_streams() == 0 {
            return Err(SessionError::NoFreeStream);
        }
        if body.len() > MAX_BODY_BYTES {
            return Err(SessionError::BodyTooLong(body.len()));
        }
        let index = lane;
        let lane = self
            .lanes
            .get_mut(index)
            .filter(|lane| lane.is_free())
            .ok_or(SessionError::Lane(index))?;
        // A clone, because a handle refuses a second request until the first is on its way, which
        // `free_streams` has already checked.
        let (answer, upload) = requests
            .clone()
            .send_request(request, body.is_empty())
            .map_err(SessionError::Request)?;
        lane.begin(answer, upload, body, is_grpc)
            .map_err(SessionError::Request)?;
        self.busy += 1;
        // The first poll registers the waker with `h2`.
        self.wakes.wake(index);
        Ok(())
    }

    /// The next outcome of an exchange, and its lane, which is free again.
    pub(crate) fn next_event(&mut self) -> Option<(usize, Event)> {
        self.events.pop_front()
    }

    /// Gives up an exchange. The next [`push`](Self::push) resets its stream; no event follows.
    pub(crate) fn cancel(&mut self, lane: usize) {
        self.events.retain(|&(of, _)| of != lane);
        if let Some(lane) = self.lanes.get_mut(lane)
            && lane.cancel()
        {
            self.busy -= 1;
            self.notice_departure();
        }
    }

    /// Why the connection has ended, if it has. Every exchange has had its event by then.
    pub(crate) fn ended(&self) -> Option<&str> {
        self.ended.as_deref()
    }

    /// Bytes sent since the connection began, before TLS encryption.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.wire().sent_bytes
    }

    /// Bytes received since the connection began, after TLS decryption.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.wire().received_bytes
    }

    fn wire(&self) -> MutexGuard<'_, Wire<C>> {
        // Only this thread ever locks it, so the lock can't be poisoned.
        self.wire.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the connection and its woken lanes once. Returns whether there is more to do.
    fn turn(&mut self) -> bool {
        if matches!(self.front, Front::Over) {
            return false;
        }
        self.wire().allow(TURN_BYTES);
        self.wakes.clear(self.lanes.len());
        let over = self.poll_connection();
        self.poll_woken_lanes();
        if let Some(over) = over {
            self.end(over);
        } else if self.resets_in_a_row >= RESETS_IN_A_ROW {
            self.end(End::closed(format!(
                "the server reset {RESETS_IN_A_ROW} streams in a row"
            )));
        }
        // Dropped lanes and lanes that returned window have something to send.
        self.wakes.is_woken(self.lanes.len()) || self.wire().is_cut_short()
    }

    /// Lets `h2` read and write. Returns how the connection ended, once it has.
    fn poll_connection(&mut self) -> Option<End> {
        let mut context = Context::from_waker(&self.connection_waker);
        if let Front::Opening(opening) = &mut self.front {
            match opening.as_mut().poll(&mut context) {
                Poll::Pending => return None,
                Poll::Ready(Err(error)) => return Some(End::broken(&error, self.is_ready)),
                Poll::Ready(Ok((requests, connection))) => {
                    self.front = Front::Open {
                        requests,
                        connection,
                    };
                }
            }
        }
        let Front::Open {
            requests,
            connection,
        } = &mut self.front
        else {
            return None;
        };
        match Pin::new(&mut *connection).poll(&mut context) {
            Poll::Pending => {
                self.max_streams = connection.max_concurrent_send_streams();
                self.is_ready |= self.max_streams > 0;
                if let Poll::Ready(Err(error)) = requests.poll_ready(&mut context) {
                    self.leaving.get_or_insert_with(|| end::departure(&error));
                }
                None
            }
            Poll::Ready(ended) => Some(match (&self.leaving, ended) {
                (Some(why), _) => End::closed(why.clone()),
                (None, Ok(())) => End::closed(end::closed(self.is_ready).to_owned()),
                (None, Err(error)) => End::broken(&error, self.is_ready),
            }),
        }
    }

    fn poll_woken_lanes(&mut self) {
        let wakes = Arc::clone(&self.wakes);
        wakes.take(self.lanes.len(), |lane| self.poll_lane(lane));
    }

    fn poll_lane(&mut self, index: usize) {
        let Some(outcome) = self.lanes[index].poll() else {
            return;
        };
        self.resets_in_a_row = match outcome {
            Outcome::Reset(_) => self.resets_in_a_row + 1,
            Outcome::Answer { .. } => 0,
            _ => self.resets_in_a_row,
        };
        self.conclude(index, outcome.into());
    }

    fn conclude(&mut self, lane: usize, event: Event) {
        self.busy -= 1;
        self.events.push_back((lane, event));
    }

    /// Ends the session. Answers that have arrived whole still count; all others fail.
    fn end(&mut self, end: End) {
        for index in 0..self.lanes.len() {
            self.poll_lane_for_good(index, &end);
        }
        self.front = Front::Over;
        self.ended = Some(end.why);
    }

    fn poll_lane_for_good(&mut self, index: usize, end: &End) {
        if self.lanes[index].is_free() {
            return;
        }
        self.poll_lane(index);
        if self.lanes[index].cancel() {
            let event = Event::Failed {
                protocol: end.is_protocol,
                why: end.why.clone(),
            };
            self.conclude(index, event);
        }
    }

    /// A connection that received GOAWAY ends with its last exchange.
    fn notice_departure(&mut self) {
        if self.busy == 0
            && self.ended.is_none()
            && let Some(why) = &self.leaving
        {
            self.ended = Some(why.clone());
        }
    }
}

impl<C> fmt::Debug for Session<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("lanes", &self.lanes.len())
            .field("busy", &self.busy)
            .field("is_ready", &self.is_ready)
            .field("leaving", &self.leaving)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
