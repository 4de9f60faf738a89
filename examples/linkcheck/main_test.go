package main

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// The real crawler runs on a web in memory in virtual time: pauses and retries take no time,
// and the log of the web has its requests.
func TestBrokenLinksAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").
			Robots("User-agent: *\nDisallow: /private/\nCrawl-delay: 10").
			Page("/", `<a href="/fine">1</a> <a href="/gone">2</a> <a href="/busy">3</a> <a href="/wrong">4</a> <a href="/private/x">5</a> <a href="/moved">6</a> <a href="http://">7</a>`).
			Page("/fine", `<a href="/gone">again</a> <a href="https://b.example/">elsewhere</a> <a href="https://b.example/lost">lost</a>
				<a href="https://b.example/old">old</a> <a href="https://b.example/closed">closed</a> <a href="https://b.example/away">away</a>`).
			Flaky("/busy", "", "120", 503, 503).
			Redirect("/moved", "/nowhere").
			Status("/wrong", 500)
		w.Site("https://b.example").Robots("User-agent: *\nDisallow: /closed").
			Page("/", `<a href="/never">1</a>`).Redirect("/away", "/").
			Func("/old", func(rw http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodHead {
					rw.WriteHeader(http.StatusMethodNotAllowed)
				}
			})
		began := time.Now()
		broken, err := check(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "linkbot", Contact: "https://example.org/linkbot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}, Budget: crawler.Budget{Patience: time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range broken {
			got = append(got, fmt.Sprintf("%s on %s", b.to, b.on))
		}
		slices.Sort(got)
		want := []string{
			"http:// on https://a.example/",
			"https://a.example/gone on https://a.example/", "https://a.example/nowhere on https://a.example/moved",
			"https://a.example/wrong on https://a.example/", "https://b.example/lost on https://a.example/fine",
		}
		if !slices.Equal(got, want) {
			t.Errorf("broken are\n%q, want\n%q", got, want)
		}
		w.AssertPolite()
		w.AssertDelay("https://a.example", 10*time.Second)
		w.AssertFetched("https://a.example/fine", "https://a.example/gone")
		w.AssertFetched("https://b.example/", "https://b.example/away", "https://b.example/lost")
		w.AssertNeverFetched("https://a.example/private/x", "https://b.example/never", "https://b.example/closed")
		for _, r := range w.Log() {
			if head := r.Site == "https://b.example" && r.Target != "/robots.txt"; head != (r.Method == http.MethodHead) && r.URL() != "https://b.example/old" {
				t.Errorf("%s was requested with %s", r.URL(), r.Method)
			}
		}
		t.Logf("%d requests in %v", len(w.Log()), time.Since(began))
	})
}

// A site that does not answer is listed, and check returns an error: nothing was checked.
func TestASiteThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").Down(true)
		broken, err := check(t.Context(), crawler.Options{
			Identity: crawler.Identity{Token: "linkbot", Contact: "https://example.org/linkbot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		})
		if err == nil {
			t.Errorf("broken are %q, and there is no error", broken)
		}
	})
}
