//! Receivers of telemetry that count what was delivered, by arm.
//!
//! A [`Sink`] opens one OTLP/HTTP listener on loopback for each arm, so that the port a request
//! came in on says whose telemetry it is. Requests are counted by walking their protobuf wire
//! format: no span, point or record is ever built, because whatever the sink spends is part of
//! the machine's bill.
//!
//! What it speaks: `POST /v1/traces`, `/v1/metrics` and `/v1/logs` over HTTP/1.1 with
//! `application/x-protobuf` bodies, plain or gzip. OTLP/JSON is answered with 415 and counted in
//! [`Counts::rejected_json`]; it is not decoded yet.
//!
//! Nothing here opens a port beyond loopback, and nothing received is kept.
//!
//! [`count_payload`] is the walk by itself, without a socket: for whoever has a payload at hand,
//! and for the fuzzer.

mod body;
mod connection;
mod counts;
mod http;
mod otlp;
mod sink;
mod sys;
mod wire;

pub use counts::Counts;
pub use otlp::{Signal, count as count_payload};
pub use sink::{Sink, SinkError, SinkOptions};
pub use wire::WireError;
