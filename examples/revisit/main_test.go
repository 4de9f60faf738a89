package main

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// A new article is found within half an hour, and a correction or removal within days, at the
// pace of any other crawl.
func TestChangesAreReported(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		news := w.Site("https://news.example").
			Page("/", `<a href="/1">x</a>`).Page("/1", `<title>One</title><p>It is so.`)
		var mu sync.Mutex
		var printed []string
		time.AfterFunc(10*time.Hour+time.Minute, func() {
			news.Page("/2", `<title>Two</title><p>And so.`).Page("/", `<a href="/2">x</a> <a href="/1">x</a>`)
		})
		time.AfterFunc(2*24*time.Hour, func() { news.Page("/1", `<title>One</title><p>It is not so.`) })
		time.AfterFunc(4*24*time.Hour, func() { news.Status("/2", 410) })
		err := run(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "newswatch", Contact: "https://example.org/newswatch"}, Dir: dir,
			Seeds: []string{"https://news.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}, Budget: crawler.Budget{MaxTime: 8 * 24 * time.Hour},
		}, func(line string) {
			mu.Lock()
			defer mu.Unlock()
			printed = append(printed, line)
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"2000-01-01 00:00 new https://news.example/1 One", "2000-01-01 10:30 new https://news.example/2 Two",
			"modified https://news.example/1 One", "gone https://news.example/2",
		}
		if !slices.EqualFunc(printed, want, strings.HasSuffix) {
			t.Errorf("the lines are\n%s, want\n%s", strings.Join(printed, "\n"), strings.Join(want, "\n"))
		}
		if front := w.Fetched("https://news.example/"); front < 8*47 || front > 8*48 {
			t.Errorf("the front page was fetched %d times", front)
		}
		w.AssertPolite()
	})
}
