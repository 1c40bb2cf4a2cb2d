//! Bounds of memory, whatever a server sends, and of each connection's turn.

/// Bytes moved in each direction before lanes are polled and discard their data; also the most that
/// `h2` can hold of answers.
pub(super) const TURN_BYTES: usize = 64 * 1024;
/// Turns before other connections run: a megabyte's worth.
pub(super) const TURNS_AT_ONCE: usize = 16;
/// Longest body of a request: the largest window a stream can have.
pub(super) const MAX_BODY_BYTES: usize = i32::MAX as usize;

/// Longest accepted list of headers or trailers, as for HTTP/1.1.
const MAX_HEADER_LIST_BYTES: u32 = 64 * 1024;
/// Bodies are discarded on arrival, so a small window would only slow the server, and its waiting
/// would be measured as its own. A connection's window allows 10 Gbit/s over 13 ms and costs no
/// memory.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Cancelled streams whose late frames are ignored. Late frames on others are errors, of which `h2`
/// accepts a thousand.
const REMEMBERED_STREAMS: usize = 50;

/// The settings of a connection. `h2` itself bounds the rest: frames to 16 KiB, the header
/// compression table to 4 KiB, CONTINUATION frames, empty and tiny DATA frames.
pub(super) fn builder(streams: usize) -> h2::client::Builder {
    let mut builder = h2::client::Builder::new();
    builder
        .enable_push(false)
        .max_header_list_size(MAX_HEADER_LIST_BYTES)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_reset_streams(streams.max(REMEMBERED_STREAMS))
        // Absent before the server's settings; that is how their arrival is noticed.
        .initial_max_send_streams(0);
    builder
}
