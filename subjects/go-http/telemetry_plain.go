//go:build plain

package main

import (
	"context"
	"fmt"
	"net/http"
)

// instrument of a service that does not link OpenTelemetry, for agents that watch from outside. An
// agent looks at what is linked, not at what is used.
func instrument(_ context.Context, mode string, handler http.Handler) (http.Handler, func(context.Context) error, error) {
	if mode != "off" {
		return nil, nil, fmt.Errorf("-telemetry %q: this program was built without (-tags plain)", mode)
	}
	return handler, func(context.Context) error { return nil }, nil
}
