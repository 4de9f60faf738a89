package fetch

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// The redirects of a tdmrep.json are kept between two turns, even if few hosts are kept. Otherwise
// the chain would start again each time.
func TestTheChainOfATDMRepIsKeptBetweenTurns(t *testing.T) {
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
		v := newTour(t, Options{Network: w, Purpose: robots.PurposeResearch, Bounds: Bounds{MaxHosts: 1}})
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
			t.Errorf("requested %q, want %q", asked, want)
		}
		if n := v.fetcher.unused.Len(); n > 1 || len(v.fetcher.sites) != n {
			t.Errorf("%d hosts are remembered, %d of them unused", len(v.fetcher.sites), n)
		}
	})
}

// If a tdmrep.json, or the target of its redirect, is on the opt-out list, it is not requested.
// Other pages of the site are.
func TestATDMRepOnTheOptOutListIsNotRequested(t *testing.T) {
	for _, test := range []struct{ listed, want string }{
		{robots.TDMRepPath, "/robots.txt /page"},
		{"/moved", "/robots.txt " + robots.TDMRepPath + " /page"},
		{"/other", "/robots.txt " + robots.TDMRepPath + " /moved /page"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			w := &wire{serve: answers(func(r *request, n int) string {
				asked = append(asked, r.target)
				switch r.target {
				case robots.TDMRepPath:
					return "HTTP/1.1 302 Found\r\nLocation: /moved\r\nContent-Length: 0\r\n\r\n"
				case "/page":
					return page("")
				}
				return status(404, "")
			})}
			v := newTour(t, Options{Network: w, Purpose: robots.PurposeResearch, OptOut: func(at frontier.URL) (string, error) {
				if at.Target() == test.listed {
					return "listed", nil
				}
				return "", nil
			}})
			front := frontOf(t, frontier.Options{}, "http://a.example/page")
			for len(asked) < 10 {
				turn, err := front.Next(t.Context())
				if errors.Is(err, frontier.ErrEnd) {
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
			if got := strings.Join(asked, " "); got != test.want {
				t.Errorf("%s is listed: requested %s, want %s", test.listed, got, test.want)
			}
		})
	}
}
