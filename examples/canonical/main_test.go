package main

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

func TestEachPageOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").
			Page("/", `<a href="/index.html">x</a> <a href="/a?utm_source=x">x</a> <a href="/a?fbclid=y">x</a> <a href="/print/a">x</a> <a href="/b/index.html?q=1">x</a>`).
			Page("/a", `<link rel="canonical" href="/a">`).
			Page("/print/a", `<link rel="canonical" href="https://a.example/a">`).
			Page("/b/index.html?q=1", `<link rel="canonical" href="/original">`).
			Page("/original", "")
		var got []string
		err := run(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "oncebot", Contact: "https://example.org/oncebot"},
			Seeds:    []string{"https://a.example/index.html"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		}, func(u frontier.URL) { got = append(got, u.Target()) })
		if want := []string{"/", "/a", "/original"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, want %q; %v", got, want, err)
		}
		w.AssertFetched("https://a.example/", "https://a.example/a", "https://a.example/print/a")
		w.AssertNeverFetched("https://a.example/index.html", "https://a.example/a?utm_source=x")
	})
}
