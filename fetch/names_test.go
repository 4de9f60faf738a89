package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A resolver answers look-ups with a function, and counts them.
type resolver struct {
	answer func(ctx context.Context, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	asked []string
}

func (r *resolver) LookupNetIP(ctx context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	r.asked = append(r.asked, host)
	r.mu.Unlock()
	return r.answer(ctx, host)
}

func (r *resolver) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("nothing is dialled here")
}

var someAddrs = []netip.Addr{netip.MustParseAddr("16.0.0.1"), netip.MustParseAddr("16.0.0.2")}

func TestNamesAreKeptForTheirTime(t *testing.T) {
	notFound := &net.DNSError{Err: "no such host", IsNotFound: true}
	for _, tc := range []struct {
		name  string
		addrs []netip.Addr
		err   error
		keep  time.Duration
	}{
		{"addresses", someAddrs, nil, 5 * time.Minute},
		{"no such name", nil, notFound, time.Minute},
		{"no address", nil, nil, time.Minute},
		{"failure", nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &resolver{answer: func(context.Context, string) ([]netip.Addr, error) { return tc.addrs, tc.err }}
				c := newNames(r, 10)
				ask := func(want int) {
					t.Helper()
					addrs, err := c.lookup(context.Background(), "a.example")
					if len(addrs) != len(tc.addrs) || (err == nil) != (len(tc.addrs) > 0) {
						t.Errorf("%v, %v", addrs, err)
					}
					if len(r.asked) != want {
						t.Errorf("%d look-ups, want %d", len(r.asked), want)
					}
				}
				ask(1)
				if tc.keep == 0 {
					ask(2)
					return
				}
				time.Sleep(tc.keep - time.Nanosecond)
				ask(1)
				time.Sleep(time.Nanosecond)
				ask(2)
				c.forget("a.example")
				ask(3)
				if c.recent.Len() != 1 || len(c.known) != 1 {
					t.Errorf("%d answers are kept of %d names", c.recent.Len(), len(c.known))
				}
			})
		})
	}
}

func TestOneLookupIsInFlightForAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &resolver{answer: func(ctx context.Context, host string) ([]netip.Addr, error) {
			time.Sleep(time.Second)
			return someAddrs, ctx.Err()
		}}
		c := newNames(r, 10)
		first, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := c.lookup(first, "a.example"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a caller that gives up gets %v", err)
			}
		})
		for range 5 {
			all.Go(func() {
				if addrs, err := c.lookup(context.Background(), "a.example"); len(addrs) != 2 || err != nil {
					t.Errorf("%v, %v", addrs, err)
				}
			})
		}
		all.Wait()
		if len(r.asked) != 1 {
			t.Errorf("%d look-ups, want 1", len(r.asked))
		}
	})
}

func TestALookupThatNobodyWaitsForIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration
		start := time.Now()
		r := &resolver{answer: func(ctx context.Context, host string) ([]netip.Addr, error) {
			<-ctx.Done()
			ended = time.Since(start)
			return nil, ctx.Err()
		}}
		c := newNames(r, 10)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := c.lookup(ctx, "a.example"); err == nil {
			t.Error("no error")
		}
		synctest.Wait()
		if ended != time.Second || len(c.known) != 0 {
			t.Errorf("the look-up ended after %v, %d names are known", ended, len(c.known))
		}
	})
}

// If all callers have given up, the next caller starts a new look-up. It does not get the answer
// of the first one.
func TestAnAbandonedLookupIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var contexts []context.Context
		r := &resolver{}
		r.answer = func(ctx context.Context, host string) ([]netip.Addr, error) {
			mu.Lock()
			contexts = append(contexts, ctx)
			first := len(contexts) == 1
			mu.Unlock()
			if first {
				time.Sleep(time.Hour) // this resolver ignores ctx
				return nil, errors.New("late")
			}
			return someAddrs, nil
		}
		c := newNames(r, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.lookup(ctx, "a.example"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		for range 2 {
			if addrs, err := c.lookup(t.Context(), "a.example"); len(addrs) != 2 || err != nil {
				t.Errorf("%v, %v", addrs, err)
			}
			time.Sleep(2 * time.Hour)
		}
		if len(r.asked) != 3 {
			t.Errorf("%d look-ups", len(r.asked))
		}
		for i, ctx := range contexts {
			if ctx.Err() == nil {
				t.Errorf("the context of look-up %d was not cancelled", i)
			}
		}
	})
}

func TestTheNetworkOfThisMachineKnowsAddresses(t *testing.T) {
	if addrs, err := new(direct).LookupNetIP(t.Context(), "ip", "192.0.2.1"); err != nil || len(addrs) != 1 || addrs[0].Unmap() != netip.MustParseAddr("192.0.2.1") {
		t.Errorf("%v, %v", addrs, err)
	}
}

func TestNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &resolver{answer: func(context.Context, string) ([]netip.Addr, error) { return someAddrs, nil }}
		c := newNames(r, 2)
		for _, host := range []string{"a", "b", "a", "c", "a", "b"} {
			if _, err := c.lookup(context.Background(), host); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(r.asked); got != 4 || len(c.known) != 2 {
			t.Errorf("looked up %v, %d names are known", r.asked, len(c.known))
		}
	})
}

func TestSitesOfAHostShareItsLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("") }))}
		v := newTour(t, Options{Network: w})
		v.visit("http://a.example/")
		v.visit("http://a.example:8080/")
		if w.lookups != 1 {
			t.Errorf("%d look-ups, want 1", w.lookups)
		}
	})
}

func TestAfterAConnectFailureTheNameIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, now := netip.MustParseAddr("16.0.0.1"), netip.MustParseAddr("16.0.0.2")
		w := &wire{addrs: map[string][][]netip.Addr{"a.example": {{old}, {now}}}, refuse: map[string]bool{"16.0.0.1:80": true}}
		w.serve = answers(noRobots(func(r *request, n int) string { return page("") }))
		res, all := newTour(t, Options{Network: w}).visit("http://a.example/")
		if res.Page == nil || stage(all[0]) != StageConnect || w.lookups != 2 {
			t.Errorf("dialled %v after %d look-ups: %+v", w.dialed, w.lookups, res.Outcome)
		}
	})
}

func TestAddressesTakeTurnsWhileConnectionsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := netip.MustParseAddr("16.0.0.1"), netip.MustParseAddr("16.0.0.2")
		w := &wire{addrs: map[string][][]netip.Addr{"a.example": {{a, b}, {a, b}, {b, a}}}, refuse: map[string]bool{"16.0.0.1:80": true}}
		w.serve = answers(noRobots(func(r *request, n int) string { return page("") }))
		res, _ := newTour(t, Options{Network: w}).visit("http://a.example/")
		if len(w.dialed) != 2 || w.dialed[1] != "16.0.0.2:80" || res.Page == nil {
			t.Errorf("dialled %v: %+v", w.dialed, res.Outcome)
		}
	})
}
