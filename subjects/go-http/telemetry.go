//go:build !plain

package main

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
)

// instrument wraps a handler in the telemetry of the given mode, and also returns the function that
// flushes and ends that telemetry. Mode off constructs nothing of OpenTelemetry: it is the
// uninstrumented service.
func instrument(ctx context.Context, mode string, handler http.Handler) (http.Handler, func(context.Context) error, error) {
	switch mode {
	case "off":
		return handler, func(context.Context) error { return nil }, nil
	case "otel":
		// Endpoint, sampler and batching are read from the environment by the SDK itself, as
		// they are in a service that was set up by its documentation.
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("OTLP exporter: %w", err)
		}
		provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
		traced := otelhttp.NewHandler(handler, "answer",
			otelhttp.WithTracerProvider(provider),
			otelhttp.WithPropagators(propagation.TraceContext{}))
		return traced, provider.Shutdown, nil
	default:
		return nil, nil, fmt.Errorf("-telemetry %q: neither off nor otel", mode)
	}
}
