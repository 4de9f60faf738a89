package main

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

func TestWhatTheSitemapNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").
			Robots("User-agent: *\nDisallow: /private\nSitemap: /map.txt").
			Func("/map.txt", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				for _, path := range []string{"/", "/one", "/two", "/private"} {
					fmt.Fprintf(w, "https://a.example%s\n", path)
				}
			}).
			Page("/", `<title>Home</title><a href="/linked">x</a>`).Page("/one", "<title>One</title>").Page("/two", "<title>Two</title>")
		var got []string
		err := list(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "mapbot", Contact: "https://example.org/mapbot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		}, func(line string) { got = append(got, line) })
		want := []string{
			"https://a.example/\tHome\tin ",
			"https://a.example/one\tOne\tin https://a.example/map.txt",
			"https://a.example/two\tTwo\tin https://a.example/map.txt",
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, want %q; %v", got, want, err)
		}
		w.AssertNeverFetched("https://a.example/private", "https://a.example/linked")
	})
}

func TestASiteThatForbidsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").Robots("User-agent: *\nDisallow: /").Page("/", "")
		err := list(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "mapbot", Contact: "https://example.org/mapbot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		}, func(string) {})
		if err == nil {
			t.Error("there is no error")
		}
	})
}
