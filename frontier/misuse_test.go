package frontier

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheZeroURLResolvesAbsoluteReferencesAlone(t *testing.T) {
	for _, ref := range []string{"/x", "x", "?x", "//a.example/", "#x", ""} {
		if u, err := (URL{}).Resolve(ref); !errors.Is(err, errRelative) || !u.IsZero() {
			t.Errorf("%q becomes %q, %v", ref, u, err)
		}
	}
	if u, err := (URL{}).Resolve("http://a.example/x"); err != nil || u.String() != "http://a.example/x" {
		t.Errorf("%q, %v", u, err)
	}
}

func TestNegativeOptionsAreRefused(t *testing.T) {
	for _, spent := range []Spent{{Pages: -1}, {Bytes: -1}, {Time: -1}} {
		if _, err := New(new(memory), Options{MaxSite: spent}); err == nil || !strings.Contains(err.Error(), "MaxSite") {
			t.Errorf("%+v: %v", spent, err)
		}
	}
	for name, o := range map[string]Options{
		"PerIP": {PerIP: -1}, "DomainDelay": {DomainDelay: -1}, "Lease": {Lease: -1}, "Rate": {Rate: -1}, "Limit": {Limit: -1},
		"MaxBytes": {MaxBytes: -1}, "ReadAhead": {ReadAhead: -1},
	} {
		if _, err := New(new(memory), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("no backlog is a backlog")
	}
	if _, err := New(new(memory), Options{Delay: -1, IPDelay: -1, Patience: -1}); err != nil {
		t.Error(err)
	}
}

func TestAnEntryWithoutAURLIsRefused(t *testing.T) {
	f := opened(t, new(memory), Options{}, "http://a.example/")
	if err := f.Add(Entry{URL: mustParse(t, "http://b.example/")}, Entry{}); !errors.Is(err, ErrNoURL) {
		t.Errorf("Add: %v", err)
	}
	if n := f.Stats().Entries; n != 1 {
		t.Errorf("%d entries are queued", n)
	}
	turn, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := page
	o.Links = []Entry{{}}
	if _, err := turn.Finish(o); !errors.Is(err, ErrNoURL) {
		t.Errorf("Finish: %v", err)
	}
}

// Finish without a fate returns an error, and does not end the entry.
func TestAnOutcomeMustSayWhatBecomesOfTheEntry(t *testing.T) {
	f := opened(t, new(memory), Options{}, "http://a.example/")
	turn, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, o := range []Outcome{{}, {Request: &Request{Started: now, Ended: now}}} {
		if _, err := turn.Finish(o); !errors.Is(err, errOutcome) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if fate, err := turn.Finish(page); err != nil || fate.Code != Fetched {
		t.Errorf("%+v, %v", fate, err)
	}
}

func TestZeroValuesOfABacklog(t *testing.T) {
	var g Growths
	g.Put(Growth{Settled: 1})
	g.Put(Growth{Settled: 2})
	if n := (<-g.C()).Settled; n != 3 {
		t.Errorf("%d have settled", n)
	}
	var m memory
	if err := m.Submit(Completion{Links: []Entry{{URL: mustParse(t, "http://a.example/")}}}); err != nil {
		t.Error(err)
	}
	if st, err := m.State("http://a.example"); err != nil || st.Queued != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// Links are queued even if the turn made no request and its entry has not ended.
func TestLinksOfATurnWithoutARequestAreQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{}, "http://a.example/1")
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Finish(Outcome{Again: true, Links: []Entry{{URL: mustParse(t, "http://b.example/2")}}}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			turn, err := f.Next(t.Context())
			if errors.Is(err, ErrEnd) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, turn.Entry().URL.String())
			if _, err := turn.Finish(page); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(got)
		if want := []string{"http://a.example/1", "http://b.example/2"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
