package frontier

import (
	"errors"
	"testing"
	"testing/synctest"
)

// A wanting is a Shared that records for which pairs of sites Hop has called Want.
type wanting struct {
	Shared
	pairs [][2]Site
}

func (w *wanting) Want(from, to Site) { w.pairs = append(w.pairs, [2]Site{from, to}) }

// Hop calls Want of Options.Shared if another frontier owns the site, and not for its own sites.
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
