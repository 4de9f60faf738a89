package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// After Finish, each method of a turn returns an error, or the same value as before, and changes
// nothing.
func TestEachMethodOfAFinishedTurn(t *testing.T) {
	for name, call := range map[string]func(*frontier.Turn) error{
		"Bind":         func(turn *frontier.Turn) error { return turn.Bind(publicAddr, true) },
		"Bind, no IP":  func(turn *frontier.Turn) error { return turn.Bind(netip.Addr{}, false) },
		"Hop":          func(turn *frontier.Turn) error { _, err := turn.Hop("http://c.example"); return err },
		"Hop, itself":  func(turn *frontier.Turn) error { _, err := turn.Hop(turn.Site()); return err },
		"Hop, no site": func(turn *frontier.Turn) error { _, err := turn.Hop(""); return err },
		"Pace":         func(turn *frontier.Turn) error { return turn.Pace(frontier.Gap{For: time.Hour}) },
		"Finish":       func(turn *frontier.Turn) error { _, err := turn.Finish(fetched(0, 1)); return err },
		"Finish, zero": func(turn *frontier.Turn) error { _, err := turn.Finish(frontier.Outcome{}); return err },
		"Done":         func(turn *frontier.Turn) error { return turn.Done() },
		"Done, links":  func(turn *frontier.Turn) error { return turn.Done(frontier.Entry{}) },
		"Received": func(turn *frontier.Turn) error {
			if left := turn.Received(math.MaxInt64); left != 0 {
				return nil
			}
			return errors.New("none is left")
		},
		"Forgo": func(turn *frontier.Turn) error { turn.Forgo(); turn.Forgo(); return errors.New("no error") },
		"Held": func(turn *frontier.Turn) error {
			if turn.Held() {
				return nil
			}
			return errors.New("it is not held")
		},
		"readers": func(turn *frontier.Turn) error {
			if turn.Entry().URL.IsZero() || turn.Site() == "" {
				return nil
			}
			_, _, _, _ = turn.Asked(), turn.Due(), turn.First(), turn.Rested()
			return errors.New("as before")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, frontier.NewMemory(), frontier.Options{}, "http://a.example/1", "http://a.example/2")
				turn, err := f.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := turn.Finish(fetched(time.Second, 1)); err != nil {
					t.Fatal(err)
				}
				before := f.Stats()
				for range 3 {
					if err := call(turn); err == nil {
						t.Error("it has an effect")
					}
				}
				if after := f.Stats(); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("%+v, before %+v", after, before)
				}
				if starts, _ := crawl(t, f, publicAddr, true, time.Second); len(starts) != 1 {
					t.Errorf("%d further requests", len(starts))
				}
			})
		})
	}
}

// With any times in an outcome, the next request to the site comes no earlier than a second after
// the turn, and the run ends.
func TestOutcomesWithOddFigures(t *testing.T) {
	odd := map[string]time.Time{"zero": {}, "1960": year(1960), "1970": time.Unix(0, 0), "-5": year(-5), "9999": year(9999), "300000": year(300000)}
	changes := map[string]func(o *frontier.Outcome, at time.Time){
		"Started":   func(o *frontier.Outcome, at time.Time) { o.Request.Started = at },
		"FirstByte": func(o *frontier.Outcome, at time.Time) { o.Request.FirstByte = at },
		"Ended":     func(o *frontier.Outcome, at time.Time) { o.Request.Ended = at },
		"all": func(o *frontier.Outcome, at time.Time) {
			*o.Request = frontier.Request{Started: at, FirstByte: at, Ended: at}
		},
		"RetryAfter": func(o *frontier.Outcome, at time.Time) { o.RetryAfter, o.Trouble = at, frontier.SiteTrouble },
		"Defer":      func(o *frontier.Outcome, at time.Time) { o.Defer, o.Again = at, true },
		"Revisit":    func(o *frontier.Outcome, at time.Time) { o.Revisit = at },
		"Fate":       func(o *frontier.Outcome, at time.Time) { o.Fate.Time, o.Fate.Until, o.Fate.Rules = at, at, at },
	}
	for field, change := range changes {
		for when, at := range odd {
			t.Run(field+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := open(t, frontier.NewMemory(), frontier.Options{}, "http://a.example/1", "http://a.example/2", "http://a.example/3")
					var last time.Time
					for n := 0; ; n++ {
						turn, err := f.Next(t.Context())
						if errors.Is(err, frontier.ErrEnd) {
							break
						}
						if err != nil || n > 50 {
							t.Fatalf("turn %d: %v", n, err)
						}
						if gap := time.Since(last); gap < time.Second {
							t.Errorf("turn %d: %v after the one before", n, gap)
						}
						if err := turn.Bind(publicAddr, true); err != nil {
							t.Fatal(err)
						}
						o := fetched(time.Second, 10)
						if n == 0 {
							change(&o, at)
						}
						last = time.Now()
						if _, err := turn.Finish(o); err != nil {
							t.Fatal(err)
						}
					}
				})
			})
		}
	}
}

