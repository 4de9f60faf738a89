package frontier

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A served is one request in the log of the simulated servers.
type served struct {
	site       Site
	start, end time.Time
	asked      Pause
}

// serve lets several workers request all entries of f and returns the log. The function answer
// returns the address of a site, the duration and the outcome of its next request.
func serve(t *testing.T, f *Frontier, public bool, answer func(Site) (netip.Addr, time.Duration, Outcome)) (log []served) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				turn, err := f.Next(context.Background())
				if err != nil {
					if !errors.Is(err, ErrEnd) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				addr, took, o := answer(turn.Site())
				mu.Unlock()
				if err := turn.Bind(addr, public); err != nil {
					o = Outcome{Again: true}
				} else {
					s := served{site: turn.Site(), start: time.Now(), asked: turn.Asked()}
					time.Sleep(took)
					s.end = time.Now()
					o.Request = &Request{Started: s.start, FirstByte: s.start, Ended: s.end}
					mu.Lock()
					log = append(log, s)
					mu.Unlock()
				}
				if _, err := turn.Finish(o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return log
}

func opened(t *testing.T, b Backlog, o Options, urls ...string) *Frontier {
	t.Helper()
	f, err := New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range urls {
		if err := f.Add(Entry{URL: mustParse(t, raw)}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

var (
	page     = Outcome{Fate: Fate{Code: Fetched, Status: 200}}
	oneAddr  = netip.MustParseAddr("16.0.0.1")
	services = []string{"http://a.example", "https://a.example", "http://a.example:8080"}
)

func pagesOf(origins []string, n int) (urls []string) {
	for i := range n {
		for _, o := range origins {
			urls = append(urls, fmt.Sprintf("%s/%d", o, i))
		}
	}
	return urls
}

func TestTheServicesOfAHostShareItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := serve(t, opened(t, new(memory), Options{}, pagesOf(services, 4)...), true, func(s Site) (netip.Addr, time.Duration, Outcome) {
			return oneAddr, 100 * time.Millisecond, page
		})
		if len(log) != 12 {
			t.Fatalf("%d requests, want 12", len(log))
		}
		for i := 1; i < len(log); i++ {
			if gap := log[i].start.Sub(log[i-1].end); gap < time.Second || gap > 2*time.Second {
				t.Errorf("%s got a request %v after the last answer of its host", log[i].site, gap)
			}
			// Turn.Asked returns the start of the pause.
			if p := log[i].asked; log[i].site != log[i-1].site && (p.By != HostClock || p.For != time.Second || !p.Since.Equal(log[i-1].end)) {
				t.Errorf("%s had a pause of %v by %q since %v; the last answer of the host ended at %v", log[i].site, p.For, p.By, p.Since, log[i-1].end)
			}
		}
	})
}

// The rest of one service of a host applies to its other services, also in the next run.
//
// For site owners: "http, https and all ports of one host name at public addresses share pauses,
// Retry-After and back-off, and get one request at a time together."
func TestARestThatAServiceAsksForCountsForItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(memory)
		var until time.Time
		answer := func(s Site) (netip.Addr, time.Duration, Outcome) {
			if until.IsZero() {
				until = time.Now().Add(time.Hour)
				return oneAddr, 0, Outcome{Trouble: SiteTrouble, RetryAfter: until}
			}
			return oneAddr, 0, page
		}
		if log := serve(t, opened(t, b, Options{}, services[0]+"/"), true, answer); len(log) != 1 {
			t.Fatalf("%d requests, want 1", len(log))
		}
		b.Forget()
		log := serve(t, opened(t, b, Options{Patience: 2 * time.Hour}, pagesOf(services[1:], 1)...), true, answer)
		if len(log) != 3 {
			t.Fatalf("%d requests, want 3", len(log))
		}
		for _, s := range log {
			if s.start.Before(until) {
				t.Errorf("%s got a request %v before its host was due", s.site, until.Sub(s.start))
			}
		}
	})
}

func TestServicesOfAPrivateHostStayApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		log := serve(t, opened(t, new(memory), Options{}, pagesOf(services, 1)...), false, func(Site) (netip.Addr, time.Duration, Outcome) {
			return netip.MustParseAddr("10.0.0.1"), time.Second, page
		})
		for _, s := range log {
			if !s.start.Equal(begin) {
				t.Errorf("%s got a request after %v", s.site, s.start.Sub(begin))
			}
		}
	})
}

// Addresses in use keep their clocks when forget removes the unused ones.
func TestTheClocksOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range 1500 {
			urls = append(urls, fmt.Sprintf("http://s%d.example/", i))
		}
		addrs := map[Site]netip.Addr{}
		f := opened(t, new(memory), Options{}, urls...)
		log := serve(t, f, true, func(s Site) (netip.Addr, time.Duration, Outcome) {
			if _, ok := addrs[s]; !ok {
				n := len(addrs)
				addrs[s] = netip.AddrFrom4([4]byte{16, 1, byte(n >> 8), byte(n)})
				if n%8 == 0 {
					addrs[s] = oneAddr
				}
			}
			return addrs[s], 3 * time.Second, page
		})
		if len(log) != len(urls) {
			t.Errorf("%d requests, want %d", len(log), len(urls))
		}
		// The log is in the order of ends, so sort it by start.
		var starts []time.Time
		busy := 0
		for _, s := range log {
			if addrs[s.site] != oneAddr {
				continue
			}
			for _, other := range starts {
				if gap := s.start.Sub(other).Abs(); gap < 250*time.Millisecond {
					t.Errorf("two starts at one address within %v", gap)
				}
			}
			starts = append(starts, s.start)
			busy++
		}
		if busy == 0 || len(f.commons[byAddress].all) >= 1024 {
			t.Errorf("%d requests at the common address, %d addresses are kept", busy, len(f.commons[byAddress].all))
		}
	})
}

func TestWhatIsForgottenOfCommonClocks(t *testing.T) {
	now := time.Now()
	cs := newCommons(IPClock, time.Second, 2)
	for i := range 2000 {
		cs.hold(fmt.Sprint(i), now.Add(-time.Hour), now.Add(-time.Minute))
	}
	parked := &site{}
	cs.get("busy").busy = 1
	cs.get("free later").free = now.Add(time.Minute)
	cs.get("promised").next = now.Add(time.Minute)
	cs.get("waited for").waiting = []*site{parked}
	cs.forget(now)
	if len(cs.all) != 4 {
		t.Errorf("%d are left of 2004", len(cs.all))
	}
	for _, name := range []string{"busy", "free later", "promised", "waited for"} {
		if cs.all[name] == nil {
			t.Errorf("one that is %q was forgotten", name)
		}
	}
}

// After a host has rested, its clock is removed from memory.
func TestHostsThatRestedCostNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(memory)
		for i := range 3 {
			u := mustParse(t, fmt.Sprintf("http://h%d.example/", i))
			ended := time.Now().Add(-time.Hour)
			if i == 0 {
				ended = time.Now()
			}
			c := Clocks{Ended: ended, Due: ended.Add(time.Second), By: OwnClock, Public: true}
			if err := b.Submit(Completion{Site: u.Site(), Clocks: c, Links: []Entry{{URL: u}}}); err != nil {
				t.Fatal(err)
			}
		}
		<-b.Grown() // drop the growth of the earlier run
		if f := opened(t, b, Options{}); len(f.commons[byHost].all) != 1 {
			t.Errorf("the clocks of %d hosts are kept, want 1", len(f.commons[byHost].all))
		}
	})
}
