package frontier

import (
	"errors"
	"testing"
	"testing/synctest"
)

// A wanting has clocks, and the pairs of sites that a Hop has wanted.
type wanting struct {
	Shared
	pairs [][2]Site
}

func (w *wanting) Want(from, to Site) { w.pairs = append(w.pairs, [2]Site{from, to}) }

// A Hop to a site that another frontier has says so to Options.Shared; a Hop to an own site does not.
func TestAHopWantsTheSiteOfAnotherFrontier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &wanting{Shared: NewSharedClocks()}
		b, f := newTermed(t, Options{Shared: shared}, "http://a.example/1")
		turn := turnOf(t, f, siteA)
		for _, foreign := range []bool{false, true, false} {
			delete(b.terms, siteB)
			if foreign {
				b.terms[siteB] = 0
				withdrawn(t, f, true)
			}
			shared.pairs = nil
			hop, err := turn.Hop(siteB)
			var wait *NotYet
			switch {
			case foreign && (!errors.As(err, &wait) || len(shared.pairs) != 1 || shared.pairs[0] != [2]Site{siteA, siteB}):
				t.Errorf("a foreign site: %v, wanted %v", err, shared.pairs)
			case !foreign && (err != nil || len(shared.pairs) != 0):
				t.Errorf("an own site: %v, wanted %v", err, shared.pairs)
			case !foreign:
				finish(t, hop, Outcome{Again: true})
			}
		}
		finish(t, turn, page)
	})
}
