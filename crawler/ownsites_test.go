package crawler_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Everything that reads a crawl knows the settings of single sites: the audit, the account, status,
// report and provenance. The program is not needed. If a later run has no such settings, the
// general ones apply from its first request to the site on.
func TestReadersKnowTheSettingsOfSites(t *testing.T) {
	const forbidden, slow, small, wide = "http://forbidden.example", "http://slow.example", "http://small.example", "http://wide.example"
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		row(w, forbidden, 3).Status("/robots.txt", http.StatusForbidden)
		for _, origin := range []string{slow, small, wide} {
			row(w, origin, 6)
		}
		opts := crawler.Options{
			Dir: dir, Seeds: []string{forbidden + "/0", slow + "/0", small + "/0", wide + "/0"}, Budget: crawler.Budget{MaxHostPages: 4},
			Site: table(t, map[string]crawler.SiteOptions{
				"forbidden.example": {AllowForbidden: true, Header: http.Header{"X-Key": {"secret"}}, Reason: "it is ours"},
				"slow.example":      {Delay: 10 * time.Second},
				"small.example":     {MaxPages: 2},
				"wide.example":      {MaxPages: -1, Reason: "they asked for it"},
			}),
		}
		if _, err := runOf(t, w, nil, opts); err != nil {
			t.Fatal(err)
		}
		read := func() (*account.Account, *store.Reader) {
			r, err := store.OpenReader(dir)
			if err != nil {
				t.Fatal(err)
			}
			a, err := account.New(&r.Records, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			return a, r
		}
		codes := func(a *account.Account, site frontier.Site) (all string) {
			for l, err := range a.List(site) {
				if err != nil {
					t.Fatal(err)
				}
				all += fmt.Sprintf("%s %s, ", l.Code, l.Reason)
			}
			return all
		}
		robotsOf := func(a *account.Account, url string) bool {
			u, err := frontier.ParseURL(url)
			if err != nil {
				t.Fatal(err)
			}
			x, err := a.Facts(u)
			if err != nil || x.Robots == nil {
				t.Fatal(x, err)
			}
			return x.Robots.Verdict.Allowed()
		}
		published := func(want string) {
			t.Helper()
			p, err := provenance.Write(t.Context(), dir, provenance.Options{Temp: t.TempDir()})
			if err != nil || p.Audit.Verdict != want {
				t.Errorf("provenance: %+v, %v", p.Audit, err)
			}
		}

		wantProven(t, dir)
		a, r := read()
		for site, want := range map[frontier.Site]string{
			forbidden: "{1s 4 true} [{header X-Key false} {robots-forbidden allow true}] it is ours", slow: "{10s 4 false} [{delay 10s false}] ",
			small: "{1s 2 false} [{max-host-pages 2 false}] ", wide: "{1s 0 false} [{max-host-pages 0 true}] they asked for it", "http://other.example": "{1s 4 false} [] ",
		} {
			s, err := a.Site(site)
			if got := fmt.Sprintf("{%v %d %v} %v %s", s.Delay, s.Max.Pages, s.Policy.AllowForbidden, s.Own, s.Reason); got != want || err != nil {
				t.Errorf("%s: %s, %v, want %s", site, got, err, want)
			}
		}
		var own []string
		for site, err := range a.OwnSites() {
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, string(site))
		}
		if fmt.Sprint(own) != fmt.Sprint([]string{forbidden, slow, small, wide}) {
			t.Errorf("sites with settings of their own: %v", own)
		}
		if !robotsOf(a, forbidden+"/1") {
			t.Error("the account of a site whose robots.txt is forbidden ignores its setting")
		}
		if got := codes(a, small); got != "fetched status 200, fetched status 200, budget max-host-pages 2, " {
			t.Errorf("%s: %s", small, got)
		}
		if got := codes(a, wide); got != "fetched status 200, fetched status 200, fetched status 200, fetched status 200, fetched status 200, fetched status 200, fetched status 404, " {
			t.Errorf("%s: %s", wide, got)
		}
		r.Close()
		if s, err := crawler.ReadStatus(dir); err != nil || fmt.Sprint(s.Left) != "map[budget:2]" {
			t.Errorf("status: %v, %v", s.Left, err)
		}
		if r, err := report.Dir(t.Context(), dir, report.Options{Temp: t.TempDir()}); err != nil || len(r.Left.Rows) != 2 || r.Left.Rows[0].Reason+r.Left.Rows[1].Reason != "max-host-pages 2max-host-pages 4" && r.Left.Rows[0].Reason+r.Left.Rows[1].Reason != "max-host-pages 4max-host-pages 2" {
			t.Errorf("report: %+v, %v", r.Left, err)
		}
		published(provenance.Clean)

		opts.Site, opts.Seeds = nil, append(opts.Seeds, forbidden+"/new")
		if _, err := runOf(t, w, nil, opts); err != nil {
			t.Fatal(err)
		}
		w.AssertNeverFetched(forbidden + "/new")
		wantProven(t, dir)
		a, r = read()
		defer r.Close()
		for _, site := range []frontier.Site{forbidden, small} {
			if s, err := a.Site(site); err != nil || s.Own != nil || s.Reason != "" || s.Policy.AllowForbidden || s.Max.Pages != 4 {
				t.Errorf("%s after a run without settings of sites: %+v, %v", site, s, err)
			}
		}
		if robotsOf(a, forbidden+"/new") {
			t.Error("the account does not use the settings of the run")
		}
		r.Close()
		published(provenance.Clean)
	})
}
