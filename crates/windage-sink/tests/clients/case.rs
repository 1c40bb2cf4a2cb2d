//! What an exporter has to send, and what the sink must count.

use std::fmt;

use windage_sink::{Counts, Protocol};

/// Divides by nothing, so the last batch and the last trace are short.
pub(crate) const COUNT: u64 = 1003;
/// The largest batch of an exporter.
pub(crate) const BATCH: u64 = 100;
/// A root and nine children.
pub(crate) const SPANS_A_TRACE: u64 = 10;
pub(crate) const EVENTS: u64 = 2;
pub(crate) const LINKS: u64 = 1;
pub(crate) const ATTRIBUTES: u64 = 5;

/// An OpenTelemetry signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Traces,
    Metrics,
    Logs,
}

impl Signal {
    pub(crate) const ALL: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Metrics => "metrics",
            Signal::Logs => "logs",
        }
    }
}

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// OTLP as protobuf over HTTP.
    Http,
    /// OTLP over gRPC.
    Grpc,
    /// OTLP as JSON over HTTP.
    Json,
    Zipkin,
    /// Datadog, with the version of the endpoint.
    Datadog(&'static str),
}

impl Wire {
    /// Its name in an exporter's arguments.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Wire::Http => "http",
            Wire::Grpc => "grpc",
            Wire::Json => "json",
            Wire::Zipkin => "zipkin",
            Wire::Datadog(version) => version,
        }
    }

    /// The listener that it needs.
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Wire::Http | Wire::Json => Protocol::OtlpHttp,
            Wire::Grpc => Protocol::OtlpGrpc,
            Wire::Zipkin => Protocol::Zipkin,
            Wire::Datadog(_) => Protocol::Datadog,
        }
    }
}

/// One run of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) signal: Signal,
    pub(crate) wire: Wire,
    pub(crate) gzip: bool,
}

impl Case {
    /// Every signal over every one of these, with and without compression.
    pub(crate) fn otlp(wires: &[Wire]) -> Vec<Case> {
        let mut cases = Vec::new();
        for &wire in wires {
            for signal in Signal::ALL {
                for gzip in [false, true] {
                    cases.push(Case { signal, wire, gzip });
                }
            }
        }
        cases
    }

    /// Spans over a protocol that has only spans and whose exporters do not compress.
    pub(crate) fn spans(wire: Wire) -> Case {
        Case {
            signal: Signal::Traces,
            wire,
            gzip: false,
        }
    }

    /// What the sink must count. Attributes are left out where the exporter adds its own.
    pub(crate) fn delivered(&self) -> Counts {
        match self.signal {
            Signal::Traces => Counts {
                spans: COUNT,
                root_spans: COUNT.div_ceil(SPANS_A_TRACE),
                span_events: COUNT * self.events(),
                links: COUNT * self.links(),
                attributes: if self.adds_tags() {
                    0
                } else {
                    self.attributes()
                },
                ..Counts::default()
            },
            Signal::Metrics => Counts {
                metric_points: COUNT,
                ..Counts::default()
            },
            Signal::Logs => Counts {
                log_records: COUNT,
                ..Counts::default()
            },
        }
    }

    /// The attributes requested for all its spans.
    pub(crate) fn attributes(&self) -> u64 {
        match self.signal {
            Signal::Traces => COUNT * ATTRIBUTES,
            Signal::Metrics | Signal::Logs => 0,
        }
    }

    /// Whether its exporter adds tags of its own to spans.
    pub(crate) fn adds_tags(&self) -> bool {
        matches!(self.wire, Wire::Zipkin | Wire::Datadog(_))
    }

    /// Datadog's tracer has no public way to create events.
    fn events(&self) -> u64 {
        if matches!(self.wire, Wire::Datadog(_)) {
            0
        } else {
            EVENTS
        }
    }

    /// Zipkin has no links.
    fn links(&self) -> u64 {
        if self.wire == Wire::Zipkin { 0 } else { LINKS }
    }

    /// The flags that all exporters have.
    pub(crate) fn arguments(&self, endpoint: &str) -> Vec<String> {
        let compression = if self.gzip { "gzip" } else { "none" };
        let mut arguments = vec![
            flag("signal", self.signal.as_str()),
            flag("protocol", self.wire.as_str()),
            flag("compression", compression),
            flag("endpoint", endpoint),
            flag("count", COUNT),
        ];
        if self.signal == Signal::Traces {
            arguments.extend([
                flag("events", self.events()),
                flag("links", self.links()),
                flag("attributes", ATTRIBUTES),
            ]);
        }
        arguments.into_iter().flatten().collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compression = if self.gzip { ", gzip" } else { "" };
        let (signal, wire) = (self.signal.as_str(), self.wire.as_str());
        write!(f, "{signal} over {wire}{compression}")
    }
}

fn flag(name: &str, value: impl fmt::Display) -> [String; 2] {
    [format!("--{name}"), value.to_string()]
}
