package crawler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// excludes runs a crawl in the directory from whose first page excludes another site. It returns a
// copy of the directory that was made when Exclude had returned, and the error of Exclude.
func excludes(t *testing.T, w *crawltest.Web, from string, opener state.Opener) (dir string, err error) {
	w.Site("http://b.example").Page("/", "x")
	c := anywhere(t, w, from, opener)
	runErr := c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		if dir != "" {
			return nil
		}
		err = c.Exclude("b.example", "the owner's mail")
		dir = statetest.Crash(t, from)
		_, addErr := c.Add("http://b.example/")
		return addErr
	}))
	if runErr != nil {
		t.Error(runErr)
	}
	w.AssertNeverFetched("http://b.example/robots.txt", "http://b.example/")
	return dir, err
}

func anywhere(t *testing.T, w *crawltest.Web, dir string, opener state.Opener) *crawler.Crawler {
	c, err := crawler.New(crawler.Options{
		Identity: testIdentity, Wire: crawler.Wire{Network: w}, Scope: crawler.Anywhere(), Seeds: []string{"http://a.example/0"}, Dir: dir, State: opener,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// When Exclude has returned without an error, the exclusion applies also after a kill.
func TestAnOrderIsStoredWhenItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := chain(t, 2)
		dir, err := excludes(t, w, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		c := anywhere(t, w, dir, nil)
		if _, err := c.Add("http://b.example/"); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Error(err)
		}
		w.AssertNeverFetched("http://b.example/robots.txt", "http://b.example/")
		if all := c.Orders(); len(all) != 1 || all[0].Of != "b.example" {
			t.Errorf("after a kill the orders are %v", all)
		}
	})
}

// Orders and seeds that OnStart gives are stored when the call returns: a kill does not undo them.
func TestOrdersThatOnStartGivesAreStoredWhenTheyReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := chain(t, 2)
		w.Site("http://b.example").Page("/", "x")
		w.Site("http://c.example").Page("/", "x")
		from, killed := t.TempDir(), ""
		var c *crawler.Crawler
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Wire: crawler.Wire{Network: w}, Seeds: []string{"http://a.example/0"}, Dir: from,
			Hooks: crawler.Hooks{OnStart: func(crawler.Start) {
				err := errors.Join(c.Exclude("b.example", "the owner's mail"), c.Slow("a.example", time.Minute, "the owner's mail"), c.Seed("forgotten", "http://c.example/"))
				if err != nil {
					t.Error(err)
				}
				killed = statetest.Crash(t, from)
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Error(err)
		}
		var later *crawler.Crawler
		listed := func(when string) {
			if all := later.Orders(); len(all) != 2 || all[0].Of != "b.example" || all[1].Of != "a.example" {
				t.Errorf("after a kill, %s, the orders are %v", when, all)
			}
		}
		later, err = crawler.New(crawler.Options{
			Identity: testIdentity, Wire: crawler.Wire{Network: w}, Scope: crawler.Anywhere(), Dir: killed,
			Hooks: crawler.Hooks{OnStart: func(crawler.Start) { listed("when the run begins") }},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := later.Run(t.Context(), nil); err != nil {
			t.Error(err)
		}
		listed("when the run has ended")
		if n := w.Fetched("http://c.example/"); n != 2 {
			t.Errorf("the seed was fetched %d times, want once by each run", n)
		}
	})
}

// refusing opens a state that does not store values whose keys have a prefix.
type refusing struct {
	state.Opener
	prefix string
}

func (r refusing) OpenStore(dir string, opts state.Options) (state.Store, error) {
	db, err := state.Open(dir, opts)
	return unstored{db, r.prefix}, err
}

var errNotStored = errors.New("not stored")

type unstored struct {
	*state.DB
	prefix string
}

func (u unstored) Put(key string, value any) error {
	if strings.HasPrefix(key, u.prefix) {
		return errNotStored
	}
	return u.DB.Put(key, value)
}

// OnStart is called only if the settings of the run, and the orders that were given before Run, are
// stored.
func TestOnStartIsNotCalledIfTheCrawlCannotBeOpened(t *testing.T) {
	for prefix, want := range map[string]int{kept.KeyAsked: 0, "order ": 0, "no such key": 1} {
		synctest.Test(t, func(t *testing.T) {
			w := chain(t, 1)
			called := 0
			c, err := crawler.New(crawler.Options{
				Identity: testIdentity, Wire: crawler.Wire{Network: w}, Seeds: []string{"http://a.example/0"}, Dir: t.TempDir(), State: refusing{prefix: prefix},
				Hooks: crawler.Hooks{OnStart: func(crawler.Start) { called++ }},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Exclude("b.example", "the owner's mail"); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), nil); called != want || errors.Is(err, errNotStored) != (want == 0) {
				t.Errorf("with %q not stored, OnStart was called %d times, want %d; the error is %v", prefix, called, want, err)
			}
		})
	}
}

// silent opens a state whose database does not answer.
type silent struct{ state.Opener }

func (silent) OpenStore(dir string, opts state.Options) (state.Store, error) {
	db, err := state.Open(dir, opts)
	return unanswered{db}, err
}

type unanswered struct{ *state.DB }

func (unanswered) Sync(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// An order that is not stored within ten seconds applies all the same, and the error says what is
// to be done.
func TestAnOrderThatIsNotStoredInTimeApplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := excludes(t, chain(t, 2), t.TempDir(), silent{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the order applies, but was not stored within 10s") {
			t.Errorf("Exclude: %v", err)
		}
		if d := time.Since(began); d < 10*time.Second {
			t.Errorf("the crawl ended after %v", d)
		}
	})
}
