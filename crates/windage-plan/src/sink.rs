//! The receivers of telemetry.

use windage_model::Backend;

use crate::Template;
use crate::words::words;

/// Placeholders for the addresses of receivers; `{NAME.port}` is the port alone.
pub const RECEIVER_PLACEHOLDERS: [&str; 5] = [
    "otlp_grpc",
    "otlp_http",
    "datadog",
    "zipkin",
    "remote_write",
];

/// Whether `{name}` stands for a receiver or its port.
pub(crate) fn is_receiver(name: &str) -> bool {
    let name = name.strip_suffix(".port").unwrap_or(name);
    RECEIVER_PLACEHOLDERS.contains(&name)
}

/// How received telemetry is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkPlan {
    /// How many bytes of the latest payloads are kept on disk; `None` keeps none.
    pub keep_bytes: Option<u64>,
    /// Whether the receiver allows Datadog's tracers to drop traces themselves.
    pub client_drop_p0s: bool,
    /// How closely payloads are examined.
    pub detail: SinkDetail,
}

words! {
    /// How closely payloads are examined.
    SinkDetail {
        /// By service and scope, by the window in which a span ended, export delays and complete
        /// traces.
        Full = "full",
        /// Totals only.
        Counts = "counts",
    }
}

/// How an arm's receivers behave.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmBackend {
    /// As written; its placeholders are factors of the arm.
    pub words: Template,
    /// The behaviour with the arm's levels filled in.
    pub behaviour: Backend,
}

/// Where a service reports telemetry that it dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drops {
    /// The reason, as shown in the report.
    pub reason: String,
    /// The source of the count.
    pub told_by: ToldBy,
}

/// The source of a service's own count of drops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldBy {
    /// Lines of its log.
    Log {
        /// A valid regular expression of `regex-lite`; its first group, if there is one, is the
        /// number.
        pattern: String,
    },
    /// A counter among its metrics.
    Metric {
        /// The counter's name; all label sets are summed.
        name: String,
    },
}
