//! Pushes results as OTLP metrics, once.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Uri;
use axum::http::uri::InvalidUri;
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_otlp::{MetricExporter, Protocol, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{
    Instrument, PeriodicReader, SdkMeterProvider, Stream, Temporality,
};
use windage_analysis::Analysis;

use crate::concluded::{self, Stage};
use crate::families::{Family, PREFIX, Samples};
use crate::locked;

const PATH: &str = "/v1/metrics";

/// The receiver of results: OTLP as protobuf over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpEndpoint(String);

/// Why a text is not a valid address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It is not a URL.
    #[error("it is not a URL such as http://127.0.0.1:4318 ({0})")]
    NoUrl(#[from] InvalidUri),
    /// It is not HTTP.
    #[error(
        "it must begin with http://, such as http://127.0.0.1:4318; for TLS put a Collector in \
         between"
    )]
    NotHttp,
    /// It has a user or a query, which may be secret, and the command line is recorded.
    #[error(
        "it has a user or a query; put credentials into the variable OTEL_EXPORTER_OTLP_HEADERS"
    )]
    Secret,
    /// It has a fragment, which is never sent.
    #[error("it has a # with a fragment, which is never sent to a server; leave it out")]
    Fragment,
}

impl FromStr for OtlpEndpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<OtlpEndpoint, EndpointError> {
        let url: Uri = text.parse()?;
        let authority = match (url.scheme_str(), url.authority()) {
            (Some("http"), Some(authority)) => authority,
            _ => return Err(EndpointError::NotHttp),
        };
        if authority.as_str().contains('@') || url.query().is_some() {
            return Err(EndpointError::Secret);
        }
        // The path of the metrics would be appended to the fragment.
        if text.contains('#') {
            return Err(EndpointError::Fragment);
        }
        let base = text.trim_end_matches('/').trim_end_matches(PATH);
        Ok(OtlpEndpoint(format!("{base}{PATH}")))
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why results could not be pushed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The exporter can't be set up.
    #[error("the OTLP exporter can't be set up: {0}; check OTEL_EXPORTER_OTLP_*")]
    Exporter(String),
    /// The receiver did not accept the results.
    #[error(
        "{endpoint} did not accept the results: {reason}; check that an OTLP receiver (HTTP, \
         protobuf) listens there"
    )]
    NotTaken {
        /// The receiver's address.
        endpoint: OtlpEndpoint,
        /// The SDK's error.
        reason: String,
    },
}

/// Pushes the results of a run, once. Headers, compression and timeout come from the variables
/// `OTEL_EXPORTER_OTLP_*`. Do not call it within an event loop: the exporter's blocking client
/// fails there.
///
/// # Errors
/// When the exporter can't be set up, or the receiver does not answer with success.
pub fn push(analysis: &Analysis, endpoint: &OtlpEndpoint) -> Result<(), PushError> {
    let exporter = MetricExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(&endpoint.0)
        .build()
        .map_err(|error| PushError::Exporter(error.to_string()))?;
    let outcome = Outcome::default();
    let once = Once {
        exporter,
        outcome: Arc::clone(&outcome),
    };
    let provider = provider(analysis, once);
    record(analysis, &provider);
    // The SDK reports only that the export failed; `Once` keeps the reason.
    let flushed = provider.force_flush().map_err(|error| error.to_string());
    // Only the SDK's thread is left to shut down.
    let _ = provider.shutdown();
    let exported = locked(&outcome).take();
    exported
        .unwrap_or(flushed)
        .map_err(|reason| PushError::NotTaken {
            endpoint: endpoint.clone(),
            reason,
        })
}

/// The SDK, which exports on demand and not by a timer.
fn provider(analysis: &Analysis, once: Once) -> SdkMeterProvider {
    const NEVER: Duration = Duration::from_secs(24 * 60 * 60);
    /// Arms × metrics × loads, which a plan bounds; above its default of 2000 series the SDK would
    /// merge them.
    const SERIES_MAX: usize = 100_000;
    let attributes = [
        KeyValue::new("windage.run", analysis.run.clone()),
        KeyValue::new("windage.plan", analysis.plan.clone()),
        KeyValue::new("windage.version", analysis.windage.clone()),
    ];
    let resource = Resource::builder()
        .with_service_name(PREFIX)
        .with_attributes(attributes)
        .build();
    SdkMeterProvider::builder()
        .with_resource(resource)
        .with_view(|_: &Instrument| {
            Stream::builder()
                .with_cardinality_limit(SERIES_MAX)
                .build()
                .ok()
        })
        .with_reader(PeriodicReader::builder(once).with_interval(NEVER).build())
        .build()
}

fn record(analysis: &Analysis, provider: &SdkMeterProvider) {
    let mut samples = Samples::default();
    concluded::put(analysis, Stage::Ended, &mut samples);
    let meter = provider.meter(PREFIX);
    for (family, own) in samples.by_family() {
        let gauge = meter
            .f64_gauge(instrument_name(family))
            .with_unit(family.unit().ucum())
            .with_description(family.help())
            .build();
        for sample in own {
            let attributes = sample.labels.iter();
            let attributes: Vec<KeyValue> = attributes
                .map(|(name, text)| KeyValue::new(*name, text.clone()))
                .collect();
            gauge.record(sample.value, &attributes);
        }
    }
}

/// By OpenTelemetry's rules, Prometheus turns this name and the unit into the name in `/metrics`.
fn instrument_name(family: &Family) -> String {
    format!("{PREFIX}.{}", family.stem())
}

/// Exports the first time it is called, and keeps the result.
struct Once {
    exporter: MetricExporter,
    outcome: Outcome,
}

/// The result of the export; `None` before it.
type Outcome = Arc<Mutex<Option<Result<(), String>>>>;

impl PushMetricExporter for Once {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        if locked(&self.outcome).is_some() {
            return Ok(());
        }
        let exported = self.exporter.export(metrics).await;
        let kept = exported.as_ref().copied().map_err(ToString::to_string);
        *locked(&self.outcome) = Some(kept);
        exported
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_get_their_path() {
        for text in [
            "http://127.0.0.1:4318",
            "http://127.0.0.1:4318/",
            "http://127.0.0.1:4318/v1/metrics",
        ] {
            let endpoint: OtlpEndpoint = text.parse().unwrap();
            assert_eq!(endpoint.to_string(), "http://127.0.0.1:4318/v1/metrics");
        }
        let below: OtlpEndpoint = "http://collector/otlp".parse().unwrap();
        assert_eq!(below.to_string(), "http://collector/otlp/v1/metrics");
    }

    #[test]
    fn invalid_endpoints_are_refused() {
        let table = [
            ("", "not a URL"),
            ("127.0.0.1:4318", "http://"),
            ("https://collector", "Collector in between"),
            ("http://me:secret@collector", "OTEL_EXPORTER_OTLP_HEADERS"),
            (
                "http://collector?token=secret",
                "OTEL_EXPORTER_OTLP_HEADERS",
            ),
            ("http://collector:4318#secret", "leave it out"),
            ("http://collector/#", "leave it out"),
        ];
        for (text, said) in table {
            let error = text.parse::<OtlpEndpoint>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }
}
