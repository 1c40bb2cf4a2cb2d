//go:build !plain

package telemetry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func TestARequestIsASpanOfTheServiceAndOneOfItsClients(t *testing.T) {
	var spans atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request collector.ExportTraceServiceRequest
		body, err := io.ReadAll(r.Body)
		if err != nil || proto.Unmarshal(body, &request) != nil {
			t.Errorf("not an export of traces: %v", err)
			return
		}
		for _, resource := range request.ResourceSpans {
			if name := resource.Resource.Attributes; len(name) == 0 {
				t.Error("spans of a service without a name")
			}
			for _, scope := range resource.ScopeSpans {
				spans.Add(int64(len(scope.Spans)))
			}
		}
	}))
	defer receiver.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)

	otel, err := New(t.Context(), "otel", "shop")
	if err != nil {
		t.Fatal(err)
	}
	traced := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") == "" {
			t.Error("the client did not hand its context on")
		}
	}
	server := httptest.NewServer(otel.Handler(http.HandlerFunc(traced)))
	defer server.Close()
	client := http.Client{Transport: otel.Transport(http.DefaultTransport)}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := otel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if got := spans.Load(); got != 2 {
		t.Errorf("%d spans, not the client's and the server's", got)
	}
}
