"""The tracers, set up as documented, optionally cut off after any of their stages."""

import os

# Limits the text exporter's file, since runs are long.
OUTPUT_BYTES_MAX = 64 << 20
SPANS = 23
# Events or log records of an iteration, instead of all spans but the first.
NOTES = 22


def check(options, error):
    """Refuses options that can't be combined."""
    exporters = {
        "none": [None],
        "noop": [None],
        "otel": ["null", "serialise", "text", "otlp-http", "otlp-grpc"],
        "ddtrace": ["text", "agent"],
    }
    allowed = [None] if options.processor == "none" else exporters[options.tracer]
    if options.exporter not in allowed:
        error(f"--exporter {options.exporter}: --tracer {options.tracer} has one of {allowed}")
    if (options.exporter == "text") != (options.output is not None):
        error("--output and --exporter text go together")
    instead = options.events or options.records
    if options.tracer != "otel" and (options.sampling is not None or instead):
        error("--sampling, --events and --records are for --tracer otel")
    if options.records and options.exporter != "otlp-http":
        error("--records are exported over OTLP/HTTP: --exporter otlp-http")
    if options.sampling is not None and not 0 <= options.sampling <= 1:
        error("--sampling is from 0 to 1")


def make(options):
    makers = {"none": Nothing, "noop": Noop, "otel": OpenTelemetry, "ddtrace": Datadog}
    return makers[options.tracer](options)


class Nothing:
    """No tracer, and the base of the others."""

    # What exporters were given, where that can be counted.
    exported = ()
    output = None

    def __init__(self, options):
        pass

    def flush(self):
        pass

    def shutdown(self):
        self.flush()
        self.bound_output(0)

    def open_output(self, path):
        # Opened for appending: the file is truncated while another thread writes.
        self.output = open(path, "a")
        return self.output

    def bound_output(self, most=OUTPUT_BYTES_MAX):
        """Truncates the text file when it is too long, and at the end."""
        if self.output is not None and os.fstat(self.output.fileno()).st_size > most:
            os.ftruncate(self.output.fileno(), 0)


class Noop(Nothing):
    """The instrumentation around sqlite3, above the API without an SDK."""

    def __init__(self, options):
        from opentelemetry import trace

        self.use(trace.NoOpTracerProvider(), is_sqlite3_traced=True)

    def use(self, provider, is_sqlite3_traced):
        from opentelemetry import trace
        from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor

        trace.set_tracer_provider(provider)
        self.tracer = trace.get_tracer("sqlite_batch")
        if is_sqlite3_traced:
            SQLite3Instrumentor().instrument()

    def root_span(self):
        return self.tracer.start_as_current_span("iteration")


class Exported:
    """Counts what an exporter is given."""

    def __init__(self, exporter, kind, an_iteration):
        self.kind = kind
        self.an_iteration = an_iteration
        self.count = 0
        export = exporter.export

        def counted(batch):
            self.count += len(batch)
            return export(batch)

        exporter.export = counted


class OpenTelemetry(Noop):
    def __init__(self, options):
        from opentelemetry.sdk.trace import TracerProvider

        self.exported = []
        self.providers = [TracerProvider(sampler=sampler(options.sampling))]
        if options.processor != "none":
            self.providers[0].add_span_processor(self.processor(options))
        if options.records:
            self.providers.append(self.logger_provider())
        self.use(self.providers[0], is_sqlite3_traced=not (options.events or options.records))

    def processor(self, options):
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

        exporter = self.exporter(options)
        if options.processor == "simple":
            return SimpleSpanProcessor(exporter)
        # Unsampled spans were not dropped, and the sampler does not count them.
        if options.sampling in (None, 1.0):
            spans = 1 if options.events or options.records else SPANS
            self.exported.append(Exported(exporter, "spans", spans))
        return BatchSpanProcessor(exporter)

    def logger_provider(self):
        from opentelemetry._logs import SeverityNumber
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

        exporter = OTLPLogExporter()
        self.exported.append(Exported(exporter, "log records", NOTES))
        provider = LoggerProvider()
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
        emit = provider.get_logger("sqlite_batch").emit
        info = SeverityNumber.INFO

        def record(name, attributes):
            emit(event_name=name, severity_number=info, attributes=attributes)

        self.record = record
        return provider

    def exporter(self, options):
        if options.exporter == "text":
            from opentelemetry.sdk.trace.export import ConsoleSpanExporter

            return ConsoleSpanExporter(out=self.open_output(options.output))
        if options.exporter == "otlp-http":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            return OTLPSpanExporter()
        if options.exporter == "otlp-grpc":
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

            return OTLPSpanExporter()
        return discarding(is_serialised=options.exporter == "serialise")

    def flush(self):
        for provider in self.providers:
            provider.force_flush()

    def shutdown(self):
        for provider in self.providers:
            provider.shutdown()
        self.bound_output(0)


def sampler(share):
    """Head sampling by trace id, as `parentbased_traceidratio`; None is the SDK's default."""
    from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

    return None if share is None else ParentBasedTraceIdRatio(share)


def discarding(is_serialised):
    """An exporter that discards spans, and one that serialises them first."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    if is_serialised:
        # What the exporter over HTTP does before it sends.
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    class Discarding(SpanExporter):
        def export(self, spans):
            if is_serialised:
                encode_spans(spans).SerializePartialToString()
            return SpanExportResult.SUCCESS

    return Discarding()


class Datadog(Nothing):
    def __init__(self, options):
        from ddtrace import patch
        from ddtrace.trace import tracer

        self.tracer = tracer
        if options.exporter == "text":
            # As in a Lambda without an agent; since 4.0 nothing public sets a writer.
            from ddtrace.internal.writer import LogWriter

            tracer._span_aggregator.writer = LogWriter(out=self.open_output(options.output))
        patch(sqlite3=True)

    def root_span(self):
        return self.tracer.trace("iteration")

    def flush(self):
        self.tracer.flush()

    def shutdown(self):
        self.tracer.shutdown()
        self.bound_output(0)
