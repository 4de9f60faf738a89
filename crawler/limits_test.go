package crawler_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// A limit of pages does not count images, scripts and the like.
func TestLimitsCountNoRequisites(t *testing.T) {
	for name, change := range map[string]func(*crawler.Options){
		"limit": func(o *crawler.Options) { o.Limit = 3 },
		"site":  func(o *crawler.Options) { o.MaxHostPages = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				s := w.Site("http://a.example")
				for i := range 5 {
					s.Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<a href="/%d">x</a><img src="/%d.gif"><img src="/%d.png">`, i+1, i, i))
					s.Page(fmt.Sprintf("/%d.gif", i), "GIF").Page(fmt.Sprintf("/%d.png", i), "PNG")
				}
				pages, sum := crawl(t, w, func(o *crawler.Options) { o.Requisites = true; change(o) }, "http://a.example/0")
				documents := 0
				for _, p := range pages {
					if !strings.HasSuffix(p, ".gif") && !strings.HasSuffix(p, ".png") {
						documents++
					}
				}
				if documents != 3 || sum.Pages != 3 || sum.Frontier.Spent.Pages != 3 || len(pages) < 3+2*2 {
					t.Errorf("%d documents of %v; %d pages counted in the run, %d in the crawl", documents, pages, sum.Pages, sum.Frontier.Spent.Pages)
				}
			})
		})
	}
}

// When the time of the run is up, an endless body is cancelled. Its site still gets its pause, and
// the next run requests the page again.
func TestTheEndOfTheTimeCancelsBodies(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Func("/", func(rw http.ResponseWriter, r *http.Request) {
			for {
				rw.Write([]byte("x"))
				http.NewResponseController(rw).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Second):
				}
			}
		})
		for range 2 {
			began := time.Now()
			_, sum := crawl(t, w, func(o *crawler.Options) { o.MaxTime, o.Timeout, o.Dir = 5*time.Second, time.Hour, dir }, "http://a.example/")
			if took := time.Since(began); took < 15*time.Second || took > 16*time.Second || sum.End != crawler.EndTime || sum.Left[frontier.Queued] != 1 || sum.Errors["stopped"] != 1 {
				t.Errorf("ended %q after %v, left %v, errors %v", sum.End, took, sum.Left, sum.Errors)
			}
		}
		if n := w.Fetched("http://a.example/"); n != 2 {
			t.Errorf("requested %d times", n)
		}
		w.AssertPolite()
	})
}

// If no page could be fetched, the line of the summary says so and gives the reason.
func TestSummariesSayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<a href="http://b.example/">x</a>`)
		_, sum := crawl(t, w, nil, "http://a.example/")
		if want := "done: 1 answered in this run, 1 of them pages; links not followed, outside: 1"; sum.String() != want {
			t.Errorf("%s", sum)
		}
		_, sum = crawl(t, w, nil, "http://none.example/")
		if text := sum.String(); sum.Fetched != 0 || !regexp.MustCompile(`^unasked: 0 answered .*; 1 left: dead; http://none.example: dns`).MatchString(text) {
			t.Errorf("%+v: %s", sum.End, text)
		}
	})
}

// The program in README.md is the program that this test compiles.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(readme), "\nfunc main() {\n")
	program, _, _ = strings.Cut(program, "\n```")
	if program == "" || !strings.Contains(string(example), "func Example() {\n"+program) {
		t.Errorf("README.md and Example differ:\n%s", program)
	}
}

// A run whose MaxTime is one nanosecond ends with EndTime. A MaxTime of 0 means no limit.
func TestTheLeastTimeOfARun(t *testing.T) {
	for most, want := range map[time.Duration]crawler.End{0: crawler.EndDone, 1: crawler.EndTime} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			book(w, "http://a.example", 3)
			if _, sum := crawl(t, w, func(o *crawler.Options) { o.MaxTime = most }, "http://a.example/0"); sum.End != want {
				t.Errorf("a run of %v ended %q, want %q", most, sum.End, want)
			}
		})
	}
}
