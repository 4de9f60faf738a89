package crawler_test

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// If a handler follows a link with a tag, the page gets that tag even if it was queued before,
// because of a sitemap or of another page. This holds with and without a directory, in one run and
// in two, and for different spellings of the URL.
func TestAGivenTagReachesAQueuedPage(t *testing.T) {
	for _, kept := range []bool{false, true} {
		for _, seedTag := range []string{"", "\tlist"} {
			for _, way := range []string{"", "rewrite", "same", "pages", "stop"} {
				if way == "stop" && !kept {
					continue
				}
				name := map[bool]string{true: "dir", false: "memory"}[kept] + seedTag + " " + way
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					synctest.Test(t, func(t *testing.T) { testGivenTag(t, kept, dir, seedTag, way) })
				})
			}
		}
	}
}

func testGivenTag(t *testing.T, kept bool, dir, seedTag, way string) {
	w := crawltest.New(t)
	s := w.Site("http://a.example").Robots("Sitemap: http://a.example/s.txt").
		File("/s.txt", "text/plain", "http://a.example/listed\nhttp://a.example/listed-only\nhttp://a.example/moved").
		Page("/", `<a href=/plain>1</a> <a href=/plain-only>2</a> <a href=/late>3</a>`).
		Page("/late", `<a href=/first>0</a>`)
	for _, target := range []string{"/listed", "/listed?x=1", "/listed-only", "/plain", "/plain-only", "/first", "/target"} {
		s.Page(target, "")
	}
	s.Redirect("/moved", "/target")
	o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/" + seedTag}, Wire: crawler.Wire{Network: w}}
	o.Links = func(p *crawler.Page, l *crawler.Link) bool {
		switch l.URL.Target() {
		case "/late":
			l.Rank = 1
		default:
			l.Rank = 2 // higher than the rank of /late, so all of them are still queued when /late is visited
		}
		return true
	}
	query := ""
	switch way {
	case "rewrite":
		query, o.Rewrite = "?x=1", func(u frontier.URL) frontier.URL { u, _ = u.Resolve(strings.TrimSuffix(u.Target(), "?x=1")); return u }
	case "same":
		query, o.Same = "?x=1", func(u frontier.URL) frontier.URL { u, _ = u.Resolve(strings.TrimSuffix(u.Target(), "?x=1")); return u }
	}
	if kept {
		o.Dir = dir
	}
	var mu sync.Mutex
	tags := map[string]string{}
	handle := func(p *crawler.Page) error {
		mu.Lock()
		tags[p.URL.Target()] = p.Entry.Tag
		mu.Unlock()
		if p.URL.Target() != "/late" {
			return nil
		}
		return errors.Join(p.FollowTag("/first", "early"), p.FollowTag("/listed"+query, "item"), p.FollowTag("/moved", "item"), p.FollowTag("/plain", "item"))
	}
	for run := range 2 {
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if way == "pages" {
			for p, err := range c.Pages(t.Context()) {
				if err == nil {
					err = handle(p)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		} else if err := c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			if run == 0 && way == "stop" && p.URL.Target() == "/late" {
				return errors.Join(handle(p), crawler.ErrStop)
			}
			return handle(p)
		})); err != nil {
			t.Fatal(err)
		}
		if way != "stop" {
			break
		}
	}
	inherited := strings.TrimSpace(seedTag)
	want := map[string]string{
		"/": inherited, "/late": inherited, "/listed": "item", "/listed-only": inherited, "/plain": "item", "/plain-only": inherited,
		"/first": "early", "/moved": "item", "/target": "item",
	}
	if !maps.Equal(tags, want) {
		t.Errorf("tags are\n%v, want\n%v", tags, want)
	}
	if kept {
		checkKeptTags(t, dir, 1, want)
	}
	w.AssertPolite()
}

// checkKeptTags checks the tags with which the pages of the crawl in dir were fetched, and the
// number of its sitemaps.
func checkKeptTags(t *testing.T, dir string, lists int, want map[string]string) {
	t.Helper()
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, sitemaps := map[string]string{}, 0
	for k, err := range r.Entries("http://a.example") {
		if err != nil {
			t.Fatal(err)
		}
		if k.Sitemap() {
			sitemaps++
			continue
		}
		got[k.URL.Target()] = k.Tag
		if one, ok, err := r.Entry(k.URL); !ok || err != nil || one.Tag != k.Tag {
			t.Errorf("%s has the tag %q, and in the list %q (%v)", k.URL, one.Tag, k.Tag, err)
		}
	}
	if !maps.Equal(got, want) || sitemaps != lists {
		t.Errorf("kept are, with %d sitemaps\n%.300v, want\n%.300v", sitemaps, got, want)
	}
	written := map[string]string{}
	for p, err := range store.ReadPages(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		if u, _ := frontier.ParseURL(p.URL); u.Target() != "/s.txt" {
			written[u.Target()] = p.Tag
		}
	}
	if !maps.Equal(written, want) {
		t.Errorf("pages.jsonl has\n%v, want\n%v", written, want)
	}
}

// A tag may be any text of at most 64 KiB. The page and all files have it unchanged. A longer tag
// is refused.
func TestATagIsData(t *testing.T) {
	for name, tag := range map[string]string{
		"JSON":    `{"cat":"Bücher\n\t","price":1.5,"more":"` + strings.Repeat("y", 5000) + `"}`,
		"longest": strings.Repeat("é", 32<<10),
		"odd":     "a\tb\nc\r\x00\x7f\u2028 \"\\ =",
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", `<a href=/list>1</a>`).Page("/list", `<a class=item href=/item>2</a>`).Page("/item", "").Page("/more", "")
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Dir: dir, Wire: crawler.Wire{Network: w}}
			o.Links = func(p *crawler.Page, l *crawler.Link) bool {
				if l.URL.Target() == "/more" {
					l.Tag += strings.Repeat("z", 64<<10)
				}
				return true
			}
			got := ""
			c, err := crawler.New(o)
			if err == nil {
				err = c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
					switch p.URL.Target() {
					case "/list":
						var long *crawler.OptionError
						if err := p.FollowAll(".item", tag+strings.Repeat("z", 64<<10)); !errors.As(err, &long) {
							t.Errorf("%s: a tag that is too long: %v", name, err)
						}
						return errors.Join(p.FollowAll(".item", tag), p.FollowTag("/more", "more"))
					case "/item":
						got = p.Entry.Tag
					}
					return nil
				}))
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != tag {
				t.Errorf("%s: the page has %.50q, want %.50q", name, got, tag)
			}
			w.AssertNeverFetched("http://a.example/more")
			for _, l := range logLines(t, dir) {
				if in, err := url.PathUnescape(l.Tag); strings.HasSuffix(l.URL, "/item") && (in != tag || err != nil) {
					t.Errorf("%s: crawl.log has %.50q", name, l.Tag)
				}
			}
			for p, err := range crawler.ReadPages(t.Context(), dir) {
				if err != nil {
					t.Fatal(err)
				}
				if p.URL.Target() == "/item" && p.Entry.Tag != tag {
					t.Errorf("%s: pages.jsonl has %.50q", name, p.Entry.Tag)
				}
			}
			checkKeptTags(t, dir, 0, map[string]string{"/": "", "/list": "", "/item": tag})
		})
	}
	if _, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/\t" + strings.Repeat("x", 64<<10+1)}}); err == nil {
		t.Error("a seed with a tag that is too long")
	}
}
