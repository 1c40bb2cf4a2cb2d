package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	compressor "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/proto"
)

// start runs the receiver; the second result ends it and returns what it printed.
func start(t *testing.T, protocol string) (string, func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stderr, told := io.Pipe()
	var stdout bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-" + protocol, "127.0.0.1:0"}, &stdout, told) }()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), protocol+" ")
	if err != nil || !ok {
		cancel()
		t.Fatalf("the receiver did not start: %q, %v", line, err)
	}
	return address, func() string {
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		return stdout.String()
	}
}

func threeSpans() *collector.ExportTraceServiceRequest {
	spans := []*trace.Span{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	scope := &trace.ScopeSpans{Spans: spans}
	return &collector.ExportTraceServiceRequest{
		ResourceSpans: []*trace.ResourceSpans{{ScopeSpans: []*trace.ScopeSpans{scope}}},
	}
}

func TestSpansOverHTTPAreCountedPlainAndCompressed(t *testing.T) {
	address, end := start(t, "otlp-http")
	plain, err := proto.Marshal(threeSpans())
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, _ = writer.Write(plain)
	_ = writer.Close()
	for _, request := range []struct {
		encoding string
		body     []byte
		status   int
	}{
		{"", plain, http.StatusOK},
		{"gzip", compressed.Bytes(), http.StatusOK},
		{"gzip", plain, http.StatusBadRequest},
		{"br", plain, http.StatusBadRequest},
	} {
		post, err := http.NewRequest("POST", "http://"+address+"/v1/traces", bytes.NewReader(request.body))
		if err != nil {
			t.Fatal(err)
		}
		if request.encoding != "" {
			post.Header.Set("Content-Encoding", request.encoding)
		}
		answer, err := http.DefaultClient.Do(post)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != request.status {
			t.Errorf("%q: %s", request.encoding, answer.Status)
		}
	}
	if said := end(); said != fmt.Sprintln(`{"requests":2,"spans":6}`) {
		t.Error(said)
	}
}

func TestSpansOverGRPCAreCountedPlainAndCompressed(t *testing.T) {
	address, end := start(t, "otlp-grpc")
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := collector.NewTraceServiceClient(connection)
	for _, options := range [][]grpc.CallOption{nil, {grpc.UseCompressor(compressor.Name)}} {
		if _, err := client.Export(t.Context(), threeSpans(), options...); err != nil {
			t.Fatal(err)
		}
	}
	if said := end(); said != fmt.Sprintln(`{"requests":2,"spans":6}`) {
		t.Error(said)
	}
}

func TestOneProtocolIsAskedFor(t *testing.T) {
	for _, args := range [][]string{nil, {"-otlp-http", "a:1", "-otlp-grpc", "a:2"}} {
		err := run(t.Context(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "either") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
