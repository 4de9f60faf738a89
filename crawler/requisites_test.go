package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// All resources that a page needs are fetched, on any host, even over several steps: a style sheet
// names another one, which names a font. They do not lead to further pages.
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

// All images of a srcset are fetched, including those of a picture element. A comma inside a URL is
// a part of the URL.
func TestEachPictureOfASrcsetIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		targets := []string{"/1.png", "/2.png", "/3.png", "/4.png", "/w_9,h_9/a.png"}
		s := w.Site("http://a.example").Page("/", `<img src="/1.png" srcset="/2.png 2x, /3.png 3x,/w_9,h_9/a.png 4x"><picture><source srcset="/4.png 640w"></picture>`)
		want := []string{"http://a.example/"}
		for _, target := range targets {
			s.Func(target, sent("image/png", "PNG"))
			want = append(want, "http://a.example"+target)
		}
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Requisites = true }, "http://a.example/")
		wantPages(t, pages, want...)
	})
}

// If a document in a frame is not a page of the crawl, it is fetched like an image. Its own links
// and frames are not followed.
func TestFramedDocumentsAreFetchedBeyondTheScope(t *testing.T) {
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

// A document in a frame that is in scope is an ordinary page. Without Requisites other documents in
// frames are not fetched.
func TestFramedDocumentsThatArePages(t *testing.T) {
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

// If a page both links to an image out of scope and shows it, the image is fetched.
func TestAnImageThatIsAlsoALinkOutOfScope(t *testing.T) {
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

// Links in the header are followed in an answer of any type.
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

// The links of the items in a feed are followed.
func TestLinksOfAFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<link rel="alternate" type="application/rss+xml" href="/feed">`).
			Func("/feed", sent("application/rss+xml", `<rss version="2.0"><channel><item><link>http://a.example/item</link></item></channel></rss>`)).Page("/item", "")
		pages, _ := crawl(t, w, nil, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/feed", "http://a.example/item")
	})
}

// gallery adds a chain of pages to w. Each links to the next one, and has a picture and a style
// sheet, which imports a style sheet with a font.
func gallery(w *crawltest.Web, origin string, pages int) {
	s := w.Site(origin)
	for i := range pages {
		s.Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<link rel="stylesheet" href="/%d.css"><a href="/%d">x</a><img src="/%d.png">`, i, i+1, i)).
			Func(fmt.Sprintf("/%d.css", i), sent("text/css", fmt.Sprintf(`@import "/%d-more.css";`, i))).
			Func(fmt.Sprintf("/%d-more.css", i), sent("text/css", fmt.Sprintf(`@font-face { src: url("http://fonts.example/%d.woff2") }`, i))).
			Func(fmt.Sprintf("/%d.png", i), sent("image/png", "PNG"))
		w.Site("http://fonts.example").Func(fmt.Sprintf("/%d.woff2", i), sent("font/woff2", "WOFF"))
	}
}

// shownWhole returns the URLs of some pages of a gallery with all their pictures, style sheets and
// fonts.
func shownWhole(origin string, from, to int) (all []string) {
	for i := from; i < to; i++ {
		for _, path := range []string{"", ".css", "-more.css", ".png"} {
			all = append(all, fmt.Sprintf("%s/%d%s", origin, i, path))
		}
		all = append(all, fmt.Sprintf("http://fonts.example/%d.woff2", i))
	}
	return all
}

// If the number of pages of the crawl or of a site is limited, the pictures, style sheets and fonts
// of all fetched pages are fetched, and nothing else. With a larger limit the next run continues
// with the next pages.
func TestLimitsOfPagesLeaveNoHoles(t *testing.T) {
	for name, limit := range map[string]func(o *crawler.Options, pages int){
		"limit":          func(o *crawler.Options, pages int) { o.Limit = pages },
		"max-host-pages": func(o *crawler.Options, pages int) { o.MaxHostPages = pages },
		"site options": func(o *crawler.Options, pages int) {
			o.MaxHostPages, o.Site = 1, func(frontier.Site) crawler.SiteOptions {
				return crawler.SiteOptions{MaxPages: pages, Reason: "its owner asks for it"}
			}
		},
		"ranks": func(o *crawler.Options, pages int) {
			o.Limit, o.Links = pages, func(_ *crawler.Page, l *crawler.Link) bool { l.Rank = 9; return true }
		},
		"one worker": func(o *crawler.Options, pages int) { o.Limit, o.Concurrency = pages, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				gallery(w, "http://a.example", 9)
				var all []string
				for _, pages := range []int{1, 3, 4} {
					end, reason := crawler.EndLimit, frontier.LimitReached
					if name == "max-host-pages" || name == "site options" {
						end, reason = crawler.EndUnasked, frontier.BudgetSpent
					}
					got, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Requisites = dir, true; limit(o, pages) }, "http://a.example/0")
					all = append(all, got...)
					slices.Sort(all)
					wantPages(t, all, shownWhole("http://a.example", 0, pages)...)
					if sum.End != end || sum.Frontier.Spent.Pages != pages || len(sum.Left) != 1 || sum.Left[reason] != 1 {
						t.Errorf("limited to %d pages the crawl ended %q with %d, left %v", pages, sum.End, sum.Frontier.Spent.Pages, sum.Left)
					}
				}
				w.AssertPolite()
			})
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
				t.Errorf("Verify: %v", err)
			}
		})
	}
}

// A run after a kill at any point fetches the missing pictures, style sheets and fonts of the last
// pages.
func TestKillsLeaveNoHolesInTheLastPages(t *testing.T) {
	for after := range 14 {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			gallery(w, "http://a.example", 9)
			options := func() crawler.Options {
				return crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w}, Dir: dir, Follow: crawler.Follow{Requisites: true}, Budget: crawler.Budget{Limit: 2}}
			}
			c, err := crawler.New(options())
			if err != nil {
				t.Fatal(err)
			}
			ctx, kill := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(after)*time.Second+time.Duration(after)*10*time.Millisecond, kill)
			if err := c.Run(ctx, nil); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			kill()
			if c, err = crawler.New(options()); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), nil); err != nil || c.Summary().End != crawler.EndLimit || c.Summary().Frontier.Spent.Pages != 2 {
				t.Errorf("broken off after %ds: %v, %+v", after, err, c.Summary())
			}
			for _, u := range shownWhole("http://a.example", 0, 2) {
				if w.Fetched(u) == 0 {
					t.Errorf("broken off after %ds: %s was never fetched", after, u)
				}
			}
			w.AssertNeverFetched("http://a.example/2")
			w.AssertPolite()
		})
	}
}

// Limits of bytes and of time, and the patience, also apply to images and scripts of pages.
func TestRequisitesHaveLimits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*crawler.Options)
		end    crawler.End
		left   map[frontier.Code]int
		shown  []string
	}{
		"bytes":      {func(o *crawler.Options) { o.MaxBytes = 9000 }, crawler.EndLimit, map[frontier.Code]int{frontier.LimitReached: 4}, nil},
		"host bytes": {func(o *crawler.Options) { o.MaxHostBytes = 9000 }, crawler.EndLimit, map[frontier.Code]int{frontier.BudgetSpent: 3, frontier.LimitReached: 1}, nil},
		"time":       {func(o *crawler.Options) { o.MaxTime = 1500 * time.Millisecond }, crawler.EndTime, map[frontier.Code]int{frontier.Queued: 3, frontier.Waiting: 1}, nil},
		"patience":   {func(o *crawler.Options) { o.Patience = time.Minute }, crawler.EndLimit, map[frontier.Code]int{frontier.LimitReached: 2}, []string{"http://a.example/1.png", "http://a.example/2.png"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 1").
					Page("/", `<a href="/1">x</a><img src="/1.png"><img src="/2.png"><img src="http://b.example/1.png">`+strings.Repeat(" ", 10_000))
				w.Site("http://b.example").Robots("User-agent: *\nCrawl-delay: 3600")
				pages, sum := crawl(t, w, func(o *crawler.Options) { o.Requisites, o.Limit = true, 1; c.change(o) }, "http://a.example/")
				wantPages(t, pages, append(c.shown, "http://a.example/")...)
				if sum.End != c.end || !maps.Equal(sum.Left, c.left) {
					t.Errorf("ended %q, left %v", sum.End, sum.Left)
				}
			})
		})
	}
}

// If Limits.Open is set, a run at its limit of pages fetches the pictures and style sheets of the
// last page, and then waits.
func TestAnOpenRunLeavesNoHoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		gallery(w, "http://a.example", 9)
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w}, Follow: crawler.Follow{Requisites: true}, Budget: crawler.Budget{Limit: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Allow(func(l *crawler.Limits) { l.Open = true }); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Run(t.Context(), nil) }()
		for pages := 1; pages < 4; pages++ {
			time.Sleep(time.Hour)
			synctest.Wait()
			for _, u := range shownWhole("http://a.example", 0, pages) {
				if w.Fetched(u) != 1 {
					t.Errorf("%d pages are allowed: %s was fetched %d times", pages, u, w.Fetched(u))
				}
			}
			w.AssertNeverFetched(fmt.Sprintf("http://a.example/%d", pages))
			if err := c.Allow(func(l *crawler.Limits) { l.Pages = pages + 1; l.Open = pages < 3 }); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; err != nil || c.Summary().End != crawler.EndLimit || c.Summary().Pages != 4 {
			t.Errorf("%v, %+v", err, c.Summary())
		}
		w.AssertPolite()
	})
}

// The images and scripts of a page are fetched before its links, with any ranks. Entries that
// were queued before come first.
func TestRequisitesComeBeforeLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="/1">x</a><a href="/2">x</a><link rel=stylesheet href="/1.css"><img src="/1.png">`).
			Page("/1", `<img src="/2.png"><a href="/3">x</a>`).Page("/2", "").Page("/3", "").Page("/seed", "").
			Func("/1.css", sent("text/css", `a { background: url(/3.png) }`)).
			Func("/1.png", sent("image/png", "PNG")).Func("/2.png", sent("image/png", "PNG")).Func("/3.png", sent("image/png", "PNG"))
		crawl(t, w, func(o *crawler.Options) {
			o.Requisites = true
			o.Links = func(_ *crawler.Page, l *crawler.Link) bool {
				if l.Hop == frontier.HopEmbed {
					l.Rank = 200
				}
				return true
			}
		}, "http://a.example/", "http://a.example/seed")
		var order []string
		for _, r := range w.Log() {
			order = append(order, r.Target)
		}
		if got, want := strings.Join(order, " "), "/robots.txt / /seed /1.css /1.png /3.png /1 /2.png /2 /3"; got != want {
			t.Errorf("requested %s, want %s", got, want)
		}
	})
}
