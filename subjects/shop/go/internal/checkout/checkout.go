// Package checkout is the service that makes an order of a cart and publishes it.
package checkout

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"windage.dev/subjects/shop/internal/cart"
	pb "windage.dev/subjects/shop/internal/cataloguepb"
	"windage.dev/subjects/shop/internal/products"
	"windage.dev/subjects/shop/internal/service"
	"windage.dev/subjects/shop/internal/telemetry"
)

// subject is where orders are published.
const subject = "orders"

// cartBytes is more than a cart with a line for every product has.
const cartBytes = 64 << 10

// Line is a quantity of one product, at a price.
type Line struct {
	Product    uint32 `json:"product"`
	Name       string `json:"name"`
	Quantity   uint32 `json:"quantity"`
	PriceCents uint64 `json:"price_cents"`
}

// Order is what somebody has bought.
type Order struct {
	ID         string `json:"id"`
	User       string `json:"user"`
	Lines      []Line `json:"lines"`
	TotalCents uint64 `json:"total_cents"`
}

// Run serves until ctx ends.
func Run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("checkout", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "`address` to listen on")
	catalogue := flags.String("catalogue", "", "`address` of the catalogue")
	rpc := flags.String("rpc", "grpc", products.Usage)
	broker := flags.String("broker", "", "`address` of the NATS server")
	mode := flags.String("telemetry", "off", "off or otel; otel is configured by the OTEL_* environment")
	if err := flags.Parse(args); err != nil {
		return err
	}
	telemetry, err := telemetry.New(ctx, *mode, "checkout")
	if err != nil {
		return err
	}
	products, err := products.New(*catalogue, *rpc, telemetry.Transport)
	if err != nil {
		return err
	}
	if err := service.Await(ctx, *catalogue, *broker); err != nil {
		return err
	}
	queue, err := nats.Connect("nats://"+*broker, nats.Name("checkout"))
	if err != nil {
		return err
	}
	defer queue.Close()

	desk := &Desk{
		Products: products,
		Publish:  func(ctx context.Context, order []byte) error { return publish(ctx, queue, order) },
	}
	// No timeouts: connections are opened well before they get load.
	server := &http.Server{Handler: telemetry.Handler(desk.Routes())}
	return service.Serve(ctx, *listen, server, telemetry.Shutdown, stdout)
}

// publish returns when the broker has the order, not merely this process's buffer.
func publish(ctx context.Context, queue *nats.Conn, order []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := queue.Publish(subject, order); err != nil {
		return err
	}
	return queue.FlushWithContext(ctx)
}

// Desk makes orders.
type Desk struct {
	Products interface {
		Get(ctx context.Context, ids []uint32) ([]*pb.Product, error)
	}
	// Publish sends an order, as JSON.
	Publish func(context.Context, []byte) error
}

// Routes are POST /orders, which takes a cart and answers with the order.
func (d *Desk) Routes() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("POST /orders", d.buy)
	return routes
}

// Bought is the cart that the checkout receives.
type Bought struct {
	User string `json:"user"`
	cart.Cart
}

func (d *Desk) buy(w http.ResponseWriter, r *http.Request) {
	var bought Bought
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, cartBytes)).Decode(&bought); err != nil {
		http.Error(w, "not a cart: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(bought.Lines) == 0 {
		http.Error(w, "the cart is empty", http.StatusConflict)
		return
	}
	order, err := d.order(r.Context(), bought)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(order) // the client may have disconnected
}

func (d *Desk) order(ctx context.Context, bought Bought) ([]byte, error) {
	products, err := d.Products.Get(ctx, bought.Products())
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(price(bought, products))
	if err != nil {
		return nil, err
	}
	if err := d.Publish(ctx, order); err != nil {
		return nil, fmt.Errorf("the broker: %w", err)
	}
	return order, nil
}

func price(bought Bought, products []*pb.Product) Order {
	order := Order{ID: nuid.Next(), User: bought.User, Lines: make([]Line, len(bought.Lines))}
	for i, line := range bought.Lines {
		product := products[i]
		order.Lines[i] = Line{
			Product:    line.Product,
			Name:       product.GetName(),
			Quantity:   line.Quantity,
			PriceCents: product.GetPriceCents(),
		}
		order.TotalCents += uint64(line.Quantity) * product.GetPriceCents()
	}
	return order
}
