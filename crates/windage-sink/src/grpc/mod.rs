//! OTLP over gRPC: unary calls on HTTP/2 (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).
//!
//! HTTP/2 is the `h2` crate's, with its guards against floods (rapid resets, settings, header
//! lists, continuations); what is here is the framing of messages and the status behind them.

mod call;
pub(crate) mod connection;
mod status;
