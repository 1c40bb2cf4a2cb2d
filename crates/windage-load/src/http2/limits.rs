//! What bounds memory, whatever a server sends, and the turns that connections take.

/// Moved in each direction before lanes are looked after and have dropped what came for them:
/// all that `h2` may hold of answers.
pub(super) const TURN_BYTES: usize = 64 * 1024;
/// Turns before other connections get theirs: a megabyte's worth.
pub(super) const TURNS_AT_ONCE: usize = 16;
/// Longest body of a request: the most that a stream's window can ever be.
pub(super) const MAX_BODY_BYTES: usize = i32::MAX as usize;

/// Longest list of headers or trailers that is accepted, as for HTTP/1.1.
const MAX_HEADER_LIST_BYTES: u32 = 64 * 1024;
/// Bodies are discarded as they come, so a window holds back nothing but the server, whose waiting
/// would be measured as if it were its own. A connection's is room for 10 Gbit/s over 13 ms, and
/// costs no memory.
const STREAM_WINDOW_BYTES: u32 = 1024 * 1024;
const CONNECTION_WINDOW_BYTES: u32 = 16 * 1024 * 1024;
/// Cancelled streams of which late frames are ignored. Those of others are errors, of which `h2`
/// accepts a thousand.
const REMEMBERED_STREAMS: usize = 50;

/// The settings of a connection. `h2` itself bounds what is left: frames at 16 KiB, the table of
/// header compression at 4 KiB, CONTINUATION frames, empty and tiny DATA frames.
pub(super) fn builder(streams: usize) -> h2::client::Builder {
    let mut builder = h2::client::Builder::new();
    builder
        .enable_push(false)
        .max_header_list_size(MAX_HEADER_LIST_BYTES)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_reset_streams(streams.max(REMEMBERED_STREAMS))
        // None before the server's settings, which is how their coming is noticed.
        .initial_max_send_streams(0);
    builder
}
