//! The sink from outside: sockets in, counts out.

#![expect(clippy::unwrap_used, reason = "shared test code is test code as well")]

mod backends;
mod backends_grpc;
mod connections;
mod exactness;
mod otlp_grpc;
mod otlp_http;
#[path = "../sender/mod.rs"]
mod sender;
