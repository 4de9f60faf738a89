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

// A document in a frame that is no page of the crawl belongs to the page around it, as
// an image does, but not what that document leads to or frames in turn.
func TestDocumentsInFramesAreShownBeyondTheScope(t *testing.T) {
	for name, page := range map[string]string{
		"scope":    `<iframe src="http://b.example/frame"></iframe><object data="http://b.example/object" type="text/html"></object><a href="http://b.example/1">x</a>`,
		"depth":    `<a href="/deep">x</a>`,
		"nofollow": `<meta name=robots content=nofollow><iframe src="http://b.example/frame"></iframe><iframe src="http://b.example/object"></iframe>`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", page).
					Page("/deep", `<iframe src="/frame"></iframe>`).
					Page("/frame", `<img src="i.png"><a href="/2">x</a>`).Page("/i.png", "PNG").Page("/2", "")
				w.Site("http://b.example").
					Page("/frame", `<img src="i.png"><iframe src="inner"></iframe><a href="/2">x</a>`).Page("/i.png", "PNG").
					Page("/inner", `<iframe src="innermost"></iframe>`).Page("/object", "")
				pages, sum := crawl(t, w, func(o *crawler.Options) { o.Requisites, o.Depth = true, 1 }, "http://a.example/")
				want, documents := []string{"http://a.example/", "http://b.example/frame", "http://b.example/i.png", "http://b.example/inner", "http://b.example/object"}, 1
				if name == "depth" {
					want, documents = []string{"http://a.example/", "http://a.example/deep", "http://a.example/frame", "http://a.example/i.png"}, 2
				}
				wantPages(t, pages, want...)
				if sum.Pages != documents {
					t.Errorf("%d pages", sum.Pages)
				}
				w.AssertPolite()
			})
		})
	}
}

// A frame in scope is a page like any other, and none is fetched where requisites are not.
func TestDocumentsInFramesThatArePagesByThemselves(t *testing.T) {
	for _, requisites := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", `<iframe src="/frame"></iframe>`).Page("/frame", `<a href="/2">x</a><iframe src="http://b.example/"></iframe>`).Page("/2", "")
			w.Site("http://b.example").Page("/", "")
			pages, sum := crawl(t, w, func(o *crawler.Options) { o.Requisites = requisites }, "http://a.example/")
			wanted := []string{"http://a.example/", "http://a.example/frame", "http://a.example/2"}
			if requisites {
				wanted = append(wanted, "http://b.example/")
			}
			wantPages(t, pages, wanted...)
			if sum.Pages != 3 {
				t.Errorf("%d pages", sum.Pages)
			}
		})
	}
}

// What a page leads to and is shown with is fetched, though nothing is fetched for the link.
func TestAnImageThatIsALinkBeyondTheScope(t *testing.T) {
	for _, page := range []string{
		`<a href="http://b.example/i.png"><img src="http://b.example/i.png"></a><a href="http://b.example/i.png">x</a><img src="http://b.example/i.png">`,
		`<img src="http://b.example/i.png"><a href="http://b.example/i.png">x</a>`,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", page)
			w.Site("http://b.example").Func("/i.png", sent("image/png", "PNG"))
			pages, _ := crawl(t, w, func(o *crawler.Options) { o.Requisites = true }, "http://a.example/")
			wantPages(t, pages, "http://a.example/", "http://b.example/i.png")
			if n := w.Fetched("http://b.example/i.png"); n != 1 {
				t.Errorf("fetched %d times", n)
			}
		})
	}
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
