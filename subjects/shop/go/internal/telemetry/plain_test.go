//go:build plain

package telemetry

import (
	"strings"
	"testing"
)

func TestWhatIsNotLinkedIsRefused(t *testing.T) {
	if _, err := New(t.Context(), "otel", "shop"); err == nil || !strings.Contains(err.Error(), "bin/otel") {
		t.Errorf("%v does not say which program has it", err)
	}
}
