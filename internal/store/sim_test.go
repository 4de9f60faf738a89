package store

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
)

// With three seeds the simulations have each delay, and a purge of a killed crawl.
var sims = flag.Int("sims", 3, "seeds of each simulation; .ci/run has more")

// small returns limits so low that a few links need several rows, blocks and slices.
func small(r *rand.Rand) *state.Limits {
	return &state.Limits{
		SmallPending: r.IntN(4), SomeMerge: 1 + r.IntN(40), FullMerge: 1 + r.IntN(80),
		Slice: 1 + r.IntN(40), MaxSlice: 1 + r.IntN(6), RowSize: 1 + r.IntN(400), MaxBlock: 2 + r.IntN(5), Payloads: 1 + r.IntN(6),
		Queue: 1 + r.IntN(4), QueueLinks: 1 + r.IntN(9), QueueBytes: 1 + r.IntN(4000),
	}
}

// verified calls Verify on dir, fails the test for each problem, and returns the result.
func verified(t testing.TB, dir string) Verified {
	t.Helper()
	v, err := Verify(t.Context(), dir, func(err error) { t.Errorf("Verify: %v", err) })
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return v
}

// Merges and kills come at any time. The DB has the result of all committed completions, and
// each was applied once.
func TestWhatIsCommittedIsNeitherLostNorDoneTwice(t *testing.T) {
	var forward atomic.Int64
	t.Cleanup(func() { // runs after all seeds
		if forward.Load() == 0 {
			t.Error("no entry was brought forward")
		}
	})
	for seed := range uint64(*sims) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 3))
				w := &twin{t: t, rand: r, now: time.Now()}
				w.forget()
				w.opts = Options{limits: small(r)}
				var err error
				if w.db, err = Open(t.TempDir(), w.opts); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if t.Failed() {
						w.db.Close()
					}
				}()
				w.hear()
				for range 250 {
					switch n := r.IntN(100); {
					case n < 12:
						w.do(act{completion: &frontier.Completion{Links: w.links(30)}})
					case n < 37:
						w.read()
					case n < 67:
						w.finish()
					case n < 70:
						w.do(act{key: fmt.Sprint("key", r.IntN(3))})
					case n < 73:
						site := w.site()
						w.do(act{site: site, snapshot: &robots.Snapshot{
							URL: string(site) + "/robots.txt", Fetched: w.now, Status: 200, Body: fmt.Append(nil, "# ", r.IntN(4)),
						}})
						w.now = w.now.Add(1)
					case n < 86:
						time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
						w.now = w.now.Add(time.Duration(r.IntN(5)) * time.Second)
					case n < 89:
						w.settle()
					case n < 92:
						w.kill()
					case n < 99:
						w.change()
					}
					synctest.Wait()
					w.news()
				}
				w.settle()
				w.kill()
				w.settle()
				forward.Add(int64(w.forward))
				if err := w.db.Close(); err != nil {
					t.Fatal(err)
				}
				verified(t, w.db.Dir())
			})
		})
	}
}
