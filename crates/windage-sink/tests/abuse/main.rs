//! Abuse of one arm: it ends in a counter or a closed connection, its memory is bounded, and the
//! other arm does not notice.

#![expect(
    clippy::unwrap_used,
    reason = "what the tests share is test code as well"
)]

mod http1;
mod http2;
#[path = "../sender/mod.rs"]
mod sender;
mod witness;
