package crawler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// The cache of site settings is limited. Sites whose settings were logged are removed last, so that
// the settings are logged only once.
func TestSettingsOfSitesAreForgotten(t *testing.T) {
	asked := map[frontier.Site]int{}
	o := &Options{Site: func(s frontier.Site) SiteOptions {
		asked[s]++
		if strings.HasSuffix(string(s), "97") || strings.Contains(string(s), ":9") {
			return SiteOptions{Reason: "so it is"}
		}
		return SiteOptions{}
	}}
	o.bounds.sites = 8
	s := sites{opts: o}
	ask := func(from, to int) {
		for port := from; port < to; port++ {
			for range 2 {
				if a := s.of(frontier.Site(fmt.Sprintf("http://a.example:%d", port))); a.Reason != "" {
					a.logged.Store(true)
				}
			}
			if len(s.known) > 8 {
				t.Fatalf("%d sites are remembered", len(s.known))
			}
		}
	}
	ask(100, 200)
	if len(asked) != 100 {
		t.Errorf("Site was called for %d sites", len(asked))
	}
	again := func(port int) int {
		site := frontier.Site(fmt.Sprintf("http://a.example:%d", port))
		s.of(site)
		return asked[site]
	}
	if n := again(101); n != 2 {
		t.Errorf("Site was called %d times for a forgotten site, want twice", n)
	}
	if n := again(197); n != 1 {
		t.Errorf("Site was called %d times for a site whose reason was logged lately, want once", n)
	}
	ask(200, 220)
	if n := again(197); n != 1 {
		t.Errorf("Site was called %d times for a site whose reason was logged, want once", n)
	}
	ask(900, 920) // all of these sites have a reason
	if n := again(197); n != 2 {
		t.Errorf("Site was called %d times for one of too many sites with a reason, want twice", n)
	}
}
