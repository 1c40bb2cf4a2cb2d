// Go-http answers every request with a fixed number of bytes after a fixed sleep, with
// OpenTelemetry around its handler or without: the subject of experiments/go-http.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// Limits of the shutdown: first requests in flight, then the spans that are still queued. Together
// they stay below the five seconds after which a supervisor usually kills.
const (
	serverGrace = time.Second
	flushGrace  = 3 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "go-http:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, then shuts down: first the server, so that its last spans have
// ended, then the telemetry, which sends them.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("go-http", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "`address` to listen on")
	sleep := flags.Duration("sleep", 5*time.Millisecond, "how long a request is worked on")
	size := flags.Int("size", 1024, "`bytes` in an answer")
	mode := flags.String("telemetry", "off", "off or otel; otel is configured by the OTEL_* environment")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *size < 0 {
		return fmt.Errorf("-size %d: an answer can't be shorter than nothing", *size)
	}

	handler, flush, err := instrument(ctx, *mode, answer(*sleep, *size))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	// No timeouts: connections are opened well before their arm gets load.
	server := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintln(stdout, "listening on", listener.Addr())

	select {
	case err = <-served:
	case <-ctx.Done():
	}
	if within(serverGrace, server.Shutdown) != nil {
		// A client that keeps a connection open must not delay the flush of spans.
		_ = server.Close()
	}
	return errors.Join(err, within(flushGrace, flush))
}

// answer sleeps, then writes size bytes. The length is announced, so that a large answer is
// framed in the same way as a small one.
func answer(sleep time.Duration, size int) http.Handler {
	body := bytes.Repeat([]byte{'x'}, size)
	length := strconv.Itoa(size)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(sleep)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body) // the client may have disconnected
	})
}

func within(limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return do(ctx)
}
