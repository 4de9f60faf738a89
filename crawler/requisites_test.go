package crawler_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// What a page is shown with is fetched whole, wherever it lies: a style sheet names
// another one, and that a font. It leads to no further page, and to an end.
func TestRequisitesOfRequisites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		css := func(body string) http.HandlerFunc { return sent("text/css", body) }
		w.Site("http://a.example").Page("/", `<link rel="stylesheet" href="http://b.example/1.css"><img src="http://b.example/page"><a href="/1">x</a>`).Page("/1", "")
		w.Site("http://b.example").
			Func("/1.css", css(`@import "2.css"; a { background: url(i.png) }`)).
			Func("/2.css", css(`@import "1.css"; @import "3.css"; @font-face { src: url("http://c.example/f.woff2") }`)).
			Func("/3.css", css(`@import "4.css";`)).
			Func("/4.css", css(`@import "5.css"; b { background: url(far.png) }`)).
			Func("/i.png", sent("image/png", "PNG")).
			Page("/page", `<img src="inner"><a href="/other">x</a>`).
			Page("/inner", `<img src="innermost">`)
		w.Site("http://c.example").Robots("User-agent: *\nSitemap: /map.xml\n").Func("/f.woff2", sent("font/woff2", "WOFF"))
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Requisites = true }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/1", "http://b.example/1.css", "http://b.example/2.css", "http://b.example/3.css", "http://b.example/4.css",
			"http://b.example/i.png", "http://b.example/page", "http://b.example/inner", "http://c.example/f.woff2")
		if sum.Pages != 2 {
			t.Errorf("%d pages", sum.Pages)
		}
		w.AssertPolite()
	})
}

// The header names links as a page does, of any type.
func TestLinksOfTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Func("/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			w.Header().Add("Link", `</next>; rel="next", </style.css>; rel=stylesheet`)
			w.Header().Add("Link", `</no>; rel="next nofollow"`)
		}).Page("/next", "")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/next")
		w.AssertNeverFetched("http://a.example/style.css", "http://a.example/no")
	})
}

// A feed leads to its items.
func TestLinksOfAFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<link rel="alternate" type="application/rss+xml" href="/feed">`).
			Func("/feed", sent("application/rss+xml", `<rss version="2.0"><channel><item><link>http://a.example/item</link></item></channel></rss>`)).Page("/item", "")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/feed", "http://a.example/item")
	})
}
