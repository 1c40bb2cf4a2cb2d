//! The kinds of telemetry that OTLP carries.

/// A kind of telemetry, distinguished by the request's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Spans: `ExportTraceServiceRequest`.
    Traces,
    /// Data points: `ExportMetricsServiceRequest`.
    Metrics,
    /// Log records: `ExportLogsServiceRequest`.
    Logs,
    /// Profiles: `ExportProfilesServiceRequest`, still in development.
    Profiles,
}

impl Signal {
    /// Its name in paths and files.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Metrics => "metrics",
            Signal::Logs => "logs",
            Signal::Profiles => "profiles",
        }
    }

    /// The signal of a path over HTTP.
    pub(crate) fn from_path(path: &str) -> Option<Signal> {
        match path {
            "/v1/traces" => Some(Signal::Traces),
            "/v1/metrics" => Some(Signal::Metrics),
            "/v1/logs" => Some(Signal::Logs),
            "/v1development/profiles" => Some(Signal::Profiles),
            _ => None,
        }
    }

    /// The signal of a gRPC method.
    pub(crate) fn from_method(path: &str) -> Option<Signal> {
        let service = path
            .strip_prefix("/opentelemetry.proto.collector.")?
            .strip_suffix("/Export")?;
        match service {
            "trace.v1.TraceService" => Some(Signal::Traces),
            "metrics.v1.MetricsService" => Some(Signal::Metrics),
            "logs.v1.LogsService" => Some(Signal::Logs),
            "profiles.v1development.ProfilesService" => Some(Signal::Profiles),
            _ => None,
        }
    }
}
