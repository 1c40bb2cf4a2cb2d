//go:build plain

package telemetry

import (
	"context"
	"errors"
)

func openTelemetry(context.Context, string) (*Telemetry, error) {
	return nil, errors.New("-telemetry otel: this program was built with the tag plain; take the one in bin/otel")
}
