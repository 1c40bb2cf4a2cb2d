// Exporter sends a known number of spans, points or records with the OpenTelemetry SDK for Go.
// ../README.md describes the flags and what is sent.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

const (
	batch       = 100
	spansATrace = 10
	// patience limits a run; only failures wait that long.
	patience = 30 * time.Second
)

type options struct {
	signal, protocol, compression, endpoint string
	count, events, links, attributes        int
}

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "exporter:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	chosen, err := parse(args)
	if err != nil {
		return err
	}
	if err := configure(chosen); err != nil {
		return err
	}
	// The SDK reports errors in the background only to this handler.
	var failures failures
	otel.SetErrorHandler(&failures)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	send, known := map[string]func(context.Context, options) error{
		"traces": sendTraces, "metrics": sendMetrics, "logs": sendLogs,
	}[chosen.signal]
	if !known {
		return fmt.Errorf("--signal %q: neither traces, metrics nor logs", chosen.signal)
	}
	return errors.Join(send(ctx, chosen), failures.joined())
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("exporter", flag.ContinueOnError)
	flags.StringVar(&o.signal, "signal", "", "traces, metrics or logs")
	flags.StringVar(&o.protocol, "protocol", "", "http, grpc or zipkin")
	flags.StringVar(&o.compression, "compression", "none", "gzip or none")
	flags.StringVar(&o.endpoint, "endpoint", "", "`URL` without a path")
	flags.IntVar(&o.count, "count", 0, "spans, points or records")
	flags.IntVar(&o.events, "events", 0, "events on each span")
	flags.IntVar(&o.links, "links", 0, "links of each span")
	flags.IntVar(&o.attributes, "attributes", 0, "attributes of each span")
	return o, flags.Parse(args)
}

// configure sets what the SDK reads from the environment, as in a service.
func configure(o options) error {
	// Nothing may be dropped before it is exported.
	queue := strconv.Itoa(max(o.count, batch))
	var failed error
	for name, value := range map[string]string{
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE":                    strconv.Itoa(batch),
		"OTEL_BSP_MAX_QUEUE_SIZE":                           queue,
		"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE":                   strconv.Itoa(batch),
		"OTEL_BLRP_MAX_QUEUE_SIZE":                          queue,
		"OTEL_EXPORTER_OTLP_ENDPOINT":                       o.endpoint,
		"OTEL_EXPORTER_OTLP_COMPRESSION":                    o.compression,
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
		"OTEL_EXPORTER_ZIPKIN_ENDPOINT":                     o.endpoint + "/api/v2/spans",
	} {
		failed = errors.Join(failed, os.Setenv(name, value))
	}
	return failed
}

type failures struct {
	sync.Mutex
	errors []error
}

// Handle implements [otel.ErrorHandler].
func (f *failures) Handle(err error) {
	f.Lock()
	defer f.Unlock()
	f.errors = append(f.errors, err)
}

func (f *failures) joined() error {
	f.Lock()
	defer f.Unlock()
	return errors.Join(f.errors...)
}

func unknown(o options) error {
	return fmt.Errorf("--signal %s --protocol %s: no such exporter", o.signal, o.protocol)
}
