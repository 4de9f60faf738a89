package diff_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// For each changed robots.txt, the result has the URLs whose decision has changed, with the
// lines that decide.
func TestWhatARobotsTxtHasChangedIsToldByURLAndLine(t *testing.T) {
	home := `<a href=/old></a><a href=/open></a><a href=/plain></a>`
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }
	}
	sites := func(w *crawltest.Web, names ...string) (all []*crawltest.Site) {
		for _, name := range names {
			all = append(all, w.Site("http://"+name+".example").Page("/", home).Page("/old", "1").Page("/open", "2").Page("/plain", "3"))
		}
		return all
	}
	names := []string{"file", "same", "closed", "down", "gone"}
	seeds := func(o *crawler.Options) {
		o.Seeds = nil
		for _, name := range names {
			o.Seeds = append(o.Seeds, "http://"+name+".example/")
		}
	}
	const rules = "User-agent: *\nDisallow: /old\n"
	a, b := two(t, func(w *crawltest.Web) {
		for _, s := range sites(w, names...) {
			s.Robots(rules)
		}
	}, func(w *crawltest.Web) {
		s := sites(w, names...)
		s[0].Robots("User-agent: *\nAllow: /old\nAllow: /\nCrawl-delay: 9\n# \nDisallow: /open\nContent-Signal: ai-train=no\n")
		s[1].Robots(rules)
		s[2].Func("/robots.txt", status(http.StatusForbidden))
		s[3].Func("/robots.txt", status(http.StatusServiceUnavailable))
		s[4].Func("/robots.txt", status(http.StatusNotFound))
	}, seeds)
	r := compare(t, a, b, diff.Options{})
	digest := r.Robots[0].Was.Digest
	old := diff.Copy{Outcome: diff.File, Status: 200, Digest: digest}
	was := diff.Decision{Line: 2, Rule: "Disallow: /old"}
	none := diff.Decision{Rule: "no rule matches"}
	forbids := func(site frontier.Site, path string, was, is diff.Decision, now frontier.Code) diff.Effect {
		return diff.Effect{URL: string(site) + path, Site: site, Was: was, Is: is, FateBefore: frontier.Fetched, Fate: now}
	}
	closed := diff.Decision{Rule: "robots.txt forbidden"}
	want := []diff.Robots{
		{
			Site: "http://closed.example", Was: old, Is: diff.Copy{Outcome: diff.Forbidden, Status: 403}, Disallowed: 3,
			First: []diff.Effect{
				forbids("http://closed.example", "/", none, closed, frontier.RobotsDisallowed),
				forbids("http://closed.example", "/open", none, closed, frontier.Undecided),
				forbids("http://closed.example", "/plain", none, closed, frontier.Undecided),
			},
		},
		{Site: "http://down.example", Was: old, Is: diff.Copy{Outcome: diff.Unreachable, Status: 503}, Unclear: 4, First: []diff.Effect{}},
		{
			Site: "http://file.example", Was: old, Disallowed: 1, Allowed: 1,
			Is: diff.Copy{Outcome: diff.File, Status: 200, Digest: r.Robots[2].Is.Digest, Delay: 9, Signals: []string{"ai-train: refused (line 7: Content-Signal: ai-train=no)"}},
			First: []diff.Effect{
				{
					URL: "http://file.example/old", Site: "http://file.example", Allowed: true, Was: was, Is: diff.Decision{Line: 2, Rule: "Allow: /old"},
					FateBefore: frontier.RobotsDisallowed, Fate: frontier.Fetched,
				},
				forbids("http://file.example", "/open", none, diff.Decision{Line: 6, Rule: "Disallow: /open"}, frontier.RobotsDisallowed),
			},
		},
		{
			Site: "http://gone.example", Was: old, Is: diff.Copy{Outcome: diff.None, Status: 404}, Allowed: 1,
			First: []diff.Effect{{
				URL: "http://gone.example/old", Site: "http://gone.example", Allowed: true, Was: was, Is: diff.Decision{Rule: "no robots.txt"},
				FateBefore: frontier.RobotsDisallowed, Fate: frontier.Fetched,
			}},
		},
	}
	if d := cmp.Diff(want, r.Robots, cmpopts.IgnoreTypes(time.Time{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if r.Disallowed != 4 || r.Allowed != 2 || len(r.effects) != 6 {
		t.Errorf("%d newly disallowed, %d newly allowed, %d effects", r.Disallowed, r.Allowed, len(r.effects))
	}
	if digest == r.Robots[2].Is.Digest || digest == "" || r.Robots[0].Is.Fetched.IsZero() {
		t.Errorf("%+v", r.Robots)
	}
}
