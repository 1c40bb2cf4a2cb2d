"""Sends a known number of spans, points or records with the OpenTelemetry SDK for Python.

../README.md describes the flags and what is sent.
"""

import argparse
import importlib
import os
import sys

BATCH = 100
SPANS_A_TRACE = 10

# Where each protocol has its exporters; {} is trace, metric or _log.
OTLP_MODULES = {
    "http": "opentelemetry.exporter.otlp.proto.http.{}_exporter",
    "grpc": "opentelemetry.exporter.otlp.proto.grpc.{}_exporter",
    "json": "opentelemetry.exporter.otlp.json.http.{}_exporter",
}


def main():
    options = arguments()
    configure(options)
    send = {"traces": send_traces, "metrics": send_metrics, "logs": send_logs}[options.signal]
    results = []
    send(options, results)
    failed = [result for result in results if result.name != "SUCCESS"]
    if failed or not results:
        sys.exit(f"exporter: {len(failed)} of {len(results)} exports failed")


def arguments():
    parser = argparse.ArgumentParser(prog="exporter")
    parser.add_argument("--signal", choices=["traces", "metrics", "logs"], required=True)
    parser.add_argument("--protocol", choices=[*OTLP_MODULES, "zipkin"], required=True)
    parser.add_argument("--compression", choices=["gzip", "none"], default="none")
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--links", type=int, default=0)
    parser.add_argument("--attributes", type=int, default=0)
    options = parser.parse_args()
    if options.protocol == "zipkin" and (options.signal, options.compression) != ("traces", "none"):
        parser.error("zipkin carries traces, uncompressed")
    return options


def configure(options):
    """The SDK reads its settings from the environment, as in a service."""
    for processor in ["OTEL_BSP", "OTEL_BLRP"]:
        os.environ[f"{processor}_MAX_EXPORT_BATCH_SIZE"] = str(BATCH)
        # Nothing may be dropped before it is exported.
        os.environ[f"{processor}_MAX_QUEUE_SIZE"] = str(max(options.count, BATCH))
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = options.endpoint
    os.environ["OTEL_EXPORTER_OTLP_INSECURE"] = "true"
    # The specification has the word "none", but the exporter over gRPC does not accept it.
    if options.compression == "gzip":
        os.environ["OTEL_EXPORTER_OTLP_COMPRESSION"] = "gzip"
    os.environ["OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"] = "delta"
    os.environ["OTEL_EXPORTER_ZIPKIN_ENDPOINT"] = options.endpoint + "/api/v2/spans"


def exporter(options, module, name, results):
    """The exporter of a signal, which adds the result of each export to `results`."""
    if options.protocol == "zipkin":
        made = importlib.import_module("opentelemetry.exporter.zipkin.json").ZipkinExporter()
    else:
        module = importlib.import_module(OTLP_MODULES[options.protocol].format(module))
        made = getattr(module, f"OTLP{name}Exporter")()
    export = made.export

    def watched(*args, **kwargs):
        results.append(export(*args, **kwargs))
        return results[-1]

    made.export = watched
    return made


def send_traces(options, results):
    from opentelemetry import context, trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(
        BatchSpanProcessor(exporter(options, "trace", "Span", results))
    )
    tracer = provider.get_tracer("exporter")
    elsewhere = trace.SpanContext(trace_id=1, span_id=1, is_remote=True)
    for number in range(options.count):
        if number % SPANS_A_TRACE == 0:
            parent = context.Context()
        span = tracer.start_span(
            f"span {number}",
            context=parent,
            attributes={f"attribute.{i}": f"value {number}" for i in range(options.attributes)},
            links=[trace.Link(elsewhere)] * options.links,
        )
        if number % SPANS_A_TRACE == 0:
            parent = trace.set_span_in_context(span)
        for i in range(options.events):
            span.add_event(f"event {i}", {"number": i})
        span.end()
    provider.shutdown()


def send_metrics(options, results):
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    reader = PeriodicExportingMetricReader(
        exporter(options, "metric", "Metric", results),
        export_interval_millis=float("inf"),
    )
    provider = MeterProvider([reader])
    meter = provider.get_meter("exporter")
    counter = meter.create_counter("counter")
    histogram = meter.create_histogram("histogram")
    for first in range(0, options.count, BATCH):
        is_counter = first // BATCH % 2 == 0
        for number in range(first, min(first + BATCH, options.count)):
            record = counter.add if is_counter else histogram.record
            record(1, {"point": number})
        provider.force_flush()
    provider.shutdown()


def send_logs(options, results):
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = LoggerProvider()
    provider.add_log_record_processor(
        BatchLogRecordProcessor(exporter(options, "_log", "Log", results))
    )
    logger = provider.get_logger("exporter")
    for number in range(options.count):
        logger.emit(
            LogRecord(
                timestamp=number + 1,
                severity_number=SeverityNumber.INFO,
                body=f"record {number}",
                attributes={"number": number},
            )
        )
    provider.shutdown()


if __name__ == "__main__":
    main()
