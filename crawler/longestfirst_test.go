package crawler

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// LongestFirst has the sites with the most time left, as a sort of all sites would return them. The
// order of the calls does not matter.
func TestTheSitesWithMostTimeLeftComeFirst(t *testing.T) {
	now := time.Unix(0, 0)
	for _, n := range []int{0, 1, mostLongest, mostLongest + 1, 300} {
		var all []frontier.SiteStatus
		for i := range n {
			all = append(all, frontier.SiteStatus{Site: frontier.Site(fmt.Sprintf("http://h%03d.test", i)), Queued: 1 + i/2, Gap: time.Second, Due: now})
		}
		slices.SortFunc(all, func(a, b frontier.SiteStatus) int {
			return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Site, b.Site))
		})
		var want []string
		for _, st := range all[:min(n, mostLongest)] {
			want = append(want, string(st.Site))
		}
		for seed := range uint64(20) {
			rand.New(rand.NewPCG(seed, 0)).Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
			var s StatusSites
			for _, st := range all {
				s.add(st, now)
			}
			var got []string
			for _, one := range s.LongestFirst {
				got = append(got, string(one.Site))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d sites, seed %d: %q, want %q", n, seed, got, want)
			}
		}
	}
}
