// Receive is a minimal receiver of OTLP in Go: net/http or grpc-go, the generated messages, and two
// counters.
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/protobuf/proto"
)

// mostBytes bounds a message of gRPC; its default of 4 MiB is less than 8192 spans take.
const mostBytes = 64 << 20

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "receive:", err)
		os.Exit(2)
	}
}

// run prints its address to stderr, receives until ctx ends, and prints its counts.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("receive", flag.ContinueOnError)
	overHTTP := flags.String("otlp-http", "", "`address` for OTLP/HTTP")
	overGRPC := flags.String("otlp-grpc", "", "`address` for OTLP/gRPC")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if (*overHTTP == "") == (*overGRPC == "") {
		return errors.New("give either -otlp-http or -otlp-grpc")
	}

	var received counts
	protocol, address, server := "otlp-http", *overHTTP, serverOfHTTP(&received)
	if *overGRPC != "" {
		protocol, address, server = "otlp-grpc", *overGRPC, serverOfGRPC(&received)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server(listener) }()
	fmt.Fprintln(stderr, protocol, listener.Addr())
	select {
	case err = <-served:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintf(stdout, "{\"requests\":%d,\"spans\":%d}\n", received.requests.Load(), received.spans.Load())
	return nil
}

// counts is what was received so far.
type counts struct {
	collector.UnimplementedTraceServiceServer
	requests, spans atomic.Int64
}

// Export counts a complete request; it also is the gRPC method of that name.
func (c *counts) Export(
	_ context.Context, request *collector.ExportTraceServiceRequest,
) (*collector.ExportTraceServiceResponse, error) {
	spans := 0
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			spans += len(scope.Spans)
		}
	}
	c.requests.Add(1)
	c.spans.Add(int64(spans))
	return new(collector.ExportTraceServiceResponse), nil
}

func serverOfHTTP(received *counts) func(net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		body, err := read(r)
		var request collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil {
			http.Error(w, "not an export of traces", http.StatusBadRequest)
			return
		}
		_, _ = received.Export(r.Context(), &request)
		// A response without fields has no bytes.
		w.Header().Set("Content-Type", "application/x-protobuf")
	})
	server := &http.Server{Handler: mux}
	return server.Serve
}

// read returns the decompressed body. If its length is known, it allocates once.
func read(r *http.Request) ([]byte, error) {
	switch r.Header.Get("Content-Encoding") {
	case "gzip":
		inflated, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(inflated)
	case "":
		if r.ContentLength < 0 {
			return io.ReadAll(r.Body)
		}
		body := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	default:
		return nil, errors.New("an encoding other than gzip")
	}
}

func serverOfGRPC(received *counts) func(net.Listener) error {
	server := grpc.NewServer(grpc.MaxRecvMsgSize(mostBytes))
	collector.RegisterTraceServiceServer(server, received)
	return server.Serve
}
