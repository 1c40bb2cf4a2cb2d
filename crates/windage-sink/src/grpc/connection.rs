//! One connection: HTTP/2 over a socket whose bytes are counted.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use h2::server::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, timeout};

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

/// How old a connection gets; then its client is asked to open another, and loses no call by that. It
/// bounds what a connection gathers that only ends with it, in the kernel or in `h2`. The longest runs
/// take hours, so that no exporter meets the end of its connection while it is measured.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a client may take to leave after that: enough for calls that have begun.
const LEAVES_WITHIN: Duration = Duration::from_secs(90);

/// Serves calls until the client leaves, idles too long or breaks the protocol.
pub(crate) async fn serve<S>(stream: S, receiver: &Arc<Receiver>) -> Ending
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let line = Rc::new(Line::default());
    let _ends = Ends(Rc::clone(&line));
    let metered = Metered::new(stream, Arc::clone(receiver), Rc::default());
    let handshake = timeout(HANDSHAKE_WITHIN, builder().handshake(metered)).await;
    let Ok(Ok(mut connection)) = handshake else {
        return Ending::Closed;
    };
    let mut is_leaving = false;
    let mut time_is_up = pin!(sleep(MAX_AGE));
    loop {
        let next = tokio::select! {
            // Pending writes first: answers of calls that ended before the reset.
            biased;
            next = timeout(IDLE_WITHIN, connection.accept()) => next,
            ending = line.is_to_end() => return ending,
            () = &mut time_is_up => {
                if is_leaving {
                    return Ending::Closed;
                }
                is_leaving = true;
                connection.graceful_shutdown();
                time_is_up.as_mut().reset(Instant::now() + LEAVES_WITHIN);
                continue;
            }
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

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .max_concurrent_streams(MAX_CALLS)
        .max_header_list_size(MAX_HEADER_LIST_BYTES);
    builder
}

#[cfg(test)]
mod tests;
