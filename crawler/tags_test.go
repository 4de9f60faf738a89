package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

// A list page gives its links to items a tag. Each page is passed to the handler for its tag.
func ExampleTags() {
	h := crawler.Tags{
		"": crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			for _, l := range p.Links() {
				if l.Rel == "item" {
					if err := p.FollowLink(l, "item"); err != nil {
						return err
					}
				}
			}
			return nil
		}),
		"item": crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			fmt.Println("an item:", p.Title())
			return nil
		}),
	}
	_ = h
}

// A noted is a handler that records its pages, with their tags.
type noted struct {
	mu    sync.Mutex
	pages []string
}

func (n *noted) as(name string, do func(p *crawler.Page) error) crawler.Handler {
	return crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		n.mu.Lock()
		n.pages = append(n.pages, name+" "+p.Entry.Tag+" "+p.URL.Target())
		n.mu.Unlock()
		if do == nil {
			return nil
		}
		return do(p)
	})
}

// runTags crawls w with h. It returns the errors of the handler.
func runTags(t *testing.T, w *crawltest.Web, h crawler.Handler, seeds ...string) (errs []error, c *crawler.Crawler) {
	t.Helper()
	var mu sync.Mutex
	c, err := crawler.New(crawler.Options{
		Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler), OnError: func(p *crawler.Page, err error) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}},
	})
	if err == nil {
		err = c.Run(t.Context(), h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return errs, c
}

// A link has the tag with which it was followed, whether or not the page also links to it, and in
// whatever order. It is queued once. All other links have the tag of their page.
func TestEachPageIsPassedToTheHandlerOfItsTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Page("/", `<a href="/1">1</a> <a href="/2" rel=nofollow>2</a> <a href="/more">more</a> <a href="/untagged">0</a>`).
			Page("/1", `<a href="/1/detail">more of it</a>`).Page("/1/detail", "").
			Page("/2", "").Page("/3", "").Page("/more", `<a href="/1">again</a>`).Page("/untagged", "").Redirect("/4", "/5").Page("/5", "")
		var n noted
		h := crawler.Tags{
			"list": n.as("list", func(p *crawler.Page) error {
				var errs []error
				for _, l := range p.Links() {
					switch l.URL.Target() {
					case "/1", "/2":
						errs = append(errs, p.FollowLink(l, "item"))
					case "/untagged":
						errs = append(errs, p.FollowLink(l, ""))
					}
				}
				if p.URL.Target() == "/" {
					errs = append(errs, p.FollowTag("/3", "list"), p.FollowTag("/3", "item"), p.FollowTag("/4", "item"))
					for i, want := range []string{"item /1", "item /2", " /untagged", "item /3", "item /3", "item /4"} {
						e := p.Followed()[i]
						if got := e.Tag + " " + e.URL.Target(); got != want || e.Depth != 1 || e.Via != p.URL.String() {
							t.Errorf("followed %d: %q at depth %d via %s, want %q", i, got, e.Depth, e.Via, want)
						}
					}
				}
				return errors.Join(errs...)
			}),
			"item": n.as("item", nil),
			"":     n.as("other", nil),
		}
		errs, _ := runTags(t, w, h, "http://a.example/\tlist")
		slices.Sort(n.pages)
		want := []string{
			"item item /1", "item item /1/detail", "item item /2", "item item /3", "item item /4", "item item /5",
			"list list /", "list list /more", "other  /untagged",
		}
		if !slices.Equal(n.pages, want) || len(errs) != 0 {
			t.Errorf("handled\n%q, want\n%q; errors %v", n.pages, want, errs)
		}
	})
}

