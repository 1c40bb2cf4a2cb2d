//! The flags of `windage sink`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use windage_model::Backend;
use windage_sink::Protocol;

use crate::flag_values::duration;
use crate::flags::OutputFlags;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage sink    (all receivers on free ports, until Ctrl-C)\n  \
    windage sink --otlp-http 127.0.0.1:4318 --for 10s --json\n  windage sink --otlp-grpc \
    127.0.0.1:4317 --backend 'reject 429 retry 2s'\n  windage sink --otlp-http 127.0.0.1:4318 \
    --print=3    (also show the first three spans)"
)]
pub(crate) struct SinkFlags {
    /// Receive OTLP over gRPC at this address; port 0 means any free one.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    otlp_grpc: Option<SocketAddr>,
    /// Receive OTLP over HTTP at this address, protobuf and JSON.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    otlp_http: Option<SocketAddr>,
    /// Receive Datadog traces at this address, like a Datadog agent.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    datadog: Option<SocketAddr>,
    /// Receive Zipkin v2 JSON at this address.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    zipkin: Option<SocketAddr>,
    /// Receive Prometheus remote write at this address.
    #[arg(long, value_name = "HOST:PORT", help_heading = "Receivers")]
    remote_write: Option<SocketAddr>,
    /// Tell Datadog's tracers that they may drop unsampled traces.
    #[arg(long, help_heading = "Receivers")]
    pub(super) client_drop_p0s: bool,
    /// How the receivers behave: `ok`, `slow 200ms`, `slow 50ms..500ms`, `stall`, `stall 10s`,
    /// `reject 503`, `reject 429 30% retry 2s`, `partial 10%`, `reset`, `down`, `down 5s`.
    #[arg(long, value_name = "WORDS", default_value = "ok")]
    pub(super) backend: Backend,
    /// How long to receive [default: until Ctrl-C].
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub(super) length: Option<Duration>,
    /// Connections at a time; further ones are closed at once and counted.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub(super) max_connections: usize,
    /// Only count requests, bytes, spans, points and records, as cheaply as possible: no span
    /// contents, sources, delays, complete traces or retries.
    #[arg(long)]
    pub(super) count_only: bool,
    /// Keep the newest bodies of each receiver in this directory, decompressed.
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// The most bytes that the bodies of one receiver may take there.
    #[arg(long, value_name = "BYTES", default_value = "16777216")]
    pub(super) keep_bytes: u64,
    /// Show the growing counts even if standard error is no terminal; with a number, also that many
    /// of the first spans (only OTLP in protobuf).
    #[arg(long, value_name = "SPANS", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(super) print: Option<usize>,
    #[command(flatten)]
    pub(super) output: OutputFlags,
}

impl SinkFlags {
    /// The address for a protocol, if its flag was given.
    pub(super) fn address(&self, protocol: Protocol) -> Option<SocketAddr> {
        match protocol {
            Protocol::OtlpGrpc => self.otlp_grpc,
            Protocol::OtlpHttp => self.otlp_http,
            Protocol::Datadog => self.datadog,
            Protocol::Zipkin => self.zipkin,
            Protocol::RemoteWrite => self.remote_write,
        }
    }

    /// How many spans to show as text.
    pub(super) fn spans_shown(&self) -> usize {
        self.print.unwrap_or(0)
    }
}
