package fetch

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// only returns an Options.Site that sets the options of one site, and counts its calls.
func only(site frontier.Site, o SiteOptions, n *int) func(frontier.Site) (SiteOptions, error) {
	return func(s frontier.Site) (SiteOptions, error) {
		*n++
		if s == site {
			return o, nil
		}
		return SiteOptions{}, nil
	}
}

// A forbidden robots.txt allows all pages only if the site has the option AllowForbidden. This is
// also true for a robots.txt that another run has fetched.
func TestAForbiddenRobotsTxtPermitsOnOneSiteAlone(t *testing.T) {
	forbidden := func() *wire {
		return &wire{serve: answers(func(r *request, n int) string {
			if r.target == "/robots.txt" {
				return status(http.StatusForbidden, "")
			}
			return page("x")
		})}
	}
	asked := 0
	synctest.Test(t, func(t *testing.T) {
		v := newTour(t, Options{Network: forbidden(), Site: only("http://mine.example", SiteOptions{AllowForbidden: true}, &asked)})
		for url, want := range map[string]robots.Access{"http://mine.example/": robots.Allow, "http://a.example/": robots.Disallow, "http://mine.example:8080/": robots.Disallow} {
			for range 2 {
				res, _ := v.visit(url)
				if res.Verdict.Access != want || (res.Page != nil) != (want == robots.Allow) {
					t.Errorf("%s: verdict %v, page %v", url, res.Verdict.Access, res.Page)
				}
			}
		}
		if asked != 3 {
			t.Errorf("called %d times for three sites", asked)
		}
	})
	store := newMemorySnapshots(math.MaxInt)
	for may, want := range map[bool]robots.Access{true: robots.Allow, false: robots.Disallow} {
		synctest.Test(t, func(t *testing.T) {
			v := newTour(t, Options{Network: forbidden(), Snapshots: store, Site: only("http://a.example", SiteOptions{AllowForbidden: may}, &asked)})
			if res, _ := v.visit("http://a.example/"); res.Verdict.Access != want {
				t.Errorf("permitted %t: verdict %v", may, res.Verdict.Access)
			}
		})
	}
}

// The header fields of a site are sent only to this site, also for its robots.txt. They are not
// sent to the target of a robots.txt redirect.
func TestTheFieldsOfASiteGoToItAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var got []string
		w := &wire{serve: answers(func(r *request, n int) string {
			got = append(got, r.header.Get("Host")+r.target+" "+r.header.Get("X-Key")+" "+r.header.Get("X-All")+" "+r.header.Get("Accept"))
			switch r.header.Get("Host") + r.target {
			case "a.example/robots.txt":
				return redirectTo("http://b.example/robots.txt")
			case "b.example/robots.txt":
				return status(404, "")
			}
			return page("x")
		})}
		v := newTour(t, Options{Network: w, Header: http.Header{"X-All": {"all"}, "X-Key": {"none"}},
			Site: only("http://a.example", SiteOptions{Header: http.Header{"x-key": {"secret"}, "Accept": {"text/html"}}}, &asked)})
		v.visit("http://a.example/")
		v.visit("http://b.example/")
		usual := v.fetcher.usual.page.Get("Accept")
		if want := []string{
			"a.example/robots.txt secret all text/plain,*/*;q=0.8", "b.example/robots.txt none all text/plain,*/*;q=0.8",
			"a.example/ secret all text/html", "b.example/robots.txt none all text/plain,*/*;q=0.8", "b.example/ none all " + usual,
		}; !slices.Equal(got, want) {
			t.Errorf("requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// An error of Options.Site is returned before any request to that site. The site may be the site
// of the turn, or the target of a robots.txt redirect. A refused field is such an error.
func TestErrorsOfOptionsSite(t *testing.T) {
	bug := errors.New("a bug")
	for name, say := range map[string]func() (SiteOptions, error){
		"an error":           func() (SiteOptions, error) { return SiteOptions{AllowForbidden: true}, bug },
		"a field is refused": func() (SiteOptions, error) { return SiteOptions{Header: http.Header{"Host": {"x"}}}, nil },
	} {
		for _, bad := range []frontier.Site{"http://a.example", "http://b.example"} {
			t.Run(name+", "+string(bad), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{serve: answers(func(r *request, n int) string {
						if frontier.Site("http://"+r.header.Get("Host")) == bad {
							t.Errorf("%s got a request for %s", bad, r.target)
						}
						return redirectTo("http://b.example/rules")
					})}
					v := newTour(t, Options{Network: w, Site: func(s frontier.Site) (SiteOptions, error) {
						if s == bad {
							return say()
						}
						return SiteOptions{}, nil
					}})
					front := frontOf(t, frontier.Options{}, "http://a.example/")
					turn, err := front.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					_, err = v.fetcher.Get(t.Context(), turn)
					if err == nil || !errors.Is(err, bug) && !strings.Contains(err.Error(), string(bad)+": the header field Host") {
						t.Errorf("Get: %v", err)
					}
					if _, err := turn.Finish(frontier.Outcome{Again: true}); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
