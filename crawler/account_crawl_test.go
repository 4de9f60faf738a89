package crawler_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// accountOf opens the account of the crawl in dir. It is closed at the end of the test.
func accountOf(t *testing.T, dir string) *account.Account {
	t.Helper()
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	a, err := account.New(&r.Records, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// codes returns the codes of the URLs of a site, in the order in which they were
// found.
func codes(t *testing.T, a *account.Account, site frontier.Site) (all []string) {
	t.Helper()
	for l, err := range a.List(site) {
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(frontier.Fates(), l.Code) {
			t.Errorf("%s has the code %q, which is unknown", l.URL, l.Code)
		}
		all = append(all, fmt.Sprintf("%s %s %s", l.URL.Target(), l.Code, l.Reason))
	}
	return all
}

// An account applies the budget, the limits and the defaults of the last run.
func TestCodesDependOnTheSettingsOfTheLastRun(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*crawler.Options)
		want   string
	}{
		"limit":    {func(o *crawler.Options) { o.Limit = 1 }, "/b limit "},
		"bytes":    {func(o *crawler.Options) { o.MaxBytes = 1 }, "/ limit "},
		"budget":   {func(o *crawler.Options) { o.MaxHostPages = 1 }, "/b budget max-host-pages 1"},
		"no limit": {func(*crawler.Options) {}, "/b fetched status 200"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", `<a href="/b">`).Page("/b", "y")
				dir := t.TempDir()
				crawl(t, w, func(o *crawler.Options) {
					o.Dir = dir
					c.change(o)
				}, "http://a.example/")
				a := accountOf(t, dir)
				if got := codes(t, a, "http://a.example"); len(got) == 0 || got[len(got)-1] != c.want {
					t.Errorf("%q, want %q as the last", got, c.want)
				}
				if s, ok := a.Stored(); !ok || s.Options.Identity.Token == "" {
					t.Errorf("%+v, %v", s, ok)
				}
				if got := codes(t, a, "http://none.example"); got != nil {
					t.Errorf("a site that is not known has %q", got)
				}
			})
		})
	}
}

// The account of a running crawl can be read, and neither the reader nor the crawl waits for the
// other.
func TestARunningCrawlGivesAccount(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
		t.Fatal(err)
	}
	for settled := 0; settled == 0; {
		g := <-db.Grown()
		if settled = g.Settled; g.Err != nil {
			t.Fatal(g.Err)
		}
	}
	a, err := account.New(&db.Records, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.Explain(u)
	if err != nil || x.Code != frontier.Queued || way(x) != "seed http://a.example/" {
		t.Errorf("%+v, %v", x, err)
	}
	if got := codes(t, a, u.Site()); !slices.Equal(got, []string{"/ queued "}) {
		t.Errorf("%q", got)
	}
	other, _ := frontier.ParseURL("http://b.example/")
	if x, err := a.Explain(other); err != nil || x.Known || x.Code != frontier.Unknown {
		t.Errorf("no run has begun: %+v, %v", x, err)
	}
}

