package crawler_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/places"
	"github.com/permesso-crawler/permesso/internal/purge"
)

// If a hook panics during PlanOf, PlanOf returns a *PanicError, or an *OptionError if the hook was
// called for a seed. The process continues.
func TestHooksOfAPlan(t *testing.T) {
	for name, act := range map[string]func(){"panics": func() { panic(errBug) }, "exits": runtime.Goexit, "is slow": func() { time.Sleep(10 * time.Minute) }} {
		for _, of := range []string{"LookupNetIP", "DialContext", "Proxy", "OptOut", "Rewrite", "Same", "Admit", "Site"} {
			t.Run(of+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newBuggyWeb(t, hook{}, "")
					o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/", "http://b.example/1"}, Scope: crawler.SameHost(), Wire: crawler.Wire{Network: w.Web}}
					hooks[of].put(&o, act)
					var plan *crawler.Plan
					var err error
					returned, ended := false, make(chan struct{})
					go func() {
						defer close(ended)
						plan, err = crawler.PlanOf(t.Context(), o)
						returned = true
					}()
					<-ended
					switch {
					case name == "panics" && (!returned || !errors.Is(err, errBug)) && of != "Site":
						t.Errorf("returned: %v, %v", returned, err)
					case name == "is slow" && (err != nil || len(plan.Sites) < 2):
						t.Errorf("%+v, %v", plan, err)
					case name == "exits" && returned && err == nil && of != "LookupNetIP" && of != "Site":
						t.Errorf("%+v", plan)
					}
					time.Sleep(time.Hour)
					if len(w.Log()) > 0 {
						w.AssertPolite()
					}
				})
			})
		}
	}
	//lint:ignore SA1012 a nil context is what is tested
	if _, err := crawler.PlanOf(nil, crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}); err == nil {
		t.Error("a nil context")
	}
	var bad *crawler.OptionError
	if _, err := crawler.PlanOf(t.Context(), crawler.Options{}); !errors.As(err, &bad) {
		t.Errorf("the zero Options: %v", err)
	}
}

// quiet calls f, which must not panic.
func quiet(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s panics: %v\n%s", name, v, debug.Stack())
		}
	}()
	f()
}

