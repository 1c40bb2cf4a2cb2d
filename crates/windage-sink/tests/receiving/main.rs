//! The sink from the outside: sockets in, counts out.

#![expect(
    clippy::unwrap_used,
    reason = "what the tests share is test code as well"
)]

mod backends;
mod backends_grpc;
mod connections;
mod exactness;
mod otlp_grpc;
mod otlp_http;
#[path = "../sender/mod.rs"]
mod sender;