// An account, Crawler.Left and Status have the same URLs as excluded, by orders for a host and for a
// site. Options.Lift revokes only the orders that it names. The account and the summary name them.
func TestExcludedSitesAreExcludedInEachAccount(t *testing.T) {
	sites := []frontier.Site{"http://a.example", "https://a.example", "http://a.example:8080", "http://b.example"}
	for _, c := range []struct {
		of, lift string
		want     []frontier.Site // sites that are excluded before the lift
		after    []frontier.Site // sites that are excluded after the lift
	}{
		{"a.example", "a.example", sites[:3], nil},
		{"a.example", crawler.LiftAll, sites[:3], nil},
		{"a.example", "http://a.example", sites[:3], sites[:3]},
		{"https://a.example", "https://a.example", sites[1:2], nil},
		{"https://a.example", "http://a.example", sites[1:2], sites[1:2]},
		{"http://a.example:8080", "a.example", sites[2:3], sites[2:3]},
		{"http://a.example:8080", "b.example", sites[2:3], sites[2:3]},
		{"b.example", "", sites[3:], sites[3:]},
	} {
		t.Run(fmt.Sprintf("%s, lift %s", c.of, c.lift), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, dir := crawltest.New(t), t.TempDir()
				o := crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{MaxTime: time.Second}}
				for _, s := range sites {
					w.Site(string(s)).Robots("user-agent: *\ncrawl-delay: 30\n").Page("/", "")
					o.Seeds = append(o.Seeds, string(s)+"/")
				}
				excluded := func(when string, r *crawler.Crawler, want []frontier.Site) {
					reader, err := store.OpenReader(dir)
					if err != nil {
						t.Fatal(err)
					}
					defer reader.Close()
					a, err := account.New(&reader.Records, time.Now())
					if err != nil {
						t.Fatal(err)
					}
					var left []frontier.Site
					for skip, err := range r.Left() {
						if err != nil {
							t.Error(err)
						} else if skip.Code == frontier.Excluded {
							left = append(left, skip.URL.Site())
						}
					}
					slices.Sort(left)
					st, err := crawler.ReadStatus(dir)
					if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(left, sorted) || err != nil || st.Left[frontier.Excluded] != len(want) {
						t.Errorf("%s Left has %q, the status %v (%v), want %q", when, left, st.Left, err, want)
					}
					for _, s := range r.Summary().Waiting {
						if is := slices.Contains(want, s.Site); is && s.ExcludedAs != c.of || is != (s.ExcludedAs != "") || is != (s.Excluded != "") {
							t.Errorf("%s %s is excluded as %q: %s", when, s.Site, s.ExcludedAs, s.Excluded)
						}
					}
					for _, s := range sites {
						if h, err := a.Held(&frontier.SiteState{Site: s}); err != nil || slices.Contains(want, s) && h.Order != c.of || !slices.Contains(want, s) && h.Order != "" {
							t.Errorf("%s the account has %s as excluded by %q, %v", when, s, h.Order, err)
						}
						is := slices.Contains(codes(t, a, s), "/ excluded their mail")
						if is != slices.Contains(want, s) {
							t.Errorf("%s the URLs of %s are %q", when, s, codes(t, a, s))
						}
					}
				}
				for _, run := range []struct {
					when, exclude string
					lift          []string
					want          []frontier.Site
				}{
					{"in the run of the order", c.of, nil, c.want}, {"in the next run", "", nil, c.want}, {"after the lift", "", slices.DeleteFunc([]string{c.lift}, func(of string) bool { return of == "" }), c.after},
				} {
					o.Lift = run.lift
					r, err := crawler.New(o)
					if err == nil && run.exclude != "" {
						err = r.Exclude(run.exclude, "their mail")
					}
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Run(t.Context(), nil); err != nil {
						t.Error(err)
					}
					excluded(run.when, r, run.want)
				}
			})
		})
	}
}

// Summary, Status and report say when a page is fetched again. A site that is excluded, or that was
// given up, has no such time.
func TestAStoppedSiteIsNotNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := crawltest.New(t), t.TempDir()
		a, b := w.Site("http://a.example"), w.Site("http://b.example")
		a.Page("/", "")
		b.Robots("user-agent: *\ncrawl-delay: 1800\n").Page("/", `<a href="/2">`).Page("/2", "")
		begin := time.Now()
		o := crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/", "http://b.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			Revisit: revisit.Fixed{Every: 24 * time.Hour}, Budget: crawler.Budget{MaxTime: 2 * time.Hour},
		}
		for _, c := range []struct {
			exclude string
			again   int
			next    time.Duration // since begin; 0: none
		}{{"", 3, 24 * time.Hour}, {"a.example", 3, 25 * time.Hour}, {"b.example", 3, 0}} {
			r, err := crawler.New(o)
			if err == nil && c.exclude != "" {
				err = r.Exclude(c.exclude, "their mail")
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			st, err := crawler.ReadStatus(dir)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := report.Dir(t.Context(), dir, report.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for of, is := range map[string]time.Time{"summary": r.Summary().NextAgain, "status": st.Crawl.NextAgain, "report": rep.NextAgain} {
				if next := is.Sub(begin); c.next == 0 != is.IsZero() || c.next != 0 && next.Round(time.Hour) != c.next {
					t.Errorf("exclude %q: the next of the %s is after %s, want %s", c.exclude, of, next, c.next)
				}
			}
			if st.Crawl.Again != c.again || rep.Again != int64(c.again) {
				t.Errorf("exclude %q: %d and %d again, want %d", c.exclude, st.Crawl.Again, rep.Again, c.again)
			}
		}
	})
}

// A later run would fetch a queued URL, but not if the URL is on the opt-out list by then. A snapshot
// that is over has no later run.
func TestTheOptOutListForbidsLaterRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := crawltest.New(t), t.TempDir()
		w.Site("http://a.example").Page("/", `<a href="/b">`).Page("/b", "")
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Limit = dir, 1 }, "http://a.example/")
		a := accountOf(t, dir)
		a.OptOut = func(frontier.URL) string { return "a.example" }
		for _, c := range []struct {
			url  string
			over bool
			want string
		}{{"http://a.example/", false, ""}, {"http://a.example/b", false, "a.example"}, {"http://a.example/b", true, ""}} {
			u, err := frontier.ParseURL(c.url)
			if err != nil {
				t.Fatal(err)
			}
			a.Over = c.over
			if x, err := a.Facts(u); err != nil || !x.Known || x.OptOut != c.want || x.Over != c.over {
				t.Errorf("%s, over %v: %q, %v, want %q", c.url, c.over, x.OptOut, err, c.want)
			}
		}
	})
}
