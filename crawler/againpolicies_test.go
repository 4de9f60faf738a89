package crawler_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/revisit"
)

// The number of requests for pages that change often or seldom depends on the policy.
func TestPoliciesOverMonths(t *testing.T) {
	for text, want := range map[string]struct{ still, busy [2]int }{
		"fixed:7d":        {[2]int{13, 13}, [2]int{13, 13}},
		"adaptive:1d-28d": {[2]int{5, 9}, [2]int{60, 91}},
		"rate:7d":         {[2]int{3, 11}, [2]int{4, 16}},
		"hints:7d":        {[2]int{3, 11}, [2]int{4, 16}},
	} {
		t.Run(text, func(t *testing.T) {
			inVirtualTime(t, true, func(e *endless, shelf *shelf) {
				policy, err := revisit.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				shelf.put("/", resource{body: filler + pages("/busy"), etag: `"1"`})
				world := map[time.Duration]func(){}
				for h := range 90 * 4 { // the busy page changes four times a day
					world[time.Duration(h)*6*hours] = func() {
						shelf.put("/busy", resource{body: fmt.Sprint(filler, h), etag: fmt.Sprintf("%q", fmt.Sprint(h))})
					}
				}
				e.run(90*days, policy, world)
				still, busy := len(e.seen["/"]), len(e.seen["/busy"])
				if still < want.still[0] || still > want.still[1] || busy < want.busy[0] || busy > want.busy[1] {
					t.Errorf("%d visits of what does not change, want %v; %d of what does, want %v", still, want.still, busy, want.busy)
				}
			})
		})
	}
}

// A policy that panics ends the crawl. The next run fetches the page again.
func TestAPolicyThatPanicsLosesNothing(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		shelf.put("/", resource{body: filler})
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: e.web}, Dir: e.dir,
			Revisit: revisit.PolicyFunc(func(revisit.Visit) time.Duration { panic("no") }), Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
		})
		if err != nil {
			t.Fatal(err)
		}
		var panicked *crawler.PanicError
		if err := c.Run(e.t.Context(), nil); !errors.As(err, &panicked) || panicked.Where != "Revisit" {
			t.Fatalf("%v", err)
		}
		e.run(8*days, revisit.PolicyFunc(func(v revisit.Visit) time.Duration {
			if v.Seen == 0 {
				return 7 * days
			}
			return 0 // 0 means the longest pause
		}), nil)
		e.expect("/", "0 200 new, 7 200 not-modified")
		if left := time.Until(listedIn(t, e.dir)["/"].Again); left < revisit.Longest-2*days {
			t.Errorf("it waits for %v", left)
		}
	})
}

// A policy that panics in Believes ends the crawl without loss.
func TestAPolicyThatPanicsAboutAListLosesNothing(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		list := kindsOfLists["RSS"]
		e.lists(shelf, list.kind, list.write)
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/list"}, Wire: crawler.Wire{Network: e.web}, Dir: e.dir, Revisit: afraid{}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
		})
		if err != nil {
			t.Fatal(err)
		}
		var panicked *crawler.PanicError
		if err := c.Run(e.t.Context(), nil); !errors.As(err, &panicked) || panicked.Where != "Revisit" {
			t.Fatalf("%v", err)
		}
		e.run(hours, closely{}, nil)
		if len(e.seen) != 7 {
			t.Errorf("seen are %v", e.seen)
		}
	})
}

// afraid is a policy that panics in Believes.
type afraid struct{ closely }

func (afraid) Believes(string) (time.Duration, bool) { panic("no") }

// A policy may treat pages differently by their URLs.
func TestAPolicyMayDistinguishPages(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		e.opts = func(o *crawler.Options) { o.Seeds = []string{"http://a.example/\tnews"} }
		shelf.put("/", resource{body: filler + pages("/1"), etag: `"1"`})
		shelf.put("/1", resource{body: filler + "1", etag: `"1"`})
		e.run(50*hours, revisit.PolicyFunc(func(v revisit.Visit) time.Duration {
			if v.URL == "http://a.example/" && v.Depth == 0 && v.Tag == "news" {
				return 6 * hours
			}
			if v.URL != "http://a.example/1" || v.Depth != 1 || v.Tag != "news" {
				t.Errorf("%+v", v)
			}
			return days
		}), nil)
		if front, article := len(e.seen["/"]), len(e.seen["/1"]); front != 9 || article != 3 {
			t.Errorf("%d and %d visits", front, article)
		}
	})
}
