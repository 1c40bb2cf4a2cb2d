//! The OpenTelemetry SDK: set-up, the spans of a request, flush.

use std::time::Duration;

use hyper::header::{self, HeaderMap};
use hyper::http::request::Parts;
use hyper::{StatusCode, Version};
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{
    SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider, Span};

use crate::DemoError;
use crate::route::Route;

const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARG: &str = "OTEL_TRACES_SAMPLER_ARG";
const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

/// How long the SDK may take to shut down once its queue is empty.
const WIND_UP_WITHIN: Duration = Duration::from_secs(1);

/// Builds the SDK: batch processor and OTLP exporter. The exporter's client blocks, so neither call
/// this within an event loop nor drop the last handle there.
pub(crate) fn provider(endpoint: Option<&str>) -> Result<SdkTracerProvider, DemoError> {
    let variable = |name: &str| std::env::var(name).ok();
    let sampler = sampler(variable)?;
    let mut exporter = SpanExporter::builder().with_http();
    if let Some(endpoint) = endpoint {
        exporter = exporter.with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')));
    }
    let exporter = exporter.build().map_err(|error| DemoError::Exporter {
        reason: error.to_string(),
    })?;

    let mut resource = Resource::builder();
    if variable(SERVICE_NAME).is_none() {
        resource = resource.with_service_name("windage-demo");
    }
    let mut provider = SdkTracerProvider::builder()
        .with_resource(resource.build())
        .with_batch_exporter(exporter);
    if let Some(sampler) = sampler {
        provider = provider.with_sampler(sampler);
    }
    Ok(provider.build())
}

/// Sends the queued spans, for as long as the SDK allows (5 s), and ends the SDK's threads. The
/// error is a sentence for the user. Flush and shutdown are separate calls, since the SDK's
/// shutdown does not report failed exports.
pub(crate) fn flush(provider: &SdkTracerProvider) -> Result<(), String> {
    let flushed = provider.force_flush();
    let wound_up = provider.shutdown_with_timeout(WIND_UP_WITHIN);
    flushed.and(wound_up).map_err(|error| error.to_string())
}

/// The sampler, where the SDK would choose another: it ignores an argument without a sampler, and
/// reads an invalid argument as 1.
fn sampler(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Sampler>, DemoError> {
    let name = variable(SAMPLER);
    if !matches!(
        name.as_deref(),
        None | Some("traceidratio" | "parentbased_traceidratio")
    ) {
        return Ok(None);
    }
    let Some(value) = variable(SAMPLER_ARG) else {
        return Ok(None);
    };
    match value.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => {
            let by_id = Sampler::TraceIdRatioBased(share);
            Ok(name
                .is_none()
                .then(|| Sampler::ParentBased(Box::new(by_id))))
        }
        _ => Err(DemoError::SamplerArgument {
            name: SAMPLER_ARG,
            value,
        }),
    }
}

/// Traces requests.
pub(crate) struct Tracing {
    tracer: SdkTracer,
    propagator: TraceContextPropagator,
}

impl Tracing {
    pub(crate) fn new(provider: &SdkTracerProvider) -> Tracing {
        Tracing {
            tracer: provider.tracer("windage-demo"),
            propagator: TraceContextPropagator::new(),
        }
    }

