//! What a plan says of the receivers of telemetry.

use windage_model::Backend;

use crate::Template;
use crate::words::words;

/// Placeholders that stand for the address of a receiver; `{NAME.port}` is the port alone.
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

/// What is done with what is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkPlan {
    /// The last payloads that are kept on disk, in bytes; `None` keeps none.
    pub keep_bytes: Option<u64>,
    /// Whether Datadog's tracers are told that they may drop traces by themselves.
    pub client_drop_p0s: bool,
    /// How closely payloads are looked at.
    pub detail: SinkDetail,
}

words! {
    /// How closely payloads are looked at.
    SinkDetail {
        /// By service and scope, by the window in which a span ended, delays and whole traces.
        Full = "full",
        /// Sums alone.
        Counts = "counts",
    }
}

/// How an arm's receivers behave.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmBackend {
    /// As written; its placeholders are factors of the arm.
    pub words: Template,
    /// What the words mean with the arm's levels.
    pub behaviour: Backend,
}

/// How a service itself says what telemetry it dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drops {
    /// Why it was dropped, in the words of the report.
    pub reason: String,
    /// Where it says so.
    pub told_by: ToldBy,
}

/// Where a service says what it dropped.
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
        /// The counter's name; all its label sets are added up.
        name: String,
    },
}
