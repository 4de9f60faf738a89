package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// Each site is crawled with its settings in the file, and the others as usual.
func TestSitesHaveSettingsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for _, origin := range []string{"http://www.slow.example", "http://mine.example", "http://other.example"} {
			w.Site(origin).Page("/", `<a href="/1">x</a><a href="/2">x</a>`).Page("/1", "x").Page("/2", "x")
		}
		w.Site("http://mine.example").Status("/robots.txt", http.StatusForbidden)
		var mu sync.Mutex
		var got []string
		err := run(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"}, Wire: crawler.Wire{Network: w},
			Seeds: []string{"http://www.slow.example/", "http://mine.example/", "http://other.example/"},
		}, []byte(`{
			"slow.example": {"delay": "10s", "pages": 2},
			"http://mine.example": {"robots-forbidden": "allow", "reason": "it is ours"}
		}`), func(p *crawler.Page) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, p.URL.Host()+p.URL.Target())
		})
		slices.Sort(got)
		want := []string{"mine.example/", "mine.example/1", "mine.example/2", "other.example/", "other.example/1", "other.example/2", "www.slow.example/", "www.slow.example/1"}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, want %q; %v", got, want, err)
		}
		w.AssertDelay("http://www.slow.example", 10*time.Second)
	})
}

// An invalid setting in the file is reported with its key, and no request is sent.
func TestAFileThatIsNotValid(t *testing.T) {
	for file, want := range map[string]string{
		`{`:                              "unexpected end",
		`{"a.example": {"delay": "10"}}`: "a.example: delay: ",
		`{"a.example": {"robots-forbidden": "allow"}}`: "a.example: crawler: Site.AllowForbidden: ",
		`{"a.example:80": {"delay": "10s"}}`:           `"a.example:80"`,
	} {
		err := run(t.Context(), crawler.Options{}, []byte(file), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
