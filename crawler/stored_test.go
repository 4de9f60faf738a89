package crawler_test

import (
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// storedBy returns the options that a run has stored.
func storedBy(t *testing.T, change func(*crawler.Options)) (s account.Stored) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		crawl(t, w, func(o *crawler.Options) {
			o.Dir = dir
			change(o)
		}, "http://a.example/")
	})
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, ok, err := account.ReadStored(r)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	return s
}

// The options of a run are stored, except those about connections. Setting the stored text gives
// the same value.
func TestStoredSettingsAreThoseOfTheLastRun(t *testing.T) {
	var was crawler.Options
	s := storedBy(t, func(o *crawler.Options) {
		o.Scope, o.Depth, o.MaxHostPages, o.MaxHostBytes = crawler.SamePrefix(), 3, -1, 5<<20
		o.Include, o.Exclude = regexp.MustCompile("a"), regexp.MustCompile(`b|^c "d"`)
		o.Dialect, o.Aliases, o.AllowForbidden = robots.Google, []string{"formerbot", "oldbot"}, true
		o.FollowNoFollow, o.FollowTraps, o.Requisites, o.Sitemaps = true, true, true, crawler.SitemapsNone
		o.Purpose, o.Delay, o.Rate = robots.Purposes()[0], 1500*time.Millisecond, 0.5
		o.Output = []crawler.Output{crawler.OutputLinks}
		was = *o
	})
	if s.Untold != nil {
		t.Errorf("untold: %v", s.Untold)
	}
	want := was.Settings()
	for i, is := range s.Options.Settings() {
		if is.Group != setting.GroupWire && is.String() != want[i].String() {
			t.Errorf("%s is %q, want %q", is.Name, is, want[i])
		}
	}
	if s.Options.Identity != was.Identity || s.Options.Identity.Token == "" {
		t.Errorf("%+v, want %+v", s.Options.Identity, was.Identity)
	}
}

// If the scope is a function of the program, Untold lists the option.
func TestAScopeOfTheProgramIsUntold(t *testing.T) {
	s := storedBy(t, func(o *crawler.Options) { o.Scope = crawler.ScopeFunc(func(frontier.Entry) bool { return true }) })
	if len(s.Untold) != 1 || s.Untold[0].Setting != "scope" || s.Untold[0].Was != "crawler.ScopeFunc" || s.Options.Scope != nil {
		t.Errorf("%+v, scope %v", s.Untold, s.Options.Scope)
	}
}

// If no run has begun, no options are stored, and an error is returned.
func TestNothingIsStoredBeforeARun(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := account.ReadStored(db); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := account.ReadStored(db); ok || !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a closed one: %v, %v", ok, err)
	}
}
