// Package telemetry is OpenTelemetry in the process, or nothing. With the build tag plain,
// OpenTelemetry is not linked.
package telemetry

import (
	"context"
	"fmt"
	"net/http"
)

// Telemetry goes around a service's handlers and clients.
type Telemetry struct {
	// Handler makes a span of each request that a server takes.
	Handler func(http.Handler) http.Handler
	// Transport makes a span of each request that a client sends, and propagates its context.
	Transport func(http.RoundTripper) http.RoundTripper
	// Shutdown sends what is still queued.
	Shutdown func(context.Context) error
}

// Off returns its arguments unchanged.
func Off() *Telemetry {
	return &Telemetry{
		Handler:   func(handler http.Handler) http.Handler { return handler },
		Transport: func(transport http.RoundTripper) http.RoundTripper { return transport },
		Shutdown:  func(context.Context) error { return nil },
	}
}

// New is telemetry in the given mode, off or otel, of the service of this name.
func New(ctx context.Context, mode, service string) (*Telemetry, error) {
	switch mode {
	case "off":
		return Off(), nil
	case "otel":
		return openTelemetry(ctx, service)
	default:
		return nil, fmt.Errorf("-telemetry %q: neither off nor otel", mode)
	}
}
