package fetch

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// Large robots.txt of many sites do not stay in memory; what was forgotten is
// had from the Snapshots, not from the site.
func TestRestingHostsHaveABoundOfMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := &wire{serve: answers(func(r *request, n int) string {
			if r.target != rulesTarget {
				return page("")
			}
			asked++
			return page("User-agent: *\nDisallow: /no\n" + strings.Repeat("#", 71))
		})}
		v := newTour(t, Options{Network: w, maxRules: 350})
		f := v.fetcher
		for range 2 {
			for i := range 8 {
				v.visit(fmt.Sprintf("http://h%d.example/", i))
				size := 0
				for _, l := range f.sites {
					size += l.host.rulesSize()
				}
				if size > 350 || f.rules != size {
					t.Fatalf("hosts have %d bytes of robots.txt; counted %d", size, f.rules)
				}
			}
		}
		if len(f.sites) != 3 || f.rests.Len() != 3 || asked != 8 {
			t.Errorf("%d hosts are remembered, %d rest; robots.txt was asked for %d times", len(f.sites), f.rests.Len(), asked)
		}
	})
}

// Sites whose robots.txt is on its way are no reason to look through all of them
// again and again, nor to forget others.
func TestChainsTakeNoPlaceOfHostsThatRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(func(r *request, n int) string {
			if strings.HasPrefix(r.header.Get("Host"), "moved") && r.target == rulesTarget {
				return "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
			}
			return page("")
		})}
		v := newTour(t, Options{Network: w, MaxHosts: 2})
		v.once = true
		for i := range 5 {
			v.visit(fmt.Sprintf("http://moved%d.example/", i))
			v.visit(fmt.Sprintf("http://h%d.example/", i))
		}
		if f := v.fetcher; f.rests.Len() != 2 || len(f.sites) != 7 {
			t.Errorf("%d hosts are remembered, of these %d rest", len(f.sites), f.rests.Len())
		}
	})
}
