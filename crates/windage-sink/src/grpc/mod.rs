//! OTLP over gRPC: unary calls on HTTP/2 (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).
//!
//! The `h2` crate implements HTTP/2, with its guards against floods (rapid resets, settings, header
//! lists, continuations); this module adds message framing and status trailers.

mod call;
pub(crate) mod connection;
mod feed;
mod line;
mod status;

pub use feed::feed_grpc;