// The methods of the zero values of this package return zero values or errors.
func TestZeroValuesOfTheCrawler(t *testing.T) {
	var o crawler.Options
	var list crawler.OptOutList
	var sites kept.Sites
	var plan crawler.SitePlan
	var e frontier.Entry
	for name, err := range map[string]error{
		"New":                    second(crawler.New(o)),
		"CheckSite":              o.CheckSite(crawler.SiteOptions{Delay: -2}),
		"Check":                  crawler.Identity{}.Check(),
		"Tags":                   crawler.Tags(nil).Handle(t.Context(), new(crawler.Page)),
		"ReadStatus":             second(crawler.ReadStatus("")),
		"ReadStatus, no crawl":   second(crawler.ReadStatus(filepath.Join(t.TempDir(), "none"))),
		"Purge.Plan":             second((&purge.Purge{Dir: filepath.Join(t.TempDir(), "none"), Places: new(places.List)}).Plan(t.Context())),
		"Purge.Run":              second((&purge.Purge{Dir: filepath.Join(t.TempDir(), "none"), Places: new(places.List)}).Run(t.Context())),
		"FollowLink":             new(crawler.Page).FollowLink(extract.Link{}, "x"),
		"Follow":                 new(crawler.Page).Follow("x"),
		"FollowTag":              new(crawler.Page).FollowTag("/x", "x"),
		"Resolve":                second(new(crawler.Page).Resolve("")),
		"OptionError":            &crawler.OptionError{},
		"PanicError":             &crawler.PanicError{},
		"SeedError":              &crawler.SeedError{},
		"IdentityError":          &crawler.IdentityError{},
		"SitesByHost":            second(crawler.SitesByHost(map[string]crawler.SiteOptions{"": {}})),
		"ReadOptOutList, binary": second(crawler.ReadOptOutList(strings.NewReader("\x00\xff"), "")),
	} {
		if err == nil || err.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, f := range map[string]func(){
		"SameAs": func() { crawler.SameAs(&o, frontier.URL{}) },
		"Settings": func() {
			for _, s := range o.Settings() {
				_ = s.String()
				s.Set("\x00")
			}
		},
		"OptOutList": func() {
			if list.Why(frontier.URL{}) != "" || list.Why(mustBe("http://a.example/")) != "" {
				t.Error("the zero OptOutList is not empty")
			}
		},
		"StoredSites": func() {
			sites.Of("x")
			for range sites.Sites() {
				t.Error("the zero StoredSites has a site")
			}
		},
		"SitePlan":     func() { plan.Allowed() },
		"Summary":      func() { _ = crawler.Summary{}.String() },
		"Change":       func() { _ = crawler.Change{}.String() },
		"Order":        func() { _ = crawler.Order{}.String() },
		"Identity":     func() { _, _ = crawler.Identity{}.UserAgent(), crawler.Identity{}.From() },
		"SiteSettings": func() { new(kept.Site).Over(frontier.Spent{}); kept.Site{}.With(nil, "") },
		"Together":     func() { crawler.Together()(frontier.URL{}) },
		"rewriters": func() {
			for _, rule := range []func(frontier.URL) frontier.URL{crawler.SortQuery, crawler.StripIndex, crawler.StripTracking} {
				if !rule(frontier.URL{}).IsZero() {
					t.Error("the zero URL is not left as it is")
				}
			}
		},
		"scopes": func() {
			for _, s := range []crawler.Scope{crawler.Anywhere(), crawler.SameHost(), crawler.SameDomain(), crawler.SamePrefix(), crawler.SeedsOnly(), crawler.Both(crawler.SameHost(), crawler.SamePrefix())} {
				s.Contains(e)
				s.Admit(frontier.URL{})
				s.Contains(e)
			}
		},
		"Page": func() {
			p := new(crawler.Page)
			_, _, _, _ = p.Broken(), p.Canonical(), p.Change(), p.Followed()
			_, _, _, _ = p.Links(), p.NotModified(), p.OpenGraphURL(), p.Signals()
			_, _, _ = p.Text(), p.TextDigest(), p.Title()
			p.Doc()
		},
		"NewPage": func() {
			p := crawler.NewPage(e, &fetch.Exchange{}, "")
			p.Doc()
			_, _, _ = p.Links(), p.TextDigest(), p.Signals()
		},
		"ReadSeeds": func() { crawler.ReadSeeds(strings.NewReader("\x00\n\xff\n"+strings.Repeat("x", 1<<20)), "") },
		"Tags of nil": func() {
			if err := (crawler.Tags{"": nil}).Handle(t.Context(), new(crawler.Page)); err != nil {
				t.Errorf("a nil Handler: %v", err)
			}
		},
	} {
		quiet(t, name, f)
	}
}

func second[T any](_ T, err error) error { return err }

// If a Handler is nil, or holds a nil pointer, its error or panic is an error of the page, and the
// crawl continues.
func TestHandlersThatAreNil(t *testing.T) {
	for name, test := range map[string]struct {
		h      crawler.Handler
		failed int // number of errors of handlers
	}{
		"nil":                     {nil, 0},
		"a nil pointer":           {(*nilHandler)(nil), 2},
		"nil Tags":                {crawler.Tags(nil), 2},
		"empty Tags":              {crawler.Tags{}, 2},
		"Tags of nil":             {crawler.Tags{"": nil}, 0},
		"Tags of a nil function":  {crawler.Tags{"": crawler.HandlerFunc(nil)}, 2},
		"Tags of a nil pointer":   {crawler.Tags{"": (*nilHandler)(nil)}, 2},
		"Tags of another tag":     {crawler.Tags{"x": nil}, 2},
		"Tags of Tags of nothing": {crawler.Tags{"": crawler.Tags{}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBuggyWeb(t, hook{}, "")
				c := newCrawl(t, w.Web, nil, "http://b.example/")
				if err := c.Run(t.Context(), test.h); err != nil {
					t.Error(err)
				}
				if sum := c.Summary(); sum.Fetched != 2 || sum.Handler != test.failed {
					t.Errorf("%v, %d errors of the handler", sum, sum.Handler)
				}
				w.AssertPolite()
			})
		})
	}
}

type nilHandler struct{ n int }

func (h *nilHandler) Handle(context.Context, *crawler.Page) error { h.n++; return nil }

type nilShared struct{ frontier.Shared }

// If an interface in the options holds a nil pointer, the process does not end.
func TestOptionsThatHoldNilPointers(t *testing.T) {
	for name, change := range map[string]func(*crawler.Options){
		"Network": func(o *crawler.Options) { o.Network = (*nilNetwork)(nil) },
		"Shared":  func(o *crawler.Options) { o.Shared = (*nilShared)(nil) },
		"Scope":   func(o *crawler.Options) { o.Scope = crawler.Both(nil, nil) },
		"Both":    func(o *crawler.Options) { o.Scope = crawler.Both(crawler.SameHost(), crawler.ScopeFunc(nil)) },
		"Same":    func(o *crawler.Options) { o.Same = crawler.Together(nil) },
		"Rewrite": func(o *crawler.Options) { o.Rewrite = crawler.Together(nil, crawler.SortQuery) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBuggyWeb(t, hook{}, "")
				o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://b.example/"}, Wire: crawler.Wire{Network: w.Web}}
				change(&o)
				c, err := crawler.New(o)
				if err == nil {
					err = c.Run(t.Context(), nil)
				}
				if err == nil || !strings.Contains(err.Error(), "panicked") {
					t.Errorf("%v", err)
				}
				if len(w.Log()) > 0 {
					w.AssertPolite()
				}
			})
		})
	}
}

type nilNetwork struct{ web fetch.Network }

func (n *nilNetwork) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return n.web.LookupNetIP(ctx, network, host)
}

func (n *nilNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return n.web.DialContext(ctx, network, address)
}
