//! The flags of `windage sink`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use windage_model::Backend;
use windage_sink::Protocol;

use crate::cli::{OutputFlags, duration};

#[derive(Args, Debug)]
pub(crate) struct SinkFlags {
    /// Receive OTLP over gRPC there; port 0 is a free one.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    otlp_grpc: Option<SocketAddr>,
    /// Receive OTLP over HTTP there, protobuf and JSON.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    otlp_http: Option<SocketAddr>,
    /// Receive there what is meant for a Datadog agent.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    datadog: Option<SocketAddr>,
    /// Receive Zipkin v2 JSON there.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    zipkin: Option<SocketAddr>,
    /// Receive Prometheus remote write there.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    remote_write: Option<SocketAddr>,
    /// Tell Datadog's tracers that they may drop traces that nobody sampled.
    #[arg(long, help_heading = "Receivers")]
    pub(super) client_drop_p0s: bool,
    /// How the receivers behave: `ok`, `slow 200ms`, `slow 50ms..500ms`, `stall`, `stall 10s`,
    /// `reject 503`, `reject 429 30% retry 2s`, `partial 10%`, `reset`, `down`, `down 5s`.
    #[arg(long, value_name = "WORDS", default_value = "ok")]
    pub(super) backend: Backend,
    /// For how long [default: until Ctrl-C].
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    pub(super) length: Option<Duration>,
    /// Connections at a time; further ones are closed at once and counted.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub(super) max_connections: usize,
    /// Only count requests, bytes, spans, points and records, as cheaply as can be: not what is on
    /// spans, no sources, delays, whole traces or retries.
    #[arg(long)]
    pub(super) count_only: bool,
    /// Keep bodies in this directory, decompressed, the newest of each receiver.
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// What the bodies of one receiver may take there, in bytes.
    #[arg(long, value_name = "BYTES", default_value = "16777216")]
    pub(super) keep_bytes: u64,
    /// Show the counts while they grow, also where that is no terminal; with a number, also the
    /// first so many spans (of OTLP in protobuf).
    #[arg(long, value_name = "SPANS", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(super) print: Option<usize>,
    #[command(flatten)]
    pub(super) output: OutputFlags,
}

impl SinkFlags {
    /// Where a protocol is to be received, if it was named.
    pub(super) fn address(&self, protocol: Protocol) -> Option<SocketAddr> {
        match protocol {
            Protocol::OtlpGrpc => self.otlp_grpc,
            Protocol::OtlpHttp => self.otlp_http,
            Protocol::Datadog => self.datadog,
            Protocol::Zipkin => self.zipkin,
            Protocol::RemoteWrite => self.remote_write,
        }
    }

    /// How many spans are shown as text.
    pub(super) fn spans_shown(&self) -> usize {
        self.print.unwrap_or(0)
    }
}
