package fetch

import (
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Large robots.txt files of many sites do not stay in memory. A forgotten robots.txt is loaded
// from the Snapshots, not from the site.
func TestRestingHostsHaveABoundOfMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := &wire{serve: answers(func(r *request, n int) string {
			if r.target != rulesTarget {
				return page("")
			}
			asked++
			return page("User-agent: *\nDisallow: /no\n" + strings.Repeat("#", 72))
		})}
		v := newTour(t, Options{Network: w, maxRules: 3 * 100})
		f := v.fetcher
		for range 2 {
			for i := range 8 {
				v.visit(fmt.Sprintf("http://h%d.example/", i))
				size := 0
				for _, l := range f.sites {
					size += l.host.rulesSize()
				}
				if size > 300 || f.rules != size {
					t.Fatalf("hosts have %d bytes of robots.txt; counted %d", size, f.rules)
				}
			}
		}
		if len(f.sites) != 3 || f.unused.Len() != 3 || asked != 8 {
			t.Errorf("%d hosts are remembered, %d unused; robots.txt was requested %d times", len(f.sites), f.unused.Len(), asked)
		}
	})
}

// Hosts that are fetching a robots.txt over several turns are not scanned again and again, and do
// not cause other hosts to be forgotten.
func TestChainsTakeNoPlaceOfHostsThatRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := &wire{serve: answers(func(r *request, n int) string {
			if strings.HasPrefix(r.header.Get("Host"), "moved") && time.Since(begin) > time.Hour {
				return redirectTo(r.target + "/on")
			}
			return page("User-agent: *")
		})}
		v := newTour(t, Options{Network: w, Bounds: Bounds{MaxHosts: 2}})
		v.once = true
		for i := range 15 {
			if i == 5 { // by then the rules have expired
				time.Sleep(25 * time.Hour)
			}
			v.visit(fmt.Sprintf("http://moved%d.example/", i%5))
			v.visit(fmt.Sprintf("http://h%d.example/", i%5))
		}
		f := v.fetcher
		size := 0
		for _, l := range f.sites {
			if size += l.host.rulesSize(); l.host.chain != nil && (l.host.loaded || l.host.snapshot != nil) {
				t.Error("a host whose robots.txt is on its way has an old one in memory")
			}
		}
		if f.unused.Len() != 2 || len(f.sites) != 7 || f.rules != size {
			t.Errorf("%d hosts are remembered, of these %d unused with %d bytes of robots.txt; counted %d", len(f.sites), f.unused.Len(), size, f.rules)
		}
	})
}

// At most MaxIdle connections are kept, for a limited time. The server sees the end of each.
func TestKeptConnectionsHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int64
		w := &wire{serve: func(c net.Conn, n int) {
			answers(noRobots(func(*request, int) string { return page("") }))(c, n)
			closed.Add(1)
		}}
		v := newTour(t, Options{Network: w, Bounds: Bounds{MaxIdle: 2}})
		v.delay = -1
		visit := func(host string, pause time.Duration, kept, gone int) {
			t.Helper()
			time.Sleep(pause)
			v.visit("http://" + host + ".example/")
			synctest.Wait()
			if got := v.fetcher.open.Len(); got != kept || closed.Load() != int64(gone) {
				t.Errorf("%s: %d connections are kept, %d closed; want %d, %d", host, got, closed.Load(), kept, gone)
			}
		}
		visit("a", 0, 1, 0)
		visit("b", 0, 2, 0)
		visit("c", 0, 2, 1) // the connection of a was closed
		visit("b", 10*time.Second, 2, 1)
		visit("b", 20*time.Second, 2, 1) // the connection of c was last used 30 seconds ago
		visit("b", 1, 1, 2)
		visit("c", 0, 2, 2)
	})
}

func TestAFetcherThatIsClosedHasNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(func(r *request, n int) string {
			if strings.HasPrefix(r.header.Get("Host"), "moved") {
				return "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
			}
			return answer("gzip", gzipped([]byte("User-agent: *")), false)
		})}
		v := newTour(t, Options{Network: w})
		v.once = true
		f := v.fetcher
		for range 2 {
			v.visit("http://a.example/")
			v.visit("http://moved.example/")
			if f.rules == 0 || f.unused.Len() != 1 || f.open.Len() != 2 || len(f.decoders.idle) == 0 {
				t.Errorf("%d unused hosts with %d bytes of robots.txt, %d connections", f.unused.Len(), f.rules, f.open.Len())
			}
			f.Close()
			w.wait.Wait() // returns when no connection is left
			if f.rules != 0 || f.unused.Len() != 0 || f.open.Len() != 0 || len(f.sites) != 0 || len(f.decoders.idle) != 0 || !f.mu.TryLock() {
				t.Fatalf("%d hosts, %d unused with %d bytes of robots.txt, %d connections", len(f.sites), f.unused.Len(), f.rules, f.open.Len())
			}
			f.mu.Unlock()
		}
	})
}

// The transport limits the bytes that a server may send before they are read.
func TestTheBoundsOfTheTransport(t *testing.T) {
	tr := newTransport()
	if tr.MaxResponseHeaderBytes != 262144 || tr.HTTP2.MaxReceiveBufferPerStream != 524288 || tr.HTTP2.MaxReceiveBufferPerConnection != 1048576 {
		t.Errorf("%d, %+v", tr.MaxResponseHeaderBytes, tr.HTTP2)
	}
}

func TestWhatIsNotSaidHasADefault(t *testing.T) {
	for n, want := range map[int]Options{
		-1: {Bounds: Bounds{MaxHosts: 4096, MaxIdle: 1024, MaxNames: 16384}, Bodies: Bodies{MaxSize: 16777216}, Timeout: 30 * time.Second, maxRules: 33554432},
		0:  {Bounds: Bounds{MaxHosts: 4096, MaxIdle: 1024, MaxNames: 16384}, Bodies: Bodies{MaxSize: 16777216}, Timeout: 30 * time.Second, maxRules: 33554432},
		1:  {Bounds: Bounds{MaxHosts: 1, MaxIdle: 1, MaxNames: 1}, Bodies: Bodies{MaxSize: 1}, Timeout: 1, maxRules: 1},
	} {
		f := newTour(t, Options{Bounds: Bounds{MaxHosts: n, MaxIdle: n, MaxNames: n}, Bodies: Bodies{MaxSize: int64(n)}, Timeout: time.Duration(n), maxRules: n}).fetcher
		got := Options{Bounds: Bounds{MaxHosts: f.opts.MaxHosts, MaxIdle: f.opts.MaxIdle, MaxNames: f.names.most}, Bodies: Bodies{MaxSize: f.opts.MaxSize}, Timeout: f.opts.Timeout, maxRules: f.opts.maxRules}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %+v", n, got)
		}
	}
}

// Longest depends on the time-outs and on Options.Bandwidth.
func TestTheLongestRequest(t *testing.T) {
	for _, tc := range []struct {
		opts Options
		want time.Duration
	}{
		{Options{}, 2 * time.Minute},
		{Options{Timeout: time.Second}, 4 * time.Second},
		{Options{Timeout: time.Second, Bandwidth: 1000, Bodies: Bodies{MaxSize: 500}}, 4*time.Second + 10*portion*time.Millisecond}, // the limit of a robots.txt is larger than MaxSize
		{Options{Timeout: time.Second, Bandwidth: 1}, time.Hour + 4*time.Second},
	} {
		if got := newTour(t, tc.opts).fetcher.Longest(10); got != tc.want {
			t.Errorf("Timeout %v, Bandwidth %d, MaxSize %d: %v, want %v", tc.opts.Timeout, tc.opts.Bandwidth, tc.opts.MaxSize, got, tc.want)
		}
	}
}
