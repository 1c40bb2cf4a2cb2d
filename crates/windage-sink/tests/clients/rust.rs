//! OpenTelemetry's SDK for Rust, in the test process.

use std::time::Duration;

use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{
    Link, Span as _, SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{
    Compression, LogExporter, MetricExporter, Protocol, SpanExporter, WithExportConfig as _,
    WithHttpConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{self, BatchLogProcessor, SdkLoggerProvider};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::{self, BatchSpanProcessor, SdkTracerProvider};

use crate::case::{ATTRIBUTES, BATCH, COUNT, Case, EVENTS, LINKS, SPANS_A_TRACE, Signal, Wire};

/// No export timer fires during a test.
const NEVER: Duration = Duration::from_secs(3600);

/// An exporter for a case, of the signal that `$builder` has.
macro_rules! exporter {
    ($builder:expr, $case:expr, $endpoint:expr) => {{
        if $case.wire == Wire::Grpc {
            let builder = $builder.with_tonic().with_endpoint($endpoint);
            let builder = match $case.gzip {
                true => builder.with_compression(Compression::Gzip),
                false => builder,
            };
            builder.build().unwrap()
        } else {
            let protocol = match $case.wire {
                Wire::Json => Protocol::HttpJson,
                _ => Protocol::HttpBinary,
            };
            let path = $case.signal.as_str();
            let builder = $builder
                .with_http()
                .with_protocol(protocol)
                .with_endpoint(format!("{}/v1/{path}", $endpoint));
            let builder = match $case.gzip {
                true => builder.with_compression(Compression::Gzip),
                false => builder,
            };
            builder.build().unwrap()
        }
    }};
}

/// Sends a case and returns when everything is answered.
pub(crate) fn send(case: Case, endpoint: &str) -> Result<(), String> {
    // The gRPC client needs a runtime around it; the HTTP client has one and fails inside another.
    let runtime = (case.wire == Wire::Grpc).then(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap()
    });
    let _entered = runtime.as_ref().map(|runtime| runtime.enter());
    let sent = match case.signal {
        Signal::Traces => send_traces(exporter!(SpanExporter::builder(), case, endpoint)),
        Signal::Metrics => {
            let builder = MetricExporter::builder().with_temporality(Temporality::Delta);
            send_metrics(exporter!(builder, case, endpoint))
        }
        Signal::Logs => send_logs(exporter!(LogExporter::builder(), case, endpoint)),
    };
    sent.map_err(|error| error.to_string())
}

fn send_traces(exporter: SpanExporter) -> OTelSdkResult {
    let config = trace::BatchConfigBuilder::default()
        .with_max_export_batch_size(usize::try_from(BATCH).unwrap())
        .with_max_queue_size(usize::try_from(COUNT).unwrap())
        .build();
    let processor = BatchSpanProcessor::builder(exporter)
        .with_batch_config(config)
        .build();
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor)
        .build();
    let tracer = provider.tracer("exporter");
    let elsewhere = SpanContext::new(
        TraceId::from(1),
        SpanId::from(1),
        TraceFlags::SAMPLED,
        true,
        TraceState::NONE,
    );
    let mut parent = Context::new();
    for number in 0..COUNT {
        let is_root = number % SPANS_A_TRACE == 0;
        let context = if is_root { &Context::new() } else { &parent };
        let attributes = (0..ATTRIBUTES)
            .map(|i| KeyValue::new(format!("attribute.{i}"), format!("value {number}")));
        let links = (0..LINKS).map(|_| Link::with_context(elsewhere.clone()));
        let mut span = tracer
            .span_builder(format!("span {number}"))
            .with_attributes(attributes)
            .with_links(links.collect())
            .start_with_context(&tracer, context);
        if is_root {
            parent = Context::new().with_remote_span_context(span.span_context().clone());
        }
        for i in 0..EVENTS {
            let number = KeyValue::new("number", i64::try_from(i).unwrap());
            span.add_event(format!("event {i}"), vec![number]);
        }
        span.end();
    }
    provider.shutdown()
}

fn send_metrics(exporter: MetricExporter) -> OTelSdkResult {
    let reader = PeriodicReader::builder(exporter)
        .with_interval(NEVER)
        .build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let meter = provider.meter("exporter");
    let counter = meter.u64_counter("counter").build();
    let histogram = meter.u64_histogram("histogram").build();
    for number in 0..COUNT {
        let point = [KeyValue::new("point", i64::try_from(number).unwrap())];
        match number / BATCH % 2 {
            0 => counter.add(1, &point),
            _ => histogram.record(1, &point),
        }
        if number % BATCH == BATCH - 1 {
            provider.force_flush()?;
        }
    }
    provider.shutdown()
}

fn send_logs(exporter: LogExporter) -> OTelSdkResult {
    let config = logs::BatchConfigBuilder::default()
        .with_max_export_batch_size(usize::try_from(BATCH).unwrap())
        .with_max_queue_size(usize::try_from(COUNT).unwrap())
        .build();
    let processor = BatchLogProcessor::builder(exporter)
        .with_batch_config(config)
        .build();
    let provider = SdkLoggerProvider::builder()
        .with_log_processor(processor)
        .build();
    let logger = provider.logger("exporter");
    for number in 0..COUNT {
        let mut record = logger.create_log_record();
        record.set_severity_number(Severity::Info);
        record.set_body(AnyValue::from(format!("record {number}")));
        record.add_attribute("number", i64::try_from(number).unwrap());
        logger.emit(record);
    }
    provider.shutdown()
}