// Negative or huge numbers in an outcome change no clock.
func TestOutcomesWithOddNumbers(t *testing.T) {
	for name, change := range map[string]func(turn *frontier.Turn, o *frontier.Outcome){
		"negative bytes":     func(_ *frontier.Turn, o *frontier.Outcome) { o.Request.Bytes = -1 << 40 },
		"all bytes":          func(_ *frontier.Turn, o *frontier.Outcome) { o.Request.Bytes = math.MaxInt64 },
		"received none":      func(turn *frontier.Turn, _ *frontier.Outcome) { turn.Received(-1 << 40) },
		"negative gap":       func(_ *frontier.Turn, o *frontier.Outcome) { o.Gap = &frontier.Gap{For: -time.Hour} },
		"negative pace":      func(turn *frontier.Turn, _ *frontier.Outcome) { turn.Pace(frontier.Gap{For: -time.Hour}) },
		"another trouble":    func(_ *frontier.Turn, o *frontier.Outcome) { o.Trouble = 200 },
		"another code":       func(_ *frontier.Turn, o *frontier.Outcome) { o.Fate.Code = 250 },
		"failures of robots": func(_ *frontier.Turn, o *frontier.Outcome) { o.RobotsFailures = -7 },
		"a link to itself":   func(turn *frontier.Turn, o *frontier.Outcome) { o.Links = []frontier.Entry{turn.Entry(), turn.Entry()} },
		"a link with an ID": func(turn *frontier.Turn, o *frontier.Outcome) {
			e := turn.Entry()
			e.ID, e.Tries, e.Depth, e.Hops = math.MaxUint64, -3, -1, strings.Repeat("?", 1000)
			o.Links = []frontier.Entry{e}
		},
		"given up": func(_ *frontier.Turn, o *frontier.Outcome) { o.Gone = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, frontier.NewMemory(), frontier.Options{}, "http://a.example/1", "http://a.example/2", "http://a.example/3")
				var last time.Time
				for n := 0; ; n++ {
					turn, err := f.Next(t.Context())
					if errors.Is(err, frontier.ErrEnd) {
						break
					}
					if err != nil || n > 50 {
						t.Fatalf("turn %d: %v", n, err)
					}
					if gap := time.Since(last); gap < time.Second {
						t.Errorf("turn %d: %v after the one before", n, gap)
					}
					if err := turn.Bind(publicAddr, true); err != nil {
						t.Fatal(err)
					}
					o := fetched(time.Second, 10)
					if n == 0 {
						change(turn, &o)
					}
					last = time.Now()
					if _, err := turn.Finish(o); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// After the end of a run, or with a context that has ended, each method of a frontier returns an
// error or does nothing, and no method waits.
func TestEachMethodAfterTheEnd(t *testing.T) {
	ends := map[string]func(*testing.T, *frontier.Frontier) error{
		"stopped": func(_ *testing.T, f *frontier.Frontier) error { f.Stop(); f.Stop(); return frontier.ErrStopped },
		"ended": func(t *testing.T, f *frontier.Frontier) error {
			crawl(t, f, publicAddr, true, time.Second)
			return frontier.ErrEnd
		},
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for how, end := range ends {
		for name, call := range map[string]func(*frontier.Frontier) error{
			"Next":               func(f *frontier.Frontier) error { _, err := f.Next(context.Background()); return err },
			"Next, ended":        func(f *frontier.Frontier) error { _, err := f.Next(ended); return err },
			"Add":                func(f *frontier.Frontier) error { return f.Add(frontier.Entry{URL: parsed("http://a.example/9")}) },
			"Add, no URL":        func(f *frontier.Frontier) error { return f.Add(frontier.Entry{}) },
			"Allow":              func(f *frontier.Frontier) error { return f.Allow(func(l *frontier.Limits) { l.Pages = 9 }) },
			"Slow":               func(f *frontier.Frontier) error { return f.Slow("", time.Hour) },
			"Exclude":            func(f *frontier.Frontier) error { return f.Exclude("a.example", "x") },
			"Exclude, no reason": func(f *frontier.Frontier) error { return f.Exclude("a.example", "") },
		} {
			t.Run(how+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := open(t, frontier.NewMemory(), frontier.Options{}, "http://a.example/1")
					want := end(t, f)
					began := time.Now()
					switch err := call(f); {
					case err == nil:
						t.Error("no error")
					case strings.HasSuffix(name, "ended") && !errors.Is(err, context.Canceled), !strings.Contains(name, ",") && !errors.Is(err, want):
						t.Errorf("%v", err)
					}
					f.Settle(context.Background())
					f.Settle(ended)
					for range f.Sites() {
						break
					}
					f.Longest(time.Time{})
					f.Longest(year(9999))
					if _, ok := f.Status("no site"); ok {
						t.Error("no error for an invalid site")
					}
					if took := time.Since(began); took > 0 {
						t.Errorf("it took %v", took)
					}
				})
			})
		}
	}
}

func parsed(raw string) frontier.URL {
	u, _ := frontier.ParseURL(raw)
	return u
}

// The methods of zero values return zero values or errors.
func TestZeroValues(t *testing.T) {
	var url frontier.URL
	for name, err := range map[string]error{
		"Resolve":       second(url.Resolve("x")),
		"ResolveQuery":  second(url.ResolveQuery("?x", nil)),
		"UnmarshalText": new(frontier.URL).UnmarshalText([]byte("no URL")),
		"Code":          new(frontier.Code).UnmarshalText([]byte("no code")),
		"Site":          second(frontier.Site("").URL("/")),
		"Site of words": second(frontier.Site("no site").URL("/")),
		"URLError":      &frontier.URLError{},
		"FasterError":   &frontier.FasterError{},
		"NotYet":        &frontier.NotYet{},
	} {
		if err == nil || err.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := url.MarshalText(); err != nil || len(text) > 0 || url.Host()+url.Key()+url.Scheme()+url.String()+url.Target()+string(url.Site()) != "" || !url.Clone().IsZero() {
		t.Errorf("the zero URL: %q, %v, %q", text, err, url.Key())
	}
	for _, s := range []frontier.Site{"", "x", "://", "http:", "http://", "http://[", "http://a:b:c", "\x00"} {
		_, _, _, _, _ = s.Authority(), s.Domain(), s.Host(), s.Port(), s.Scheme()
	}
	var e frontier.Entry
	e.AfterPages()
	if found := e.Found(url, 'L'); e.Key() != "" || e.Again() || e.Redirects() != 0 || e.Embeds() != 0 || e.Requisite() || e.Sitemap() || !found.URL.IsZero() {
		t.Errorf("%+v", found)
	}
	var fate frontier.Fate
	if fate.Again() || fate.Ends() || fate.Page() || fate.Waits() {
		t.Errorf("%+v", fate)
	}
	for code := range 256 {
		c := frontier.Code(code)
		_, _, _ = c.String(), c.Words(), c.Aside()
		c.MarshalText()
	}
	var clocks frontier.Clocks
	clocks.Steady(-time.Hour)
	if n := new(frontier.SiteState).Left() + new(frontier.SiteStatus).Left(); n != 0 {
		t.Errorf("%d are left", n)
	}
	if _, ok := new(frontier.Changes).Due(&e, time.Time{}); ok {
		t.Error("the zero Changes has a change")
	}
	r := url.Resolver()
	r.Expect([]byte("x"))
	if _, err := r.Resolve([]byte("x"), nil); err == nil {
		t.Error("the zero Resolver resolves")
	}
	m := frontier.NewMemory()
	m.Forget()
	for range m.Queued("no site") {
		t.Error("an entry")
	}
}

func second[T any](_ T, err error) error { return err }
