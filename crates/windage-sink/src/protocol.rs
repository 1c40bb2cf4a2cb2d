//! The protocols in which telemetry is received.

use std::fmt;

/// A protocol; each has its own listener for each arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// OTLP over gRPC.
    OtlpGrpc,
    /// OTLP over HTTP/1.1, as protobuf or JSON.
    OtlpHttp,
    /// The trace API of a Datadog agent.
    Datadog,
    /// Zipkin v2 JSON.
    Zipkin,
    /// Prometheus remote write 1.0.
    RemoteWrite,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Protocol; 5] = [
        Protocol::OtlpGrpc,
        Protocol::OtlpHttp,
        Protocol::Datadog,
        Protocol::Zipkin,
        Protocol::RemoteWrite,
    ];

    /// Its name in flags and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Protocol::OtlpGrpc => "otlp-grpc",
            Protocol::OtlpHttp => "otlp-http",
            Protocol::Datadog => "datadog",
            Protocol::Zipkin => "zipkin",
            Protocol::RemoteWrite => "remote-write",
        }
    }

    /// The placeholder for its address in a plan.
    #[must_use]
    pub const fn placeholder(self) -> &'static str {
        match self {
            Protocol::OtlpGrpc => "otlp_grpc",
            Protocol::OtlpHttp => "otlp_http",
            Protocol::Datadog => "datadog",
            Protocol::Zipkin => "zipkin",
            Protocol::RemoteWrite => "remote_write",
        }
    }

    /// The path that senders need after `http://HOST:PORT`.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Protocol::OtlpGrpc | Protocol::OtlpHttp | Protocol::Datadog => "",
            Protocol::Zipkin => "/api/v2/spans",
            Protocol::RemoteWrite => "/api/v1/write",
        }
    }

    /// Its index in [`Protocol::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
