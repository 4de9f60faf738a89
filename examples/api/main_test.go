package main

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// The program reads all pages, and waits as long as Retry-After says.
func TestAllItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		page := func(n int, next string) string {
			return fmt.Sprintf(`{"items": [{"name": "item %d"}], "next": %q}`, n, next)
		}
		w.Site("http://a.example").File("/items", "application/json", page(1, "?page=2")).
			Flaky("/items?page=2", page(2, "?page=3"), "3600", 429).
			Flaky("/items?page=3", page(3, ""), "", 503, 503)
		client, err := fetch.NewClient(fetch.ClientOptions{Token: "itembot", Contact: "https://example.org/bot", Patience: frontier.Forever, Network: w})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		began := time.Now()
		var names []string
		if err := items(t.Context(), client, "http://a.example/items", func(name string) { names = append(names, name) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(names, []string{"item 1", "item 2", "item 3"}) || time.Since(began) < time.Hour {
			t.Errorf("%q after %v", names, time.Since(began))
		}
		w.AssertPolite()
	})
}
