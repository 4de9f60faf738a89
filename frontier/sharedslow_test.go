package frontier

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowShared is a Shared whose Reserve takes long.
type slowShared struct {
	Shared
	f      *Frontier
	took   map[string]time.Duration // duration of Reserve for each key
	locked atomic.Bool              // the frontier was locked during a call of Reserve
}

func (s *slowShared) Reserve(key string, now, until time.Time) (Taken, bool) {
	if s.f.mu.TryLock() {
		s.f.mu.Unlock()
	} else {
		s.locked.Store(true)
	}
	time.Sleep(s.took[key])
	return s.Shared.Reserve(key, now, until)
}

// The frontier is not locked while Reserve waits, for example for a server. Turns that other
// goroutines begin during the wait are taken into account.
func TestTheFrontierGoesOnWhileReserveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &slowShared{Shared: NewSharedClocks(), took: map[string]time.Duration{"host a.example": time.Second, "host b.example": 150 * time.Millisecond}}
		f := opened(t, new(memory), Options{Shared: shared}, "http://a.example/", "http://b.example/")
		shared.f = f
		begin := time.Now()
		addr := netip.MustParseAddr("16.0.0.7")
		first := make(chan error)
		a, b := turnOf(t, f, siteA), turnOf(t, f, siteB)
		go func() { first <- a.Bind(addr, true) }()
		time.Sleep(900 * time.Millisecond)
		err := b.Bind(addr, true) // this call begins before the other one, and ends after it
		if first := <-first; first != nil {
			t.Error(first)
		}
		var notYet *NotYet
		if !errors.As(err, &notYet) || notYet.By != IPClock && notYet.By != MachineClock || time.Since(begin) != 1050*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		finish(t, b, Outcome{Again: true})
		b = turnOf(t, f, siteB)
		if err := b.Bind(addr, true); err != nil || shared.locked.Load() {
			t.Errorf("%v, locked: %v", err, shared.locked.Load())
		}
		finish(t, a, page)
		finish(t, b, page)
	})
}

// If two turns reserve different names at the same time, their requests still keep the pause of
// their common address.
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
		if !errors.As(err, &notYet) || notYet.By != IPClock || time.Until(notYet.Until) != 200*time.Millisecond {
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
