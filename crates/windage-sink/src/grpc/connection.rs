//! One connection: HTTP/2 over a socket whose bytes are counted.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::grpc::call;
use crate::listener::Ending;
use crate::metered::Metered;
use crate::receiver::Receiver;

/// How long a client may take to say that it speaks HTTP/2.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection may be without a new call. Clients keep theirs open for as long as they
/// live, and the longest time between two exports in use is a minute.
const IDLE_WITHIN: Duration = Duration::from_secs(300);
/// Calls at a time on one connection; exporters make one after another, or a few.
const MAX_CALLS: u32 = 64;
/// What a client may send before it hears of us, on a call and on the connection: as much may have
/// to be held for each of many connections. On loopback it is heard of at once.
const WINDOW_BYTES: u32 = 64 << 10;
/// The largest frame that is taken. Every connection may hold one that is not whole, whatever the
/// windows are, so that it is the smallest that the protocol has (RFC 9113, section 6.5.2).
const MAX_FRAME_BYTES: u32 = 16 << 10;
/// The connection holds the line, and what tells of its end; each call does as well.
const OWN_HOLDS: usize = 2;
const MAX_HEADER_LIST_BYTES: u32 = 16 << 10;

/// Serves calls until the client leaves, idles too long or breaks the protocol.
pub(crate) async fn serve(stream: &mut TcpStream, receiver: &Arc<Receiver>) -> Ending {
    let line = Rc::new(Line::default());
    let _ends = Ends(Rc::clone(&line));
    let metered = Metered::new(stream, Arc::clone(receiver), Rc::default());
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .max_concurrent_streams(MAX_CALLS)
        .max_header_list_size(MAX_HEADER_LIST_BYTES);
    let handshake = timeout(HANDSHAKE_WITHIN, builder.handshake(metered)).await;
    let Ok(Ok(mut connection)) = handshake else {
        return Ending::Closed;
    };
    loop {
        let next = tokio::select! {
            // First what is to be written: calls that were answered before the reset.
            biased;
            next = timeout(IDLE_WITHIN, connection.accept()) => next,
            () = line.is_reset() => return Ending::Reset,
        };
        let (request, respond) = match next {
            Ok(Some(Ok(call))) => call,
            // Calls that wait for their answers are no idleness.
            Err(_) if Rc::strong_count(&line) > OWN_HOLDS => continue,
            // A client that breaks off is no fault of the sink's: a call that had come whole counts.
            _ => return Ending::Closed,
        };
        let serving = call::serve(request, respond, Arc::clone(receiver), Rc::clone(&line));
        tokio::task::spawn_local(serving);
    }
}

/// The connection as its calls see it.
#[derive(Debug, Default)]
pub(super) struct Line {
    reset: Notify,
    is_over: Cell<bool>,
    ended: Notify,
}

impl Line {
    /// Resets the connection under all its calls.
    pub(super) fn reset(&self) {
        self.reset.notify_one();
    }

    async fn is_reset(&self) {
        self.reset.notified().await;
    }

    /// Returns when the connection is gone.
    pub(super) async fn ends(&self) {
        if !self.is_over() {
            self.ended.notified().await;
        }
    }

    /// Whether the connection is gone.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }
}

/// Tells the calls when the connection is gone, however it ends.
struct Ends(Rc<Line>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.is_over.set(true);
        self.0.ended.notify_waiters();
    }
}
