//! One connection: HTTP/2 over a socket whose bytes are counted.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::grpc::call::Call;
use crate::grpc::line::{Ends, Line};
use crate::metered::Metered;
use crate::receiver::{Ending, Receiver};

/// How long a client may take to begin HTTP/2.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How long a connection may be without a new call. Clients keep connections open as long as they
/// live, and the longest export interval in use is a minute.
const IDLE_WITHIN: Duration = Duration::from_secs(300);
/// Concurrent calls on one connection; exporters make one or a few at a time, and wait when they have
/// more.
const MAX_CALLS: u32 = 16;
/// What a client may send before a window update, on a call and on the connection. That much may
/// have to be held for each of many connections. On loopback the update arrives at once.
const WINDOW_BYTES: u32 = 64 << 10;
/// The largest frame. Every connection may hold an incomplete one, whatever the windows are, so it
/// is the protocol's minimum (RFC 9113, section 6.5.2).
const MAX_FRAME_BYTES: u32 = 16 << 10;
/// Owners of the line without a call: the connection and the guard that reports its end.
const OWN_HOLDS: usize = 2;
/// The longest head. Those of exporters have a few hundred bytes, and a token at most.
const MAX_HEADER_LIST_BYTES: u32 = 8 << 10;

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
            // Pending writes first: answers of calls that ended before the reset.
            biased;
            next = timeout(IDLE_WITHIN, connection.accept()) => next,
            () = line.is_reset() => return Ending::Reset,
        };
        let (request, respond) = match next {
            Ok(Some(Ok(call))) => call,
            // A connection whose calls wait for their answers is not idle.
            Err(_) if Rc::strong_count(&line) > OWN_HOLDS => continue,
            // A client may disconnect at any time: a call that arrived completely counts.
            _ => return Ending::Closed,
        };
        // Before anything else runs, so that no head outlives the look at it.
        if let Some(call) = Call::admit(request, respond, receiver) {
            tokio::task::spawn_local(call.serve(Arc::clone(receiver), Rc::clone(&line)));
        }
    }
}
