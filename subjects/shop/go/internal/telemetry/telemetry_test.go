package telemetry

import (
	"net/http"
	"strings"
	"testing"
)

func TestOffAddsNothing(t *testing.T) {
	off, err := New(t.Context(), "off", "shop")
	if err != nil {
		t.Fatal(err)
	}
	if off.Transport(http.DefaultTransport) != http.DefaultTransport {
		t.Error("there is something around a client")
	}
	if mux := http.NewServeMux(); off.Handler(mux) != http.Handler(mux) {
		t.Error("there is something around a server")
	}
	if err := off.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnUnknownModeIsNamed(t *testing.T) {
	if _, err := New(t.Context(), "on", "shop"); err == nil || !strings.Contains(err.Error(), `"on"`) {
		t.Error(err)
	}
}
