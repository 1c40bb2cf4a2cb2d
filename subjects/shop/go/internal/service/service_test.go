package service

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func unused(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestAwaitsWhatComesLater(t *testing.T) {
	address := unused(t)
	awaited := make(chan error, 1)
	go func() { awaited <- Await(t.Context(), address) }()
	select {
	case err := <-awaited:
		t.Fatalf("nobody was there: %v", err)
	case <-time.After(3 * dependenciesEvery):
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := <-awaited; err != nil {
		t.Error(err)
	}
}

func TestAwaitingIsBoundedAndNamesWhomItAwaited(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*dependenciesEvery)
	defer cancel()
	address := unused(t)
	if err := Await(ctx, address); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("%v does not name %s", err, address)
	}
}

func TestEndsWithTheContextAndFlushes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	flushed := false
	flush := func(context.Context) error {
		flushed = true
		return nil
	}
	cancel()
	if err := Serve(ctx, "127.0.0.1:0", &http.Server{}, flush, io.Discard); err != nil {
		t.Error(err)
	}
	if !flushed {
		t.Error("what was queued was not sent")
	}
}
