//! Receivers of telemetry that count what was delivered, by arm.
//!
//! A [`Sink`] opens listeners on loopback for each arm, one for each [`Protocol`], so that the
//! port a request came in on says whose telemetry it is. A request's body goes piece by piece
//! through decompression and a decoder that walks its wire format: no span, point or record is
//! ever built, because whatever the sink spends is part of the machine's bill. What a request
//! carried is gathered in a receipt and added to the arm's account when the request is whole and
//! sound: a request counts altogether or not at all.
//!
//! What it speaks: OTLP over gRPC and HTTP (protobuf and JSON), the trace API of a Datadog agent,
//! Zipkin v2 JSON, Prometheus remote write 1.0. It also scrapes Prometheus metrics.
//!
//! How it answers can be changed while it runs ([`windage_model::Backend`]), to see what a
//! service loses when its backend is ill.
//!
//! Nothing is kept of what is received unless [`KeepOptions`] ask for it, and memory is bounded
//! whatever comes in.
//!
//! The `count_…` functions are the decoders by themselves, without a socket: for whoever has a
//! payload at hand, and for the fuzzer.

mod account;
mod behaviour;
mod counts;
mod datadog;
mod delay;
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
pub use keep::KeepOptions;
pub use malformed::Malformed;
pub use otlp::{
    Signal, count as count_payload, count_in_pieces as count_payload_in_pieces,
    count_json as count_otlp_json,
};
pub use protocol::Protocol;
pub use receipt::Detail;
pub use remote_write::count as count_remote_write;
pub use scrape::{
    Exposition, ExpositionError, ExpositionFormat, Reach, Scrape, ScrapeError, ScrapeTarget,
    Scrapes, SelectedMetric, parse_exposition, scrape_loop, scrape_once,
};
pub use sink::{Sink, SinkError, SinkOptions};
pub use sources::{Source, SourceItems};
pub use stretches::Stretch;
pub use traces::TraceSample;
pub use wire::WireError;
pub use zipkin::count as count_zipkin;
