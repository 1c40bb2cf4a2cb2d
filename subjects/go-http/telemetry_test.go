//go:build !plain

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver counts the spans that arrive by OTLP/HTTP and makes the SDK send there.
func receiver(t *testing.T) *atomic.Int64 {
	t.Helper()
	spans := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
			http.Error(w, "not an export of traces", http.StatusBadRequest)
			return
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				spans.Add(int64(len(scope.Spans)))
			}
		}
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	// Longer than any test: what arrives was sent by the shutdown.
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")
	return spans
}

func TestAnswersWithTelemetryHaveTheAskedSize(t *testing.T) {
	receiver(t)
	answersHaveTheAskedSize(t, "otel")
}

func TestShutdownFlushesWhatWasSampled(t *testing.T) {
	const requests = 20
	table := []struct {
		mode, sampler, argument string
		want                    int64
		why                     string
	}{
		{"off", "always_on", "", 0, "nothing of OpenTelemetry exists, whatever the environment says"},
		{"otel", "always_on", "", requests, "one span per request, none lost at the end"},
		{"otel", "traceidratio", "1.0", requests, "the sweep's highest level"},
		{"otel", "traceidratio", "0.0", 0, "the handler stays, nothing is sampled"},
	}
	for _, row := range table {
		t.Run(row.mode+row.sampler+row.argument, func(t *testing.T) {
			spans := receiver(t)
			t.Setenv("OTEL_TRACES_SAMPLER", row.sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", row.argument)
			url, stop := start(t, "-sleep", "0s", "-telemetry", row.mode)
			for range requests {
				get(t, url)
			}
			if got := spans.Load(); got != 0 {
				t.Errorf("%d spans before the shutdown: the batch timer was not awaited", got)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if got := spans.Load(); got != row.want {
				t.Errorf("%d spans, want %d: %s", got, row.want, row.why)
			}
		})
	}
}
