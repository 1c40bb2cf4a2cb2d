package catalogue

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"windage.dev/subjects/shop/internal/products"
	"windage.dev/subjects/shop/internal/telemetry"
)

// start runs the catalogue until the test is over and returns a client for each way of asking it.
func start(t *testing.T) map[string]products.Client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stdout, printed := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, nil, printed) }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the catalogue did not start: %q", line)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	clients := make(map[string]products.Client)
	for _, rpc := range []string{"grpc", "connect"} {
		client, err := products.New(address, rpc, telemetry.Off().Transport)
		if err != nil {
			t.Fatal(err)
		}
		clients[rpc] = client
	}
	return clients
}

func TestProductsComeInTheOrderAsked(t *testing.T) {
	for rpc, client := range start(t) {
		for _, ids := range [][]uint32{{Size, 1, Size}, {7}, {}} {
			found, err := client.Get(t.Context(), ids)
			if err != nil || len(found) != len(ids) {
				t.Fatalf("%s %v: %v, %v", rpc, ids, found, err)
			}
			for i, product := range found {
				if product.GetId() != ids[i] {
					t.Errorf("%s %v: product %d at %d", rpc, ids, product.GetId(), i)
				}
				if product.GetName() == "" || product.GetDescription() == "" || product.GetPriceCents() == 0 {
					t.Errorf("%v lacks something", product)
				}
			}
		}
	}
}

func TestWhatThereIsNotIsSaid(t *testing.T) {
	for rpc, client := range start(t) {
		for id, want := range map[uint32]error{0: products.ErrUnknown, Size + 1: products.ErrUnknown, Size: nil} {
			if _, err := client.Get(t.Context(), []uint32{1, id}); !errors.Is(err, want) {
				t.Errorf("%s, product %d: %v, want %v", rpc, id, err, want)
			}
		}
	}
}

func TestAnUnknownWayOfAskingIsNamed(t *testing.T) {
	_, err := products.New("127.0.0.1:1", "soap", telemetry.Off().Transport)
	if err == nil || !strings.Contains(err.Error(), `"soap"`) {
		t.Error(err)
	}
}
