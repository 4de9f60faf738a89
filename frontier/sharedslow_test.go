package frontier

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// slowShared is a Shared whose Reserve takes long.
type slowShared struct {
	Shared
	f     *Frontier
	took  map[string]time.Duration // by key
	alone bool                     // Reserve had the frontier unlocked each time
}

func (s *slowShared) Reserve(key string, now, until time.Time) (Taken, bool) {
	if s.alone = s.alone && s.f.mu.TryLock(); s.alone {
		s.f.mu.Unlock()
	}
	time.Sleep(s.took[key])
	return s.Shared.Reserve(key, now, until)
}

// While Reserve waits, for a server for instance, the frontier is not locked. What other turns
// have begun meanwhile counts.
func TestTheFrontierGoesOnWhileReserveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &slowShared{Shared: NewSharedClocks(), alone: true, took: map[string]time.Duration{"host a.example": time.Second, "host b.example": 150 * time.Millisecond}}
		f := opened(t, new(memory), Options{Shared: shared}, "http://a.example/", "http://b.example/")
		shared.f = f
		begin := time.Now()
		addr := netip.MustParseAddr("16.0.0.7")
		first := make(chan error)
		a, b := turnOf(t, f, siteA), turnOf(t, f, siteB)
		go func() { first <- a.Bind(addr, true) }()
		time.Sleep(900 * time.Millisecond)
		err := b.Bind(addr, true) // begins before the other one, and ends after it
		if first := <-first; first != nil {
			t.Error(first)
		}
		var notYet *NotYet
		if !errors.As(err, &notYet) || notYet.By != IPClock && notYet.By != MachineClock || time.Since(begin) != 1050*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		finish(t, b, Outcome{Again: true})
		b = turnOf(t, f, siteB)
		if err := b.Bind(addr, true); err != nil || !shared.alone {
			t.Errorf("%v, alone: %v", err, shared.alone)
		}
		finish(t, a, page)
		finish(t, b, page)
	})
}

// Two turns whose Reserve is of different names are not closer than their common permits.
func TestTheCommonIsReadAgainAfterReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &slowShared{Shared: freeShared{}, took: map[string]time.Duration{"host a.example": time.Second, "host b.example": 150 * time.Millisecond}}
		f := opened(t, new(memory), Options{Shared: shared}, "http://a.example/", "http://b.example/")
		shared.f = f
		addr := netip.MustParseAddr("16.0.0.7")
		first := make(chan error)
		a, b := turnOf(t, f, siteA), turnOf(t, f, siteB)
		go func() { first <- a.Bind(addr, true) }()
		time.Sleep(900 * time.Millisecond)
		err := b.Bind(addr, true)
		if first := <-first; first != nil {
			t.Error(first)
		}
		var notYet *NotYet
		if !errors.As(err, &notYet) || notYet.By != IPClock || notYet.Until.Sub(time.Now()) != 200*time.Millisecond {
			t.Errorf("%v, want the address to be free 250ms after the start 50ms ago", err)
		}
		finish(t, a, page)
		finish(t, b, Outcome{Again: true})
	})
}

// freeShared is a Shared in which nothing is reserved.
type freeShared struct{}

func (freeShared) Reserve(string, time.Time, time.Time) (Taken, bool) { return Taken{}, true }
func (freeShared) Renew(string, time.Time)                            {}
func (freeShared) Release(string, time.Time)                          {}
