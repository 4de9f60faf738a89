package crawler

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// The lists of a status have the five sites that wait longest, and the five given-up sites with the
// most URLs. The order in which the sites are added does not matter.
func TestTheListsOfAStatusHaveTheSitesThatMatterMost(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var s StatusSites
		for _, i := range random.Perm(12) {
			st := frontier.SiteStatus{Site: frontier.Site(fmt.Sprintf("http://%02d.test", i)), Queued: 1 + i/2}
			if i%2 == 0 {
				st.Due, st.By = now.Add(time.Duration(i)*time.Minute), frontier.BackOffClock
			} else {
				st.Given = frontier.Fate{Code: frontier.SiteDead, Detail: fmt.Sprint("detail of ", i)}
			}
			s.add(st, now)
		}
		var got strings.Builder
		for _, one := range s.WaitingSites {
			fmt.Fprintf(&got, "%s %d %s\n", one.Site, one.Queued, one.By)
		}
		for _, one := range s.GivenUpSites {
			fmt.Fprintf(&got, "%s %d %s %s\n", one.Site, one.Queued, one.Given, one.Detail)
		}
		const want = "http://10.test 6 back-off\nhttp://08.test 5 back-off\nhttp://06.test 4 back-off\nhttp://04.test 3 back-off\nhttp://02.test 2 back-off\n" +
			"http://11.test 6 dead detail of 11\nhttp://09.test 5 dead detail of 9\nhttp://07.test 4 dead detail of 7\nhttp://05.test 3 dead detail of 5\nhttp://03.test 2 dead detail of 3\n"
		if got.String() != want {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, got.String(), want)
		}
	}
}
