// Package service has what the shop's programs share: waiting for dependencies, serving, and
// shutting down.
package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Limits of the shutdown: first requests in flight, then the spans that are still queued. Together
// they stay below the five seconds after which a supervisor usually kills.
const (
	serverGrace = time.Second
	flushGrace  = 3 * time.Second
)

// How long a program waits for its dependencies, and how often it checks.
const (
	dependenciesWithin = 30 * time.Second
	dependenciesEvery  = 50 * time.Millisecond
)

// Main runs a program until SIGTERM or an interrupt, and ends the process.
func Main(name string, run func(ctx context.Context, args []string, stdout io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Await returns as soon as all addresses accept connections.
func Await(ctx context.Context, addresses ...string) error {
	ctx, cancel := context.WithTimeout(ctx, dependenciesWithin)
	defer cancel()
	for _, address := range addresses {
		if err := await(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

func await(ctx context.Context, address string) error {
	var dialer net.Dialer
	for {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nobody accepts connections on %s: %w", address, err)
		case <-time.After(dependenciesEvery):
		}
	}
}

// Server is what serves a listener, as http.Server does.
type Server interface {
	Serve(net.Listener) error
	// Shutdown lets requests in flight finish, for as long as the context allows.
	Shutdown(context.Context) error
	Close() error
}

// Serve serves until ctx ends, then shuts down: first the server, so that its last spans have
// ended, then flush.
func Serve(ctx context.Context, listen string, server Server, flush func(context.Context) error, stdout io.Writer) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
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

func within(limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return do(ctx)
}
