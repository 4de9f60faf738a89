package provenance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// The counts do not depend on how many sites fit in memory.
func TestHostsAreCountedInBoundedMemory(t *testing.T) {
	for _, most := range []int{1, 3, 10_000} {
		h := newHostCounts(crawllog.NewOrder(t.TempDir()))
		defer h.close()
		h.most = most
		rng := rand.New(rand.NewPCG(1, 2))
		sites, hosts := map[frontier.Site]bool{}, map[string]int64{}
		for range 5000 {
			host := fmt.Sprintf("h%d.test", rng.IntN(1+rng.IntN(500)))
			site := frontier.Site([]string{"http://", "https://"}[rng.IntN(2)] + host)
			sites[site] = true
			hosts[host]++
			if err := h.add(site); err != nil {
				t.Fatal(err)
			}
			if len(h.counts) > most {
				t.Fatalf("%d sites in memory, at most %d are allowed", len(h.counts), most)
			}
		}
		var f Figures
		if err := h.figures(&f); err != nil {
			t.Fatal(err)
		}
		if f.Sites != int64(len(sites)) || f.Hosts != int64(len(hosts)) || !slices.Equal(f.TopHosts, topOf(hosts)) {
			t.Errorf("with %d in memory: %d sites, %d hosts, first %v; want %d, %d, %v", most, f.Sites, f.Hosts, f.TopHosts, len(sites), len(hosts), topOf(hosts))
		}
	}
}
