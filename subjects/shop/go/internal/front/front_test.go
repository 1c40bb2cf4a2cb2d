package front

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"windage.dev/subjects/shop/internal/cart"
	pb "windage.dev/subjects/shop/internal/cataloguepb"
	"windage.dev/subjects/shop/internal/products"
)

// few is a catalogue of nine products that counts its calls.
type few struct{ calls int }

func (f *few) Get(_ context.Context, ids []uint32) ([]*pb.Product, error) {
	f.calls++
	found := make([]*pb.Product, len(ids))
	for i, id := range ids {
		if id > 9 {
			return nil, products.ErrUnknown
		}
		name := fmt.Sprintf("<thing %d>", id)
		found[i] = &pb.Product{Id: id, Name: name, PriceCents: 100 * uint64(id)}
	}
	return found, nil
}

// others answers for carts and recommendations.
func others(w http.ResponseWriter, r *http.Request) {
	answers := map[string]string{
		"GET /recommendations?limit=6&with=":   `{"products": [5, 6]}`,
		"GET /recommendations?limit=3&with=":   `{"products": [8]}`,
		"GET /recommendations?limit=3&with=2":  `{"products": [7]}`,
		"GET /recommendations?limit=3&with=3":  `{"products": []}`,
		"GET /recommendations?limit=3&with=12": `{"products": []}`,
		"GET /carts/ada":                       `{"lines": [{"product": 2, "quantity": 3}]}`,
		"GET /carts/guest":                     `{"lines": []}`,
		"POST /carts/ada/items":                `{"lines": [{"product": 3, "quantity": 4}]}`,
		"POST /carts/ada/checkout":             `{"id": "N1", "lines": [{"name": "thing 2", "quantity": 2, "price_cents": 205}]}`,
	}
	answer, ok := answers[r.Method+" "+r.URL.RequestURI()]
	if !ok {
		http.Error(w, "the cart is empty", http.StatusConflict)
		return
	}
	_, _ = w.Write([]byte(answer))
}

func TestPages(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(others))
	defer backend.Close()
	address := strings.TrimPrefix(backend.URL, "http://")
	catalogue := new(few)
	routes := (&Shop{
		Products:        catalogue,
		Carts:           cart.Client{Address: address, HTTP: backend.Client()},
		Recommendations: address,
		HTTP:            backend.Client(),
	}).Routes()

	table := []struct {
		method, path, user string
		form               url.Values
		status             int
		said               []string
		calls              int
	}{
		{"GET", "/", "ada", nil, 200, []string{`<a href="/products/5">&lt;thing 5&gt;</a>, 5.00 €`, "Cart (3)"}, 1},
		{"GET", "/", "", nil, 200, []string{"/products/6", "Cart (0)"}, 1},
		{"GET", "/products/2", "ada", nil, 200, []string{"<h1>&lt;thing 2&gt;</h1>", "/products/7", "Cart (3)"}, 1},
		{"GET", "/cart", "ada", nil, 200, []string{"<td>3</td><td>&lt;thing 2&gt;</td><td>6.00 €</td>", "/products/7"}, 1},
		{"GET", "/cart", "", nil, 200, []string{"0.00 €", "/products/8"}, 1},
		{"POST", "/cart", "ada", url.Values{"product": {"3"}, "quantity": {"4"}}, 200, []string{"12.00 €"}, 1},
		{"POST", "/checkout", "ada", nil, 200, []string{"Your order is N1", "4.10 €"}, 0},
		{"GET", "/products/zero", "ada", nil, 400, []string{`"zero"`}, 0},
		{"POST", "/cart", "ada", url.Values{"product": {"3"}}, 400, []string{`""`}, 0},
		{"GET", "/products/12", "ada", nil, 404, []string{"no such product"}, 1},
		{"POST", "/checkout", "", nil, 409, []string{"the cart is empty"}, 0},
		{"GET", "/nowhere", "ada", nil, 404, nil, 0},
	}
	for _, row := range table {
		request := httptest.NewRequest(row.method, row.path, strings.NewReader(row.form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if row.user != "" {
			request.AddCookie(&http.Cookie{Name: "user", Value: row.user})
		}
		answer := httptest.NewRecorder()
		catalogue.calls = 0
		routes.ServeHTTP(answer, request)
		if answer.Code != row.status || catalogue.calls != row.calls {
			t.Errorf("%s %s: status %d, %d calls", row.method, row.path, answer.Code, catalogue.calls)
		}
		for _, text := range row.said {
			if !strings.Contains(answer.Body.String(), text) {
				t.Errorf("%s %s does not say %q:\n%s", row.method, row.path, text, answer.Body)
			}
		}
	}
}
