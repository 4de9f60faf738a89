package crawltest

import (
	"net/http"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Page returns an HTML page with status 200, to test a Handler without a crawl:
//
//	p := crawltest.Page(t, "https://a.example/list", `<a href="/1">one</a>`)
//	p.Entry.Tag = "list"
//	err := h.Handle(t.Context(), p)
//	followed := p.Followed()
//
// If the handler follows URLs of p, p.Followed returns them, and nothing fetches them.
func Page(t testing.TB, url, html string) *crawler.Page {
	t.Helper()
	return Answer(t, url, http.StatusOK, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, html)
}

// Answer is like Page, but returns an answer with any status, header and body. Its Verdict says
// that robots.txt allows the page.
func Answer(t testing.TB, url string, status int, header http.Header, body string) *crawler.Page {
	t.Helper()
	u, err := frontier.ParseURL(url)
	if err != nil {
		t.Fatalf("crawltest: %v", err)
	}
	if header == nil {
		header = http.Header{}
	}
	now := time.Now()
	p := crawler.NewPage(frontier.Entry{URL: u}, &fetch.Exchange{
		URL: u, Proto: "http/1.1", Status: status, Header: header, Body: []byte(body), WireBytes: int64(len(body)),
		Started: now, FirstByte: now, Ended: now,
	}, "")
	p.Verdict = robots.Verdict{Access: robots.Allow}
	return p
}
