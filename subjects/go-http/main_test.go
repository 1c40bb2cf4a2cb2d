package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

const patience = 10 * time.Second

// start runs the service and returns its URL and a stop that waits for its end.
func start(t *testing.T, args ...string) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, printed := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"-listen", "127.0.0.1:0"}, args...), printed)
		printed.CloseWithError(io.EOF)
		ended <- err
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		cancel()
		t.Fatalf("the service did not start: %q, %v", line, <-ended)
	}
	return "http://" + address, func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			t.Fatal("the service did not end")
			return nil
		}
	}
}

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

func get(t *testing.T, url string) []byte {
	t.Helper()
	client := http.Client{Timeout: patience}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v", response.StatusCode, err)
	}
	return body
}

func TestAnswersHaveTheAskedSize(t *testing.T) {
	receiver(t)
	for _, mode := range []string{"off", "otel"} {
		for size, flag := range map[int]string{1024: "-sleep=0s", 0: "-size=0", 100_000: "-size=100000"} {
			url, stop := start(t, "-telemetry", mode, flag)
			if got := len(get(t, url)); got != size {
				t.Errorf("%s %s: %d bytes, want %d", mode, flag, got, size)
			}
			if err := stop(); err != nil {
				t.Errorf("%s %s: %v", mode, flag, err)
			}
		}
	}
}

func TestEveryAnswerSleeps(t *testing.T) {
	url, stop := start(t, "-sleep", "50ms")
	before := time.Now()
	get(t, url)
	if took := time.Since(before); took < 50*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestShutdownFlushesWhatWasSampled(t *testing.T) {
	const requests = 20
	table := []struct {
		mode, sampler, argument string
		want                    int64
		why                     string
	}{
		{"off", "always_on", "", 0, "nothing of OpenTelemetry exists, whatever the environment says"},
		{"otel", "always_on", "", requests, "one span a request, none lost at the end"},
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

func TestAHeldConnectionDoesNotHoldTheEnd(t *testing.T) {
	url, stop := start(t)
	held, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for flag, want := range map[string]string{
		"-telemetry=on":   `"on"`,
		"-size=-1":        "-size",
		"-listen=nowhere": "nowhere",
	} {
		err := run(t.Context(), []string{flag}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not name %s", flag, err, want)
		}
	}
}
