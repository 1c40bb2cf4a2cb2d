// Package products is the client of the catalogue, in gRPC or in connect's own protocol.
package products

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	pb "windage.dev/subjects/shop/internal/cataloguepb"
	"windage.dev/subjects/shop/internal/cataloguepb/cataloguepbconnect"
	"windage.dev/subjects/shop/internal/service"
)

// ErrUnknown is the error for products that the catalogue does not have.
var ErrUnknown = errors.New("there is no such product")

// Client asks a catalogue.
type Client struct {
	catalogue cataloguepbconnect.CatalogueClient
}

// Usage is for a flag that says how the catalogue is asked.
const Usage = "how the catalogue is asked: grpc, or connect, which is the same messages over HTTP/1.1"

// New makes a client of the catalogue at an address, in the given way, with wrap around it.
func New(address, rpc string, wrap func(http.RoundTripper) http.RoundTripper) (Client, error) {
	at := "http://" + address
	switch rpc {
	case "grpc":
		http2 := service.ClientHTTP2(wrap)
		return Client{cataloguepbconnect.NewCatalogueClient(http2, at, connect.WithGRPC())}, nil
	case "connect":
		return Client{cataloguepbconnect.NewCatalogueClient(service.Client(wrap), at)}, nil
	default:
		return Client{}, fmt.Errorf("-rpc %q: neither grpc nor connect", rpc)
	}
}

// Get returns the products with these ids, in that order.
func (c Client) Get(ctx context.Context, ids []uint32) ([]*pb.Product, error) {
	answer, err := c.catalogue.GetProducts(ctx, connect.NewRequest(&pb.ProductIds{Ids: ids}))
	switch {
	case connect.CodeOf(err) == connect.CodeNotFound:
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	case err != nil:
		return nil, fmt.Errorf("the catalogue: %w", err)
	}
	found := answer.Msg.GetProducts()
	if len(found) != len(ids) {
		return nil, fmt.Errorf("the catalogue: %d products for %d ids", len(found), len(ids))
	}
	return found, nil
}
