//go:build !plain

package telemetry

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
)

// openTelemetry is the SDK. Endpoint, sampler and batching are read from the environment by the
// SDK itself, as they are in a service that was set up by its documentation.
func openTelemetry(ctx context.Context, service string) (*Telemetry, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTLP exporter: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", service)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about))

	options := []otelhttp.Option{
		otelhttp.WithTracerProvider(provider),
		otelhttp.WithPropagators(propagation.TraceContext{}),
	}
	return &Telemetry{
		Handler: func(handler http.Handler) http.Handler {
			return otelhttp.NewHandler(handler, "serve", options...)
		},
		Transport: func(transport http.RoundTripper) http.RoundTripper {
			return otelhttp.NewTransport(transport, options...)
		},
		Shutdown: provider.Shutdown,
	}, nil
}
