//! Abuse of one arm ends in a counter or a closed connection, its memory is bounded, and the other
//! arm is not affected.

#![expect(clippy::unwrap_used, reason = "shared test code is test code as well")]

mod http1;
mod http2;
#[path = "../sender/mod.rs"]
mod sender;
mod witness;
