package frontier

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestSitesThatAreDueBecomeReadyHoweverManyThereAre(t *testing.T) {
	now := time.Now()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, fewRipe, fewRipe + 1, 9 * fewRipe, 2000} {
		for _, part := range []float64{0, 0.02, 0.2, 0.9, 1} {
			t.Run(fmt.Sprintf("%v of %d", part, n), func(t *testing.T) {
				q := newQueues()
				before := &site{spot: spot{due: now.Add(-time.Hour), place: placeReady}, stock: stock{head: 3}}
				heap.Push(&q.unsureReady, before)
				ripe := 1
				for range n {
					s := &site{spot: spot{due: now.Add(1 + time.Duration(r.IntN(1000))), place: placeWaiting}, stock: stock{head: uint8(r.IntN(6))}}
					if r.IntN(2) == 0 {
						s.past = &past{quick: r.IntN(2) == 0, took: uint16(1 + r.IntN(10000))}
					}
					if r.Float64() < part {
						s.due = now.Add(-time.Duration(r.IntN(1000)))
						ripe++
					}
					heap.Push(&q.waiting, s)
				}
				q.ripen(now)
				ready := len(q.ready.sites) + len(q.unsureReady.sites)
				if ready != ripe || len(q.waiting.sites) != n+1-ripe {
					t.Fatalf("%d are ready and %d wait, of %d that are due", ready, len(q.waiting.sites), ripe)
				}
				for _, quick := range []bool{false, true} {
					drained(t, q.readyOf(&site{past: &past{quick: quick}}), func(s *site) bool {
						return s.place == placeReady && !s.due.After(now) && s.quick() == quick
					})
				}
				drained(t, &q.waiting, func(s *site) bool { return s.place == placeWaiting && s.due.After(now) })
			})
		}
	}
}

// drained pops all sites from a heap, and checks their order and their indices.
func drained(t *testing.T, h *siteHeap, belongs func(*site) bool) {
	t.Helper()
	for i, s := range h.sites {
		if int(s.index) != i || !belongs(s) {
			t.Errorf("site %d of %d: %+v", i, len(h.sites), s.spot)
		}
	}
	for last := (*site)(nil); len(h.sites) > 0; {
		s := heap.Pop(h).(*site)
		if last != nil && h.before(s, last) {
			t.Errorf("%+v, %d comes after %+v, %d", s.spot, s.head, last.spot, last.head)
		}
		last = s
	}
}
