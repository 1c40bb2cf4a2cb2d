package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	pb "windage.dev/subjects/shop/internal/cataloguepb"
)

// prices is a catalogue in which product N costs N euros.
type prices struct{}

func (prices) Get(_ context.Context, ids []uint32) ([]*pb.Product, error) {
	products := make([]*pb.Product, len(ids))
	for i, id := range ids {
		products[i] = &pb.Product{Id: id, Name: "thing", PriceCents: 100 * uint64(id)}
	}
	return products, nil
}

func buy(bought string, publish func(context.Context, []byte) error) *httptest.ResponseRecorder {
	desk := &Desk{Products: prices{}, Publish: publish}
	answer := httptest.NewRecorder()
	desk.Routes().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(bought)))
	return answer
}

func TestWhatIsAnsweredIsWhatWasPublished(t *testing.T) {
	var published []byte
	bought := `{"user": "ada", "lines": [{"product": 2, "quantity": 3}, {"product": 5, "quantity": 1}]}`
	answer := buy(bought, func(_ context.Context, order []byte) error {
		published = order
		return nil
	})
	if answer.Code != http.StatusOK || answer.Body.String() != string(published) {
		t.Fatalf("%d %s, but published %s", answer.Code, answer.Body, published)
	}
	var order Order
	if err := json.Unmarshal(published, &order); err != nil {
		t.Fatal(err)
	}
	if order.ID == "" || order.User != "ada" || len(order.Lines) != 2 || order.TotalCents != 3*200+500 {
		t.Errorf("%+v", order)
	}
}

func TestWhatFailsIsSaid(t *testing.T) {
	published := func(context.Context, []byte) error { return nil }
	lost := func(context.Context, []byte) error { return errors.New("nobody is there") }
	table := []struct {
		bought  string
		publish func(context.Context, []byte) error
		status  int
		said    string
	}{
		{`{"user": "ada", "lines": []}`, published, http.StatusConflict, "empty"},
		{`{"user": "ada", "lines": [{"product": 1, "quantity": 1}]}`, lost, http.StatusBadGateway, "nobody is there"},
		{"nonsense", published, http.StatusBadRequest, "not a cart"},
	}
	for _, row := range table {
		answer := buy(row.bought, row.publish)
		if answer.Code != row.status || !strings.Contains(answer.Body.String(), row.said) {
			t.Errorf("%s: %d %q, want %d and %q", row.bought, answer.Code, answer.Body, row.status, row.said)
		}
	}
}
