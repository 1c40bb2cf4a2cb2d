package dev.windage.exporter;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Logger;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.Meter;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.exporter.otlp.http.metrics.OtlpHttpMetricExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.logs.OtlpGrpcLogRecordExporter;
import io.opentelemetry.exporter.otlp.metrics.OtlpGrpcMetricExporter;
import io.opentelemetry.exporter.otlp.trace.OtlpGrpcSpanExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import io.opentelemetry.sdk.metrics.Aggregation;
import io.opentelemetry.sdk.metrics.InstrumentSelector;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.View;
import io.opentelemetry.sdk.metrics.export.AggregationTemporalitySelector;
import io.opentelemetry.sdk.metrics.export.MetricExporter;
import io.opentelemetry.sdk.metrics.export.PeriodicMetricReader;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.export.BatchSpanProcessor;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;

/**
 * Sends a known number of spans, points or records with the OpenTelemetry SDK for Java.
 * ../README.md describes the flags and what is sent.
 */
public final class Exporter {
  private static final int BATCH = 100;
  private static final int SPANS_A_TRACE = 10;
  private static final int PATIENCE_SECONDS = 30;

  private Exporter() {}

  public static void main(String[] args) {
    Options options = Options.parse(args);
    AtomicInteger complaints = countComplaints();
    switch (options.signal()) {
      case "traces" -> sendTraces(options);
      case "metrics" -> sendMetrics(options);
      case "logs" -> sendLogs(options);
      default -> throw new IllegalArgumentException("--signal " + options.signal());
    }
    // Threads of the HTTP client would keep the program alive.
    System.exit(complaints.get() == 0 ? 0 : 1);
  }

  /** The SDK reports errors in the background only in its log. */
  private static AtomicInteger countComplaints() {
    AtomicInteger complaints = new AtomicInteger();
    java.util.logging.Logger.getLogger("io.opentelemetry").addHandler(new Handler() {
      @Override
      public void publish(LogRecord record) {
        if (record.getLevel().intValue() >= Level.WARNING.intValue()) {
          complaints.incrementAndGet();
        }
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    });
    return complaints;
  }

  private static void sendTraces(Options options) {
    BatchSpanProcessor processor = BatchSpanProcessor.builder(spanExporter(options))
        .setMaxExportBatchSize(BATCH)
        .setMaxQueueSize(Math.max(options.count(), BATCH))
        .build();
    SdkTracerProvider provider = SdkTracerProvider.builder().addSpanProcessor(processor).build();
    Tracer tracer = provider.get("exporter");
    SpanContext elsewhere = SpanContext.createFromRemoteParent(
        "0".repeat(31) + "1", "0".repeat(15) + "1", TraceFlags.getSampled(), TraceState.getDefault());
    Context parent = Context.root();
    for (int number = 0; number < options.count(); number++) {
      boolean isRoot = number % SPANS_A_TRACE == 0;
      SpanBuilder builder =
          tracer.spanBuilder("span " + number).setParent(isRoot ? Context.root() : parent);
      for (int i = 0; i < options.attributes(); i++) {
        builder.setAttribute("attribute." + i, "value " + number);
      }
      for (int i = 0; i < options.links(); i++) {
        builder.addLink(elsewhere);
      }
      Span span = builder.startSpan();
      if (isRoot) {
        parent = Context.root().with(span);
      }
      for (int i = 0; i < options.events(); i++) {
        span.addEvent("event " + i, Attributes.of(AttributeKey.longKey("number"), (long) i));
      }
      span.end();
    }
    demand(provider.shutdown());
  }

  private static SpanExporter spanExporter(Options options) {
    return options.grpc()
        ? OtlpGrpcSpanExporter.builder()
            .setEndpoint(options.endpoint())
            .setCompression(options.compression())
            .build()
        : OtlpHttpSpanExporter.builder()
            .setEndpoint(options.url())
            .setCompression(options.compression())
            .build();
  }

  private static void sendMetrics(Options options) {
    // The interval is longer than a run may take, so the reader collects only on request.
    PeriodicMetricReader reader = PeriodicMetricReader.builder(metricExporter(options))
        .setInterval(Duration.ofSeconds(2 * PATIENCE_SECONDS))
        .build();
    SdkMeterProvider provider = SdkMeterProvider.builder()
        .registerMetricReader(reader)
        // The SDK's points about itself must not be counted.
        .registerView(
            InstrumentSelector.builder().setName("otel.sdk.*").build(),
            View.builder().setAggregation(Aggregation.drop()).build())
        .build();
    Meter meter = provider.get("exporter");
    LongCounter counter = meter.counterBuilder("counter").build();
    DoubleHistogram histogram = meter.histogramBuilder("histogram").build();
    for (int first = 0; first < options.count(); first += BATCH) {
      boolean isCounter = first / BATCH % 2 == 0;
      for (int number = first; number < Math.min(first + BATCH, options.count()); number++) {
        Attributes point = Attributes.of(AttributeKey.longKey("point"), (long) number);
        if (isCounter) {
          counter.add(1, point);
        } else {
          histogram.record(1, point);
        }
      }
      demand(provider.forceFlush());
    }
    demand(provider.shutdown());
  }

  private static MetricExporter metricExporter(Options options) {
    AggregationTemporalitySelector delta = AggregationTemporalitySelector.deltaPreferred();
    return options.grpc()
        ? OtlpGrpcMetricExporter.builder()
            .setEndpoint(options.endpoint())
            .setCompression(options.compression())
            .setAggregationTemporalitySelector(delta)
            .build()
        : OtlpHttpMetricExporter.builder()
            .setEndpoint(options.url())
            .setCompression(options.compression())
            .setAggregationTemporalitySelector(delta)
            .build();
  }

  private static void sendLogs(Options options) {
    BatchLogRecordProcessor processor = BatchLogRecordProcessor.builder(logExporter(options))
        .setMaxExportBatchSize(BATCH)
        .setMaxQueueSize(Math.max(options.count(), BATCH))
        .build();
    SdkLoggerProvider provider =
        SdkLoggerProvider.builder().addLogRecordProcessor(processor).build();
    Logger logger = provider.get("exporter");
    for (int number = 0; number < options.count(); number++) {
      logger.logRecordBuilder()
          .setSeverity(Severity.INFO)
          .setBody("record " + number)
          .setAttribute(AttributeKey.longKey("number"), (long) number)
          .emit();
    }
    demand(provider.shutdown());
  }

  private static LogRecordExporter logExporter(Options options) {
    return options.grpc()
        ? OtlpGrpcLogRecordExporter.builder()
            .setEndpoint(options.endpoint())
            .setCompression(options.compression())
            .build()
        : OtlpHttpLogRecordExporter.builder()
            .setEndpoint(options.url())
            .setCompression(options.compression())
            .build();
  }

  private static void demand(CompletableResultCode result) {
    if (!result.join(PATIENCE_SECONDS, TimeUnit.SECONDS).isSuccess()) {
      throw new IllegalStateException("an export failed");
    }
  }
}
