package crawltest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// items is a handler that follows the links of a list.
var items = crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
	if p.Status == http.StatusGone {
		return errors.New("the list is gone")
	}
	for _, l := range p.Links() {
		if err := p.FollowLink(l, "item"); err != nil {
			return err
		}
	}
	return p.Follow("more?page=2")
})

// A handler is tested with a page that was never fetched.
func TestAHandlerAlone(t *testing.T) {
	p := crawltest.Page(t, "https://a.example/list/", `<title> The  list </title><base href="/items/"><a href="1">é</a> <a href="2" rel=nofollow>2</a>`)
	p.Entry.Tag = "list"
	if err := items.Handle(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range p.Followed() {
		got = append(got, fmt.Sprintf("%s %s %d %s", e.URL, e.Tag, e.Depth, e.Via))
	}
	want := []string{
		"https://a.example/items/1 item 1 https://a.example/list/", "https://a.example/items/2 item 1 https://a.example/list/",
		"https://a.example/items/more?page=2 list 1 https://a.example/list/",
	}
	if !slices.Equal(got, want) {
		t.Errorf("followed\n%q, want\n%q", got, want)
	}
	doc, err := p.Doc()
	if err != nil || doc.Find("a").First().Text() != "é" || p.Title() != "The list" || p.Status != 200 || p.Type != "text/html" {
		t.Errorf("%v; title %q, status %d, type %q", err, p.Title(), p.Status, p.Type)
	}
	if !p.Verdict.Allowed() || p.Exchange == nil || p.Exchange.Started.IsZero() {
		t.Errorf("verdict %v, exchange %+v", p.Verdict, p.Exchange)
	}
}

// Answer accepts any status, header and body.
func TestAnAnswerAlone(t *testing.T) {
	gone := crawltest.Answer(t, "https://a.example/list/", http.StatusGone, nil, "gone")
	if err := items.Handle(t.Context(), gone); err == nil || len(gone.Followed()) > 0 {
		t.Errorf("%v; followed %v", err, gone.Followed())
	}
	moved := crawltest.Answer(t, "https://a.example/list/", http.StatusFound, http.Header{"Location": {"../new"}}, "")
	if got := moved.Location.String(); got != "https://a.example/new" {
		t.Errorf("leads to %q", got)
	}
	hidden := crawltest.Answer(t, "https://a.example/", http.StatusOK, http.Header{"X-Robots-Tag": {"noindex"}}, "")
	if !hidden.Directives.NoIndex {
		t.Errorf("directives %+v", hidden.Directives)
	}
}
