// Package front serves the shop's pages, made from the answers of the other services.
package front

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"windage.dev/subjects/shop/internal/cart"
	pb "windage.dev/subjects/shop/internal/cataloguepb"
	"windage.dev/subjects/shop/internal/checkout"
	"windage.dev/subjects/shop/internal/products"
	"windage.dev/subjects/shop/internal/service"
	"windage.dev/subjects/shop/internal/telemetry"
)

// How many products are recommended on the home page, and beside a product.
const (
	recommendedAtHome  = 6
	recommendedBesides = 3
)

// Run serves until ctx ends.
func Run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("front", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:0", "`address` to listen on")
	catalogue := flags.String("catalogue", "", "`address` of the catalogue")
	rpc := flags.String("rpc", "grpc", products.Usage)
	recommendations := flags.String("recommendations", "", "`address` of the recommendations")
	carts := flags.String("cart", "", "`address` of the carts")
	mode := flags.String("telemetry", "off", "off or otel; otel is configured by the OTEL_* environment")
	if err := flags.Parse(args); err != nil {
		return err
	}
	telemetry, err := telemetry.New(ctx, *mode, "front")
	if err != nil {
		return err
	}
	products, err := products.New(*catalogue, *rpc, telemetry.Transport)
	if err != nil {
		return err
	}
	if err := service.Await(ctx, *catalogue, *recommendations, *carts); err != nil {
		return err
	}
	client := service.Client(telemetry.Transport)
	shop := &Shop{
		Products:        products,
		Carts:           cart.Client{Address: *carts, HTTP: client},
		Recommendations: *recommendations,
		HTTP:            client,
	}
	// No timeouts: connections are opened well before they get load.
	server := &http.Server{Handler: telemetry.Handler(shop.Routes())}
	return service.Serve(ctx, *listen, server, telemetry.Shutdown, stdout)
}

// Shop holds the clients of the other services; Recommendations is an address.
type Shop struct {
	Products interface {
		Get(ctx context.Context, ids []uint32) ([]*pb.Product, error)
	}
	Carts           cart.Client
	Recommendations string
	HTTP            *http.Client
}

// Routes are the shop's pages. The cookie user identifies the user.
//
// Every page calls two services over HTTP and the catalogue once, except for the last: the carts
// call the checkout for it, which calls the catalogue.
func (s *Shop) Routes() http.Handler {
	routes := http.NewServeMux()
	for pattern, make := range map[string]func(*http.Request) (*page, error){
		"GET /{$}":           s.home,
		"GET /products/{id}": s.product,
		"GET /cart":          s.cart,
		"POST /cart":         s.addToCart,
		"POST /checkout":     s.checkout,
	} {
		routes.HandleFunc(pattern, show(make))
	}
	return routes
}

func (s *Shop) home(r *http.Request) (*page, error) {
	cart, err := s.Carts.Of(r.Context(), user(r))
	if err != nil {
		return nil, err
	}
	recommended, err := s.recommended(r.Context(), nil, recommendedAtHome)
	if err != nil {
		return nil, err
	}
	products, err := s.Products.Get(r.Context(), recommended)
	if err != nil {
		return nil, err
	}
	return &page{template: "home", Title: "Shop", Units: cart.Units(), Recommended: products}, nil
}

func (s *Shop) product(r *http.Request) (*page, error) {
	id, err := number(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	cart, err := s.Carts.Of(r.Context(), user(r))
	if err != nil {
		return nil, err
	}
	shown, recommended, err := s.productsAndMore(r.Context(), []uint32{id})
	if err != nil {
		return nil, err
	}
	return &page{
		template:    "product",
		Title:       shown[0].GetName(),
		Units:       cart.Units(),
		Product:     shown[0],
		Recommended: recommended,
	}, nil
}

func (s *Shop) cart(r *http.Request) (*page, error) {
	found, err := s.Carts.Of(r.Context(), user(r))
	if err != nil {
		return nil, err
	}
	return s.cartPage(r.Context(), found)
}

func (s *Shop) addToCart(r *http.Request) (*page, error) {
	product, err := number(r.PostFormValue("product"))
	if err != nil {
		return nil, err
	}
	quantity, err := number(r.PostFormValue("quantity"))
	if err != nil {
		return nil, err
	}
	line := cart.Line{Product: product, Quantity: quantity}
	filled, err := s.Carts.Add(r.Context(), user(r), line)
	if err != nil {
		return nil, err
	}
	return s.cartPage(r.Context(), filled)
}

func (s *Shop) cartPage(ctx context.Context, shown cart.Cart) (*page, error) {
	products, recommended, err := s.productsAndMore(ctx, shown.Products())
	if err != nil {
		return nil, err
	}
	page := &page{template: "cart", Title: "Your cart", Units: shown.Units(), Recommended: recommended}
	for i, line := range shown.Lines {
		page.add(products[i].GetName(), line.Quantity, products[i].GetPriceCents())
	}
	return page, nil
}

func (s *Shop) checkout(r *http.Request) (*page, error) {
	var order checkout.Order
	if err := s.Carts.CheckOut(r.Context(), user(r), &order); err != nil {
		return nil, err
	}
	page := &page{template: "order", Title: "Thank you", Order: order.ID}
	for _, line := range order.Lines {
		page.add(line.Name, line.Quantity, line.PriceCents)
	}
	return page, nil
}

// productsAndMore are the products with these ids, and what is recommended beside them.
func (s *Shop) productsAndMore(ctx context.Context, ids []uint32) (of, more []*pb.Product, err error) {
	recommended, err := s.recommended(ctx, ids, recommendedBesides)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.Products.Get(ctx, append(ids, recommended...))
	if err != nil {
		return nil, nil, err
	}
	return found[:len(ids)], found[len(ids):], nil
}

// recommended asks which products go with those that are given, or go well by themselves.
func (s *Shop) recommended(ctx context.Context, with []uint32, limit int) ([]uint32, error) {
	names := make([]string, len(with))
	for i, id := range with {
		names[i] = strconv.FormatUint(uint64(id), 10)
	}
	url := fmt.Sprintf("http://%s/recommendations?limit=%d&with=%s", s.Recommendations, limit, strings.Join(names, ","))
	var answer struct {
		Products []uint32 `json:"products"`
	}
	err := service.Exchange(ctx, s.HTTP, http.MethodGet, url, nil, &answer)
	return answer.Products, err
}

// user is the name in the cookie, or guest.
func user(r *http.Request) string {
	cookie, err := r.Cookie("user")
	if err != nil {
		return "guest"
	}
	return cookie.Value
}

// wrongError is an error of the user.
type wrongError struct{ said string }

func (e wrongError) Error() string { return fmt.Sprintf("%q is not a number from 1 on", e.said) }

func number(said string) (uint32, error) {
	value, err := strconv.ParseUint(said, 10, 32)
	if err != nil || value == 0 {
		return 0, wrongError{said}
	}
	return uint32(value), nil
}

// statusOf is the status of the answer when a page can't be made.
func statusOf(err error) int {
	var wrong wrongError
	var answered *service.StatusError
	switch {
	case errors.As(err, &wrong):
		return http.StatusBadRequest
	case errors.Is(err, products.ErrUnknown):
		return http.StatusNotFound
	case errors.As(err, &answered) && answered.Status < http.StatusInternalServerError:
		return answered.Status
	default:
		return http.StatusBadGateway
	}
}