    /// Begins a request's server span, as a child of the caller's span if there is one.
    pub(crate) fn server_span(&self, head: &Parts, route: Route<'_>) -> ServerSpan<'_> {
        let parent = self
            .propagator
            .extract_with_context(&Context::new(), &Headers(&head.headers));
        let name = match route.template() {
            Some(template) => format!("{} {template}", head.method),
            None => head.method.to_string(),
        };
        let span = self
            .tracer
            .span_builder(name)
            .with_kind(SpanKind::Server)
            .with_attributes(request_attributes(head, route))
            .start_with_context(&self.tracer, &parent);
        ServerSpan {
            tracer: &self.tracer,
            context: parent.with_span(span),
        }
    }
}

/// Names follow the semantic conventions for HTTP servers, 1.23 and later.
fn request_attributes(head: &Parts, route: Route<'_>) -> Vec<KeyValue> {
    let protocol = if head.version == Version::HTTP_10 {
        "1.0"
    } else {
        "1.1"
    };
    let mut attributes = vec![
        KeyValue::new("http.request.method", head.method.to_string()),
        KeyValue::new("url.scheme", "http"),
        KeyValue::new("url.path", head.uri.path().to_owned()),
        KeyValue::new("network.protocol.version", protocol),
    ];
    if let Some(query) = head.uri.query() {
        attributes.push(KeyValue::new("url.query", query.to_owned()));
    }
    if let Some(template) = route.template() {
        attributes.push(KeyValue::new("http.route", template));
    }
    for (key, name) in [
        ("server.address", header::HOST),
        ("user_agent.original", header::USER_AGENT),
    ] {
        if let Some(value) = head.headers.get(name).and_then(|value| value.to_str().ok()) {
            attributes.push(KeyValue::new(key, value.to_owned()));
        }
    }
    attributes
}

/// One request's server span, open until it is ended.
pub(crate) struct ServerSpan<'a> {
    tracer: &'a SdkTracer,
    context: Context,
}

impl ServerSpan<'_> {
    /// Begins a step of the request. It ends when it is dropped.
    pub(crate) fn step(&self, name: &'static str) -> Span {
        self.tracer.start_with_context(name, &self.context)
    }

    /// Begins the span of the request's database query.
    pub(crate) fn query(&self, name: &'static str, sql: &'static str) -> Span {
        let attributes = [
            KeyValue::new("db.system.name", "sqlite"),
            KeyValue::new("db.operation.name", "SELECT"),
            KeyValue::new("db.query.text", sql),
        ];
        self.tracer
            .span_builder(name)
            .with_kind(SpanKind::Client)
            .with_attributes(attributes)
            .start_with_context(self.tracer, &self.context)
    }

    /// Ends the span with the answer's status.
    pub(crate) fn end(self, status: StatusCode) {
        let span = self.context.span();
        span.set_attribute(KeyValue::new(
            "http.response.status_code",
            i64::from(status.as_u16()),
        ));
        // A client's error does not mark the server span as failed.
        if status.is_server_error() {
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(header::HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sampler_is_set_only_where_the_sdk_would_choose_another() {
        const OWN: &str = "ParentBased(TraceIdRatioBased(0.25))";
        let table = [
            (None, None, Ok(None)),
            (None, Some("0.25"), Ok(Some(OWN))),
            (Some("parentbased_traceidratio"), Some("0.25"), Ok(None)),
            (Some("traceidratio"), Some("1"), Ok(None)),
            (Some("always_on"), Some("nonsense"), Ok(None)),
            (
                Some("traceidratio"),
                Some("10%"),
                Err("OTEL_TRACES_SAMPLER_ARG=10%"),
            ),
            (None, Some("1.5"), Err("OTEL_TRACES_SAMPLER_ARG=1.5")),
            (None, Some("NaN"), Err("OTEL_TRACES_SAMPLER_ARG=NaN")),
            (None, Some(""), Err("OTEL_TRACES_SAMPLER_ARG=")),
        ];
        for (name, argument, expected) in table {
            let variable = |asked: &str| match asked {
                SAMPLER => name.map(str::to_owned),
                SAMPLER_ARG => argument.map(str::to_owned),
                _ => None,
            };
            match (sampler(variable), expected) {
                (Ok(chosen), Ok(expected)) => {
                    assert_eq!(
                        chosen.map(|s| format!("{s:?}")).as_deref(),
                        expected,
                        "{name:?} {argument:?}"
                    );
                }
                (Err(error), Err(start)) => {
                    assert!(error.to_string().starts_with(start), "{error}")
                }
                (got, _) => panic!("{name:?} {argument:?}: {got:?}"),
            }
        }
    }
}
