package crawler_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/robots"
)

// If a tdmrep.json or license was fetched and cannot be parsed, this is logged. A valid file, a
// missing one, and an HTML page in its place are not logged.
func TestDocumentsAboutUseThatCannotBeReadAreTold(t *testing.T) {
	const rsl = `<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><permits type="usage">all</permits></license></content></rsl>`
	for _, test := range []struct {
		name, mining, license, reason string
	}{
		{"both", `[{"location": "/x", "tdm-reservation": 1}]`, rsl, ""},
		{"neither", "", "", ""},
		{"a page", "<html><p>not found</p>", "<html><p>terms</p>", ""},
		{"half a tdmrep.json", `[{"location": "/x", "tdm-res`, rsl, `url=http://a.example/.well-known/tdmrep.json reason="it is not JSON"`},
		{"half a license", `[]`, rsl[:60], `url=http://a.example/license.xml reason="XML syntax error on line 1: unexpected EOF"`},
		{"a text", "", "All rights reserved.", `url=http://a.example/license.xml reason="it is not an RSL document"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				s := w.Site("http://a.example").Robots("License: /license.xml\nUser-agent: *\nAllow: /\n").Page("/", "x")
				for path, body := range map[string]string{robots.TDMRepPath: test.mining, "/license.xml": test.license} {
					if body != "" {
						s.Func(path, func(w http.ResponseWriter, _ *http.Request) {
							if !strings.HasPrefix(body, "<html>") {
								w.Header().Set("Content-Type", "application/octet-stream")
							}
							w.Write([]byte(body))
						})
					}
				}
				var said bytes.Buffer
				crawl(t, w, func(o *crawler.Options) {
					o.Logger, o.Purpose = slog.New(slog.NewTextHandler(&said, nil)), robots.PurposeAITrain
				}, "http://a.example/")
				want := 1
				if test.reason == "" {
					want = 0
				}
				if n := strings.Count(said.String(), "cannot be read, and says nothing"); n != want || !strings.Contains(said.String(), test.reason) {
					t.Errorf("want %s, logged:\n%s", test.reason, said.String())
				}
				if w.Fetched("http://a.example/") != 1 {
					t.Error("the page was not fetched")
				}
			})
		})
	}
}

// Robots directives for an alias of the crawler apply to it, both in the header and in a meta
// element.
func TestAnAliasIsAddressedByPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/", `<a href=/header>h</a><a href=/meta>m</a><a href=/other>o</a>`)
		page := func(tag, meta string) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("X-Robots-Tag", tag)
				w.Write([]byte(`<meta name="` + meta + `" content="nofollow"><a href="/from` + meta + `">x</a>`))
			}
		}
		s.Func("/header", page("formerbot: nofollow", "a")).Func("/meta", page("all", "formerbot")).Func("/other", page("strangebot: nofollow", "b"))
		crawl(t, w, func(o *crawler.Options) { o.Aliases = []string{"formerbot"} }, "http://a.example/")
		for path, want := range map[string]int{"/froma": 0, "/fromformerbot": 0, "/fromb": 1} {
			if n := w.Fetched("http://a.example" + path); n != want {
				t.Errorf("%s was fetched %d times, want %d", path, n, want)
			}
		}
	})
}
