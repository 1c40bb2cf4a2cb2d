package main

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/zipkin"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func sendTraces(ctx context.Context, o options) error {
	exporter, err := spanExporter(ctx, o)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	tracer := provider.Tracer("exporter")
	elsewhere := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	links := make([]trace.Link, o.links)
	for i := range links {
		links[i] = trace.Link{SpanContext: elsewhere}
	}
	parent := ctx
	for number := range o.count {
		if number%spansATrace == 0 {
			parent = ctx
		}
		attributes := make([]attribute.KeyValue, o.attributes)
		for i := range attributes {
			attributes[i] = attribute.String(fmt.Sprintf("attribute.%d", i), fmt.Sprintf("value %d", number))
		}
		started, span := tracer.Start(parent, fmt.Sprintf("span %d", number),
			trace.WithAttributes(attributes...), trace.WithLinks(links...))
		if number%spansATrace == 0 {
			parent = started
		}
		for i := range o.events {
			span.AddEvent(fmt.Sprintf("event %d", i), trace.WithAttributes(attribute.Int("number", i)))
		}
		span.End()
	}
	return provider.Shutdown(ctx)
}

func spanExporter(ctx context.Context, o options) (sdktrace.SpanExporter, error) {
	switch o.protocol {
	case "http":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	case "zipkin":
		return zipkin.New("")
	}
	return nil, unknown(o)
}

func sendMetrics(ctx context.Context, o options) error {
	exporter, err := metricExporter(ctx, o)
	if err != nil {
		return err
	}
	// The interval is longer than a run may take, so the reader collects only on request.
	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(2*patience))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	meter := provider.Meter("exporter")
	counter, counterErr := meter.Int64Counter("counter")
	histogram, histogramErr := meter.Int64Histogram("histogram")
	if err := errors.Join(counterErr, histogramErr); err != nil {
		return err
	}
	for first := 0; first < o.count; first += batch {
		for number := first; number < min(first+batch, o.count); number++ {
			point := metric.WithAttributes(attribute.Int("point", number))
			if first/batch%2 == 0 {
				counter.Add(ctx, 1, point)
			} else {
				histogram.Record(ctx, 1, point)
			}
		}
		if err := provider.ForceFlush(ctx); err != nil {
			return err
		}
	}
	return provider.Shutdown(ctx)
}

func metricExporter(ctx context.Context, o options) (sdkmetric.Exporter, error) {
	switch o.protocol {
	case "http":
		return otlpmetrichttp.New(ctx)
	case "grpc":
		return otlpmetricgrpc.New(ctx)
	}
	return nil, unknown(o)
}

func sendLogs(ctx context.Context, o options) error {
	exporter, err := logExporter(ctx, o)
	if err != nil {
		return err
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
	logger := provider.Logger("exporter")
	for number := range o.count {
		var record log.Record
		record.SetSeverity(log.SeverityInfo)
		record.SetBody(attribute.StringValue(fmt.Sprintf("record %d", number)))
		record.AddAttributes(attribute.Int("number", number))
		logger.Emit(ctx, record)
	}
	return provider.Shutdown(ctx)
}

func logExporter(ctx context.Context, o options) (sdklog.Exporter, error) {
	switch o.protocol {
	case "http":
		return otlploghttp.New(ctx)
	case "grpc":
		return otlploggrpc.New(ctx)
	}
	return nil, unknown(o)
}
