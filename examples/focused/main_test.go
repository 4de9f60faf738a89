package main

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// Pages about the topic come first, at any depth, at the pace of any other crawl.
func TestTheMostPromisingComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").
			Page("/", `<a href="/cars">x</a> <a href="/trees">x</a>`).
			Page("/cars", `<a href="/wheels">x</a>`).
			Page("/trees", `Walnut, walnut! <a href="/birch">x</a> <a href="/walnut">x</a>`).
			Page("/wheels", "").Page("/birch", "").
			Page("/walnut", `WALNUT <a href="/oil-of-walnut">x</a>`).Page("/oil-of-walnut", "walnut")
		var got []string
		var scores []int
		err := run(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "topicbot", Contact: "https://example.org/topicbot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		}, []string{"Walnut"}, func(p *crawler.Page, score int) {
			got, scores = append(got, p.URL.Target()), append(scores, score)
		})
		want := []string{"/", "/cars", "/trees", "/walnut", "/oil-of-walnut", "/birch", "/wheels"}
		if err != nil || !slices.Equal(got, want) || !slices.Equal(scores, []int{0, 0, 3, 2, 1, 0, 0}) {
			t.Errorf("%q, want %q; %v, %v", got, want, scores, err)
		}
		w.AssertPolite()
	})
}