// A page whose tag has no handler is passed to the handler for "". If none exists, this is an
// error of the page. A nil handler ignores its pages.
func TestTagsWithoutAHandler(t *testing.T) {
	for name, tc := range map[string]struct {
		tags    func(n *noted) crawler.Tags
		handled string
		failed  int
	}{
		"a default": {func(n *noted) crawler.Tags { return crawler.Tags{"": n.as("default", nil)} }, "default x /", 0},
		"none":      {func(n *noted) crawler.Tags { return crawler.Tags{"y": n.as("y", nil)} }, "", 1},
		"nil":       {func(n *noted) crawler.Tags { return crawler.Tags{"x": nil, "": n.as("default", nil)} }, "", 0},
		"nil by default": {func(n *noted) crawler.Tags {
			return crawler.Tags{"": nil}
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "")
				var n noted
				errs, c := runTags(t, w, tc.tags(&n), "http://a.example/\tx")
				if got := fmt.Sprint(n.pages); got != fmt.Sprintf("[%s]", tc.handled) || len(errs) != tc.failed {
					t.Errorf("handled %s, want %s; errors %v", got, tc.handled, errs)
				}
				if tc.failed > 0 && !strings.Contains(errs[0].Error(), `"x"`) {
					t.Errorf("the error is %v", errs[0])
				}
				if sum := c.Summary(); sum.Handler != tc.failed || sum.Fetched != 1 {
					t.Errorf("%d errors of the handler, %d fetched", sum.Handler, sum.Fetched)
				}
			})
		})
	}
}

// Following an invalid reference returns an error, and queues nothing.
func TestFollowingInvalidReferences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		errs, _ := runTags(t, w, crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			if err := p.FollowLink(extract.Link{}, "item"); !errors.Is(err, frontier.ErrNoURL) {
				t.Errorf("FollowLink: %v", err)
			}
			var wrong *frontier.URLError
			if err := p.FollowTag("http://[", "item"); !errors.As(err, &wrong) {
				t.Errorf("FollowTag: %v", err)
			}
			if got := p.Followed(); len(got) != 0 {
				t.Errorf("followed %v", got)
			}
			return nil
		}), "http://a.example/")
		if len(errs) != 0 {
			t.Error(errs)
		}
	})
}

// A URL that a sitemap names has no tag if it is fetched before a page follows it with a tag.
// Options.Links may set a tag for it. Without sitemaps the page decides.
func TestWhatASitemapNamesGetsItsTag(t *testing.T) {
	for _, test := range []struct {
		name     string
		sitemaps crawler.Sitemaps
		links    func(*crawler.Page, *crawler.Link) bool
		want     string
	}{
		{name: "as it is", want: "items item /item"},
		{name: "fetched before it is followed", links: func(p *crawler.Page, l *crawler.Link) bool {
			if l.URL.Target() == "/item" {
				l.Rank = 0
			}
			return true
		}, want: "lists  /item"},
		{name: "none", sitemaps: crawler.SitemapsNone, want: "items item /item"},
		{name: "by Links", links: func(p *crawler.Page, l *crawler.Link) bool {
			if l.URL.Target() == "/item" {
				l.Tag = "item"
			}
			return true
		}, want: "items item /item"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("https://a.example").Robots("Sitemap: /map.txt").
					Page("/", `<a href="/list">x</a>`).Page("/list", `<a href="/item" rel=item>x</a>`).Page("/item", "").
					Func("/map.txt", func(rw http.ResponseWriter, _ *http.Request) {
						rw.Header().Set("Content-Type", "text/plain")
						fmt.Fprintln(rw, "https://a.example/item")
					})
				var n noted
				tags := crawler.Tags{
					"item": n.as("items", nil),
					"": n.as("lists", func(p *crawler.Page) error {
						for _, l := range p.Links() {
							if l.Rel == "item" {
								return p.FollowLink(l, "item")
							}
						}
						return nil
					}),
				}
				c, err := crawler.New(crawler.Options{
					Identity: testIdentity, Seeds: []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
					Follow: crawler.Follow{Sitemaps: test.sitemaps, Links: test.links},
				})
				if err == nil {
					err = c.Run(t.Context(), tags)
				}
				if err != nil || !slices.Contains(n.pages, test.want) || slices.ContainsFunc(n.pages, func(got string) bool {
					return got != test.want && strings.HasSuffix(got, "/item")
				}) {
					t.Errorf("%q, want among them %q; %v", n.pages, test.want, err)
				}
			})
		})
	}
}
