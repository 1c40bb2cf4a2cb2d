package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
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
	answersHaveTheAskedSize(t, "off")
}

func answersHaveTheAskedSize(t *testing.T, mode string) {
	t.Helper()
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
