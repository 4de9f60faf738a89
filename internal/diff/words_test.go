package diff_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// Words has everything that is known about a change.
func TestChangesAreToldInWords(t *testing.T) {
	page := diff.State{Fate: frontier.Fetched, Status: 200, Via: "http://a.test/"}
	seed := diff.State{Fate: frontier.Fetched, Status: 200}
	refused := diff.State{Fate: frontier.RobotsDisallowed, Reason: "line 2: Disallow: /"}
	moved := diff.State{Fate: frontier.Fetched, Status: 301, Location: "http://b.test/"}
	at := func(t diff.Target) *diff.Target { return &t }
	for want, c := range map[string]diff.Change{
		"200, found on http://a.test/":                         {Kind: diff.New, Is: page},
		"200, a seed":                                          {Kind: diff.New, Is: seed},
		"another text":                                         {Kind: diff.Modified, Text: diff.TextDiffers},
		"the text was not compared":                            {Kind: diff.Modified, Text: diff.TextUnknown},
		"":                                                     {Kind: diff.SameText, Was: page, Is: page},
		"was 200, found on http://a.test/":                     {Kind: diff.LeftOut, Was: page},
		"refused (line 2: Disallow: /), was 200":               {Kind: diff.Refused, Was: page, Is: refused},
		"queued, was 200":                                      {Kind: diff.NotAsked, Was: page, Is: diff.State{Fate: frontier.Queued}},
		"404, was not known":                                   {Kind: diff.Failing, Is: diff.State{Fate: frontier.Fetched, Status: 404}},
		"301 to http://b.test/":                                {Kind: diff.Redirected, Is: moved},
		"301 to a place that was not kept":                     {Kind: diff.Moved, Is: diff.State{Status: 301}},
		"301 to http://b.test/: the same page":                 {Kind: diff.Moved, Is: moved, Target: at(diff.Target{Fate: frontier.Fetched, Status: 200, SameBody: true})},
		"301 to http://b.test/: another page":                  {Kind: diff.Moved, Is: moved, Target: at(diff.Target{Fate: frontier.Fetched, Status: 200, Text: diff.TextDiffers})},
		"301 to http://b.test/: 404 there":                     {Kind: diff.Moved, Is: moved, Target: at(diff.Target{Fate: frontier.Fetched, Status: 404})},
		"301 to http://b.test/: refused":                       {Kind: diff.Moved, Is: moved, Target: at(diff.Target{Fate: frontier.RobotsDisallowed})},
		"301 to http://b.test/: a page with the same text":     {Kind: diff.Moved, Is: moved, Target: at(diff.Target{Fate: frontier.Fetched, Status: 200, Text: diff.TextSame})},
		"301 to http://b.test/, which the crawl does not know": {Kind: diff.Moved, Is: moved, Target: at(diff.Target{})},
	} {
		if got := c.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	noon := time.Date(2030, 1, 2, 12, 0, 59, 0, time.FixedZone("", 3600))
	for want, c := range map[string]diff.Copy{
		"a file of 2030-01-02 11:00Z":                                              {Outcome: diff.File, Status: 200, Fetched: noon},
		"a file of 2030-01-02 11:00Z, a request in 2.5s, a, b":                     {Outcome: diff.File, Fetched: noon, Delay: 2.5, Signals: []string{"a", "b"}},
		"none, which allows everything (404) of 2030-01-02 11:00Z":                 {Outcome: diff.None, Status: 404, Fetched: noon},
		"no answer (dns) of 2030-01-02 11:00Z, with the copy of 2030-01-01 11:00Z": {Outcome: diff.Unreachable, Failure: "dns", Fetched: noon, Copied: noon.AddDate(0, 0, -1)},
		"not to be read, which allows nothing (403) of 2030-01-02 11:00Z":          {Outcome: diff.Forbidden, Status: 403, Fetched: noon},
	} {
		if got := c.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if a, b := (diff.Decision{Line: 3, Rule: "Allow: /"}).String(), (diff.Decision{Rule: "no robots.txt"}).String(); a != "line 3: Allow: /" || b != "no robots.txt" {
		t.Errorf("%q, %q", a, b)
	}
}

// Decisions are those for the product token of the later crawl, and have the line that decides.
// At most ten seeds are listed.
func TestRulesAreThoseForTheCrawler(t *testing.T) {
	web := func(rules string) func(w *crawltest.Web) {
		return func(w *crawltest.Web) {
			w.Site("http://a.example").Robots(rules).Page("/", "<a href=/x></a><a href=/y></a>").Page("/x", "x").Page("/y", "y")
			for i := range 12 {
				w.Site(fmt.Sprintf("http://s%02d.example", i)).Robots("").Page("/", "s")
			}
		}
	}
	a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
	crawl(t, a, web("User-agent: *\nAllow: /\n"), nil)
	crawl(t, b, web("User-agent: weeklybot\nDisallow: /x\n\nUser-agent: *\nDisallow: /y\n"), func(o *crawler.Options) {
		for i := range 12 {
			o.Seeds = append(o.Seeds, fmt.Sprintf("http://s%02d.example/", i))
		}
	})
	r := compare(t, a, b, diff.Options{})
	if e := r.effects["http://a.example/x"]; len(r.effects) != 1 || e.Is != (diff.Decision{Line: 2, Rule: "Disallow: /x"}) || e.Allowed {
		t.Errorf("%+v", r.effects)
	}
	if c := r.changes["http://a.example/x"]; c.Kind != diff.Refused || c.Is.Reason != "line 2: Disallow: /x" || c.Was.Reason != "" {
		t.Errorf("%+v", c)
	}
	if r.Seeds.Added != 12 || len(r.Seeds.First) != 10 {
		t.Errorf("%+v", r.Seeds)
	}
}

// If robots.txt cannot be fetched, the last copy is in force, and the result has its time.
func TestACopyThatStandsInIsTold(t *testing.T) {
	down := false
	web := func(w *crawltest.Web) {
		w.Site("http://a.example").Func("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
			if down {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Cache-Control", "max-age=1")
			fmt.Fprint(w, "User-agent: *\nDisallow: /x\n")
			down = true
		}).Page("/", "<a href=/x></a><a href=/y></a>").Page("/x", "x").Page("/y", "y")
	}
	steady := func(w *crawltest.Web) {
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /x\n").Page("/", "<a href=/x></a><a href=/y></a>").Page("/x", "x").Page("/y", "y")
	}
	a, b := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "b.crawl")
	crawl(t, a, steady, nil)
	crawl(t, b, web, func(o *crawler.Options) { o.Delay = 25 * time.Hour; o.Patience = 200 * time.Hour })
	r := compare(t, a, b, diff.Options{})
	if len(r.Robots) != 1 || r.Robots[0].Is.Outcome != diff.Unreachable || r.Robots[0].Is.Copied.IsZero() || r.Robots[0].Is.Digest != r.Robots[0].Was.Digest || len(r.effects) != 0 || r.Robots[0].Unclear != 0 {
		t.Errorf("%+v, %v", r.Robots, r.effects)
	}
}
