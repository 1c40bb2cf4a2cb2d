// Package catalogue is the service that knows the products. It speaks gRPC, on the HTTP/2 of
// net/http, and connect's own protocol.
//
// It and its client use connect, not grpc-go: if the kernel does not let programs write into others,
// OpenTelemetry's agent for Go refuses programs that link the client of grpc-go, and every program
// with its server does.
package catalogue

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect"

	pb "windage.dev/subjects/shop/internal/cataloguepb"
	"windage.dev/subjects/shop/internal/cataloguepb/cataloguepbconnect"
	"windage.dev/subjects/shop/internal/service"
	"windage.dev/subjects/shop/internal/telemetry"
)

// Size is the number of products; their ids are 1 to Size.
const Size = 200

// Run serves until ctx ends.
func Run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("catalogue", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "`address` to listen on")
	mode := flags.String("telemetry", "off", "off or otel; otel is configured by the OTEL_* environment")
	if err := flags.Parse(args); err != nil {
		return err
	}
	telemetry, err := telemetry.New(ctx, *mode, "catalogue")
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.Handle(cataloguepbconnect.NewCatalogueHandler(newShelf()))
	// No timeouts: connections are opened well before they get load.
	server := &http.Server{Handler: telemetry.Handler(routes), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return service.Serve(ctx, *listen, server, telemetry.Shutdown, stdout)
}

// shelf holds the products; the product with id N has index N-1.
type shelf struct {
	products [Size]*pb.Product
}

func newShelf() *shelf {
	kinds := []string{"Telescope", "Tripod", "Eyepiece", "Star map", "Binoculars", "Red torch", "Filter", "Mount"}
	shelf := new(shelf)
	for i := range shelf.products {
		id := uint32(i + 1)
		kind := kinds[i%len(kinds)]
		shelf.products[i] = &pb.Product{
			Id:         id,
			Name:       fmt.Sprintf("%s No. %d", kind, id),
			PriceCents: 995 + 250*uint64(id),
			Description: fmt.Sprintf("%s for clear nights, number %d of our list. "+
				"Made to be carried, set up in the dark and used with gloves on.", kind, id),
		}
	}
	return shelf
}

func (s *shelf) GetProducts(_ context.Context, asked *connect.Request[pb.ProductIds]) (*connect.Response[pb.Products], error) {
	ids := asked.Msg.GetIds()
	found := make([]*pb.Product, len(ids))
	for i, id := range ids {
		if id == 0 || id > Size {
			return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("there is no product %d", id))
		}
		found[i] = s.products[id-1]
	}
	return connect.NewResponse(&pb.Products{Products: found}), nil
}
