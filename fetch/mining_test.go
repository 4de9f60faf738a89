package fetch

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Where a tdmrep.json has led is not forgotten between two turns, however few hosts are
// remembered: it would be asked for from the beginning each time.
func TestTheWayOfATDMRepOutlivesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := &wire{serve: answers(noRobots(func(r *request, n int) string {
			asked = append(asked, r.header.Get("Host")+r.target)
			switch r.target {
			case robots.TDMRepPath:
				return redirectTo("/1")
			case "/1":
				return redirectTo("/2")
			case "/2":
				return page("[]")
			}
			return page("")
		}))}
		v := newTour(t, Options{Network: w, Purpose: robots.PurposeResearch, MaxHosts: 1})
		front := frontOf(t, frontier.Options{}, "http://a.example/page", "http://b.example/page", "http://c.example/page")
		for {
			turn, err := front.Next(t.Context())
			if errors.Is(err, frontier.ErrEnd) || len(asked) > 100 {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			res, err := v.fetcher.Get(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Finish(res.Outcome); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		for _, target := range []string{robots.TDMRepPath, "/1", "/2", "/page"} {
			for _, host := range []string{"a", "b", "c"} {
				want = append(want, host+".example"+target)
			}
		}
		slices.Sort(asked)
		if slices.Sort(want); !slices.Equal(asked, want) {
			t.Errorf("asked for %q, want %q", asked, want)
		}
		if n := v.fetcher.unused.Len(); n > 1 || len(v.fetcher.sites) != n {
			t.Errorf("%d hosts are remembered, %d of them unused", len(v.fetcher.sites), n)
		}
	})
}
