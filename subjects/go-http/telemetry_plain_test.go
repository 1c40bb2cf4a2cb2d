//go:build plain

package main

import (
	"io"
	"strings"
	"testing"
)

func TestWhatIsNotLinkedIsRefused(t *testing.T) {
	err := run(t.Context(), []string{"-telemetry=otel"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "-tags plain") {
		t.Errorf("%v does not say that it was built without", err)
	}
}
