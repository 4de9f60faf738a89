package crawler_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A plan requests only robots.txt, once for each site, after any answer.
func TestAPlanRequestsOnlyRobotsTxt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://slow.example").Robots("User-agent: *\nDisallow: /private\nCrawl-delay: 5").Page("/", "").Page("/private", "")
		w.Site("http://open.example").Robots("User-agent: *\nRequest-rate: 1/2\nSitemap: /s.xml").Page("/", "")
		w.Site("http://out.example").Robots("").Page("/", "")
		o := crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Seeds: []string{
			"http://slow.example/", "http://open.example/", "http://slow.example/private", "http://down.example/", "http://out.example/", "http://slow.example/",
		}}
		o.OptOut = func(u frontier.URL) string {
			if u.Host() == "out.example" {
				return "asked for by mail"
			}
			return ""
		}
		plan, err := crawler.PlanOf(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.Log() {
			if r.Target != "/robots.txt" {
				t.Errorf("requested %s", r.Target)
			}
		}
		if plan.Seeds != 5 || len(plan.Sites) != 4 {
			t.Fatalf("%d seeds of %d sites", plan.Seeds, len(plan.Sites))
		}
		slow, open, down, out := plan.Sites[0], plan.Sites[1], plan.Sites[2], plan.Sites[3]
		if slow.Delay != 5*time.Second || slow.DelayBy != frontier.CrawlDelayClock || slow.Allowed() != 1 {
			t.Errorf("%+v", slow)
		}
		if v := slow.Seeds[1].Verdict; v.Access != robots.Disallow || v.Rule.Line != 2 {
			t.Errorf("%+v", v)
		}
		if open.Delay != 2*time.Second || open.DelayBy != frontier.RateClock || open.Allowed() != 1 {
			t.Errorf("%+v", open)
		}
		if down.Allowed() != 0 || down.Seeds[0].Verdict.Access != robots.Defer || down.Rules.Failure == "" {
			t.Errorf("%+v", down)
		}
		if out.Allowed() != 0 || out.Rules != nil || out.Problem != "it is left alone: asked for by mail" {
			t.Errorf("%+v", out)
		}
	})
}

// A plan for many sites sends requests no faster than Options.Rate.
func TestAPlanKeepsToTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		o := crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Pace: crawler.Pace{Rate: 0.5}}
		for _, host := range []string{"http://a.example/", "http://b.example/", "http://c.example/"} {
			w.Site(host).Robots("").Page("/", "")
			o.Seeds = append(o.Seeds, host)
		}
		if _, err := crawler.PlanOf(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		asked := w.Log()
		if len(asked) != 3 || asked[2].Start.Sub(asked[0].Start) < 4*time.Second {
			t.Errorf("requested %v", asked)
		}
	})
}

// A plan gives no verdict on seeds that are opted out. It gives one on the other seeds of the site,
// in any order of the seeds.
func TestAPlanJudgesEachSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for _, site := range []string{"http://a.example", "http://b.example"} {
			w.Site(site).Robots("User-agent: *\nDisallow: /private").Page("/", "")
		}
		seeds := []string{"http://a.example/~joe/", "http://a.example/", "http://a.example/private", "http://b.example/~joe/", "http://b.example/~joe/x"}
		o := crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Seeds: seeds, OptOut: optOutList(t, "http://a.example/~joe/\nhttp://b.example/~joe/").Why}
		plan, err := crawler.PlanOf(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		a, b := plan.Sites[0], plan.Sites[1]
		if a.Problem != "" || a.Rules == nil || a.Allowed() != 1 || a.Seeds[0].OptOut != "list:1: http://a.example/~joe/" || a.Seeds[0].Verdict.Access != robots.Defer ||
			a.Seeds[1].Verdict.Access != robots.Allow || a.Seeds[1].OptOut != "" || a.Seeds[2].Verdict.Access != robots.Disallow {
			t.Errorf("%+v", a)
		}
		if b.Problem != "it is left alone: list:2: http://b.example/~joe/" || b.Rules != nil || b.Allowed() != 0 {
			t.Errorf("%+v", b)
		}
		for _, r := range w.Log() {
			if r.URL() != "http://a.example/robots.txt" {
				t.Errorf("%s was requested", r.URL())
			}
		}
	})
}
