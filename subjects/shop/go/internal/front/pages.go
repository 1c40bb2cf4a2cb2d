package front

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	pb "windage.dev/subjects/shop/internal/cataloguepb"
)

//go:embed pages.html
var source string

var pages = template.Must(template.New("pages").Funcs(template.FuncMap{"euro": euro}).Parse(source))

// page is the data of the template of that name. Units are those in the user's cart.
type page struct {
	template    string
	Title       string
	Units       uint32
	Product     *pb.Product
	Recommended []*pb.Product
	Lines       []line
	TotalCents  uint64
	Order       string
}

type line struct {
	Name     string
	Quantity uint32
	Cents    uint64
}

func (p *page) add(name string, quantity uint32, priceCents uint64) {
	cents := uint64(quantity) * priceCents
	p.Lines = append(p.Lines, line{Name: name, Quantity: quantity, Cents: cents})
	p.TotalCents += cents
}

func euro(cents uint64) string {
	return fmt.Sprintf("%d.%02d €", cents/100, cents%100)
}

// show answers with a page, written completely or not at all.
func show(make func(*http.Request) (*page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var html bytes.Buffer
		page, err := make(r)
		if err == nil {
			err = pages.ExecuteTemplate(&html, page.template, page)
		}
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(html.Len()))
		_, _ = w.Write(html.Bytes()) // the client may have disconnected
	}
}
