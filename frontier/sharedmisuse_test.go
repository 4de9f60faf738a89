package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

var errShared = errors.New("a bug of Shared")

// An oddShared is a Shared with functions that may misbehave. If a function is nil, the method
// does nothing.
type oddShared struct {
	reserve        func(n int, now, until time.Time) (frontier.Taken, bool)
	renew, release func()

	calls *int // number of calls of Reserve
}

func (s oddShared) Reserve(_ string, now, until time.Time) (frontier.Taken, bool) {
	*s.calls++
	if s.reserve == nil {
		return frontier.Taken{}, true
	}
	return s.reserve(*s.calls, now, until)
}

func (s oddShared) Renew(string, time.Time) {
	if s.renew != nil {
		s.renew()
	}
}

func (s oddShared) Release(string, time.Time) {
	if s.release != nil {
		s.release()
	}
}

// taken returns a Reserve that refuses each call with the same Taken.
func taken(until time.Time, lease bool) func(int, time.Time, time.Time) (frontier.Taken, bool) {
	return func(int, time.Time, time.Time) (frontier.Taken, bool) {
		return frontier.Taken{Until: until, Lease: lease}, false
	}
}

func year(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }

// With any result of a Shared, no request comes early, none is made against a refusal, and the run
// ends. A panic ends the run with an error, and the frontier stays usable.
func TestSharedClocksThatAreOdd(t *testing.T) {
	bug, exit := func() { panic(errShared) }, runtime.Goexit
	doing := func(f func()) func(int, time.Time, time.Time) (frontier.Taken, bool) {
		return func(int, time.Time, time.Time) (frontier.Taken, bool) { f(); return frontier.Taken{}, true }
	}
	for name, test := range map[string]struct {
		shared   oddShared
		requests int   // number of requests that the run makes
		want     error // error of the run; nil: any error; errShared: an error that wraps the panic
	}{
		"nothing is ever taken":      {requests: 6},
		"taken until the zero time":  {shared: oddShared{reserve: taken(time.Time{}, false)}},
		"taken until 1960":           {shared: oddShared{reserve: taken(year(1960), false)}},
		"taken until 1970":           {shared: oddShared{reserve: taken(time.Unix(0, 0), false)}},
		"taken until year -5":        {shared: oddShared{reserve: taken(year(-5), false)}},
		"taken until 9999":           {shared: oddShared{reserve: taken(year(9999), false)}, want: frontier.ErrPatience},
		"taken until 300000":         {shared: oddShared{reserve: taken(year(300000), false)}, want: frontier.ErrPatience},
		"leased until the zero time": {shared: oddShared{reserve: taken(time.Time{}, true)}, want: frontier.ErrPatience},
		"leased until 9999":          {shared: oddShared{reserve: taken(year(9999), true)}, want: frontier.ErrPatience},
		"taken until now":            {shared: oddShared{reserve: func(_ int, now, _ time.Time) (frontier.Taken, bool) { return frontier.Taken{Until: now}, false }}},
		"granted, with another time": {shared: oddShared{reserve: func(int, time.Time, time.Time) (frontier.Taken, bool) {
			return frontier.Taken{Until: year(9999), Lease: true}, true
		}}, requests: 6},
		"refused every second time": {shared: oddShared{reserve: func(n int, now, _ time.Time) (frontier.Taken, bool) {
			return frontier.Taken{Until: now.Add(time.Second)}, n%4 == 0 || n%4 == 3
		}}, requests: 6},
		"refused in the past at first": {shared: oddShared{reserve: func(n int, _, _ time.Time) (frontier.Taken, bool) { return frontier.Taken{}, n > 20 }}, requests: 6},
		"Reserve panics":               {shared: oddShared{reserve: doing(bug)}, want: errShared},
		"Reserve panics with a text":   {shared: oddShared{reserve: doing(func() { panic("a text") })}, want: errors.New("a text")},
		"Renew panics":                 {shared: oddShared{renew: bug}, requests: 1, want: errShared},
		"Release panics":               {shared: oddShared{release: bug}, requests: 1, want: errShared},
		"Reserve exits":                {shared: oddShared{reserve: doing(exit)}},
		"Renew exits":                  {shared: oddShared{renew: exit}, requests: 1},
		"Release exits":                {shared: oddShared{release: exit}}, /* already for the address */
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.shared.calls = new(int)
				f := open(t, frontier.NewMemory(), frontier.Options{Shared: test.shared, Patience: 10 * time.Minute}, "http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/1", "http://b.example/2", "http://b.example/3")
				starts := map[frontier.Site][]time.Time{}
				var err error
				began, ended := time.Now(), make(chan struct{})
				go func() { // a goroutine of its own, because Goexit ends it
					defer close(ended)
					defer f.Stop()
					err = visitAll(f, starts)
				}()
				<-ended
				if took := time.Since(began); took > time.Hour || *test.shared.calls > 2000 {
					t.Errorf("the run took %v, and %d reservations", took, *test.shared.calls)
				}
				n := 0
				for site, of := range starts {
					n += len(of)
					for i := 1; i < len(of); i++ {
						if gap := of[i].Sub(of[i-1]); gap < time.Second {
							t.Errorf("%s: %v after the request before", site, gap)
						}
					}
				}
				if n != test.requests {
					t.Errorf("%d requests, want %d", n, test.requests)
				}
				if test.want != nil && !errors.Is(err, test.want) && (err == nil || !strings.Contains(err.Error(), test.want.Error())) {
					t.Errorf("%v, want %v", err, test.want)
				}
				// The mutex is free, so these methods return.
				f.Stats()
				f.Longest(time.Now())
				if err := f.Slow("", time.Hour); err == nil {
					t.Error("the run goes on")
				}
			})
		})
	}
}

// visitAll makes all requests of a frontier, one at a time, until the run ends. Each request takes
// 15 seconds, so that leases are renewed.
func visitAll(f *frontier.Frontier, starts map[frontier.Site][]time.Time) error {
	for range 5000 {
		turn, err := f.Next(context.Background())
		if err != nil {
			return err
		}
		o := frontier.Outcome{Again: true}
		if err := turn.Bind(publicAddr, true); err == nil {
			starts[turn.Site()] = append(starts[turn.Site()], time.Now())
			began := time.Now()
			time.Sleep(15 * time.Second)
			turn.Received(100)
			o = fetched(0, 100)
			o.Request.Started = began
		} else if not := (*frontier.NotYet)(nil); !errors.As(err, &not) {
			turn.Finish(o)
			return err
		}
		if _, err := turn.Finish(o); err != nil {
			return err
		}
	}
	return fmt.Errorf("no end after 5000 turns")
}

// Calls in an odd order, or with odd times, leave nothing reserved in NewSharedClocks.
func TestNewSharedClocksAndOddTimes(t *testing.T) {
	c := frontier.NewSharedClocks()
	now := time.Now()
	c.Renew("x", now)
	c.Release("x", now)
	if _, ok := c.Reserve("x", now, now.Add(time.Minute)); !ok {
		t.Error("it is taken")
	}
	if taken, ok := c.Reserve("x", now, now.Add(time.Minute)); ok || !taken.Until.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v", taken)
	}
	for _, odd := range []time.Time{{}, year(1960), year(9999), year(-5)} {
		if _, ok := c.Reserve("odd", odd, odd); !ok {
			t.Errorf("%v: a reservation of no length is in force", odd)
		}
		c.Renew("odd", odd)
		c.Release("odd", odd)
	}
	if _, ok := c.Reserve("odd", now, now.Add(time.Minute)); !ok {
		t.Error("the far future blocks the present")
	}
}
