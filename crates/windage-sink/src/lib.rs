//! Receivers of telemetry that count what was delivered, by arm.
//!
//! A [`Sink`] opens listeners on loopback, one for each arm and [`Protocol`], so that the port of a
//! request says whose telemetry it is. A request's body goes piece by piece through decompression
//! and a decoder that walks its wire format: no span, point or record is ever built, because what
//! the sink spends is part of the machine's bill. A receipt gathers what a request carried and is
//! added to the arm's account when the request is complete and valid: a request counts completely
//! or not at all.
//!
//! Protocols: OTLP over gRPC and HTTP (protobuf and JSON), the trace API of a Datadog agent, Zipkin
//! v2 JSON, Prometheus remote write 1.0. The crate also scrapes Prometheus metrics.
//!
//! The receivers' behaviour can be changed while they run ([`windage_model::Backend`]), to see what
//! a service loses when its backend is faulty.
//!
//! Nothing received is kept unless [`KeepOptions`] ask for it, and memory is bounded whatever
//! arrives.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//! use windage_model::ArmIndex;
//! use windage_sink::{Protocol, Sink, SinkOptions};
//!
//! let sink = Sink::start(1, &[Protocol::OtlpHttp], SinkOptions::default())?;
//! let address = sink.address(ArmIndex(0), Protocol::OtlpHttp).expect("it receives this one");
//! let body = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a span"}]}]}]}"#;
//! let mut exporter = TcpStream::connect(address)?;
//! write!(
//!     exporter,
//!     "POST /v1/traces HTTP/1.1\r\nHost: sink\r\nContent-Type: application/json\r\n\
//!      Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
//!     body.len()
//! )?;
//! let mut answer = String::new();
//! exporter.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
//! assert_eq!(sink.counts(ArmIndex(0)).spans, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The `count_…` functions are the decoders without a socket, for single payloads and for the
//! fuzzer.

mod account;
mod behaviour;
mod counts;
mod datadog;
mod delay;
mod evenly;
mod exchange;
mod grpc;
mod http1;
mod intake;
mod keep;
mod listener;
mod malformed;
mod metered;
mod otlp;
mod protocol;
mod receipt;
mod receiver;
mod remote_write;
mod room;
mod rpc_status;
mod scrape;
mod signal;
mod sink;
mod sources;
mod stretches;
mod sys;
mod traces;
mod wire;
mod zipkin;

pub use account::{Arrival, Delivery};
pub use counts::Counts;
pub use datadog::{DatadogVersion, count as count_datadog};
pub use delay::Delay;
pub use grpc::feed_grpc;
pub use keep::KeepOptions;
pub use malformed::Malformed;
pub use otlp::{
    count as count_payload, count_in_pieces as count_payload_in_pieces,
    count_json as count_otlp_json,
};
pub use protocol::Protocol;
pub use receipt::Detail;
pub use remote_write::count as count_remote_write;
pub use scrape::{
    Exposition, ExpositionError, ExpositionFormat, Reach, Scrape, ScrapeError, ScrapeTarget,
    Scraper, Scrapes, SelectedMetric, parse_exposition, scrape_once,
};
pub use signal::Signal;
pub use sink::{Sink, SinkError, SinkOptions};
pub use sources::{Source, SourceItems};
pub use stretches::Stretch;
pub use traces::TraceSample;
pub use wire::WireError;
pub use zipkin::count as count_zipkin;
