// Package cart is the client of the service that keeps carts.
package cart

import (
	"context"
	"net/http"
	"net/url"

	"windage.dev/subjects/shop/internal/service"
)

// Line is a quantity of one product.
type Line struct {
	Product  uint32 `json:"product"`
	Quantity uint32 `json:"quantity"`
}

// Cart is what somebody is about to buy.
type Cart struct {
	Lines []Line `json:"lines"`
}

// Units is the number of units in the cart.
func (c Cart) Units() uint32 {
	var units uint32
	for _, line := range c.Lines {
		units += line.Quantity
	}
	return units
}

// Products are those of the cart, in the order of its lines.
func (c Cart) Products() []uint32 {
	ids := make([]uint32, len(c.Lines))
	for i, line := range c.Lines {
		ids[i] = line.Product
	}
	return ids
}

// Client asks the cart service at an address.
type Client struct {
	Address string
	HTTP    *http.Client
}

// Of is a user's cart.
func (c Client) Of(ctx context.Context, user string) (Cart, error) {
	return c.ask(ctx, http.MethodGet, user, "", nil)
}

// Add puts a line into a user's cart and returns the cart.
func (c Client) Add(ctx context.Context, user string, line Line) (Cart, error) {
	return c.ask(ctx, http.MethodPost, user, "/items", line)
}

// CheckOut makes the cart service pass the user's cart to the checkout, and returns the resulting
// order.
func (c Client) CheckOut(ctx context.Context, user string, order any) error {
	return service.Exchange(ctx, c.HTTP, http.MethodPost, c.url(user)+"/checkout", nil, order)
}

func (c Client) ask(ctx context.Context, method, user, what string, body any) (Cart, error) {
	var cart Cart
	err := service.Exchange(ctx, c.HTTP, method, c.url(user)+what, body, &cart)
	return cart, err
}

func (c Client) url(user string) string {
	return "http://" + c.Address + "/carts/" + url.PathEscape(user)
}
