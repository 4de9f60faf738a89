package state

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// While the places double, many goroutines call note and known. known never reports a
// fingerprint that was not noted.
func TestTheCacheKnowsNothingThatWasNotNoted(t *testing.T) {
	c := newKnownCache()
	const workers, each = 4, 20_000
	var all sync.WaitGroup
	for w := range uint64(workers) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(w, 4))
			for i := range uint64(each) {
				fp := r.Uint64() | 1 // make the fingerprint odd, because only odd fingerprints are noted
				c.note(fp)
				if even := r.Uint64N(1<<40)<<1 + 2; c.known(even) {
					t.Errorf("%d was never noted", even)
				}
				// The low bits select the place, so this fingerprint has the same place but was
				// not noted.
				if other := fp ^ 1<<63; i%2 == 0 && c.known(other) {
					t.Errorf("%d is known for %d", other, fp)
				}
			}
		})
	}
	all.Wait()
	places := *c.places.Load()
	if len(places) <= firstPlaces {
		t.Errorf("%d places after %d notes", len(places), workers*each)
	}
	for i := range places {
		if fp := places[i].Load(); fp != 0 && fp&uint64(len(places)-1) != uint64(i) {
			t.Errorf("%d is at %d", fp, i)
		}
	}
}

// The places double when they are full. If several goroutines find them full, only one doubles
// them.
func TestTheCacheGrowsOnceForAll(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := newKnownCache()
	var all sync.WaitGroup
	for w := range uint64(64) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(w, 6))
			for range 1 << 16 {
				c.note(max(1, r.Uint64()))
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	const most = 2*8*maxPlaces + 1<<20 // bytes of all tables, each twice as large as the one before, and of the goroutines
	if n := len(*c.places.Load()); n < 8*firstPlaces {
		t.Errorf("%d places", n)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes were allocated, want at most %d", n, most)
	}
}

func TestTheCacheKnowsWhatWasNotedLast(t *testing.T) {
	c := newKnownCache()
	r := rand.New(rand.NewPCG(1, 4))
	for range 50_000 {
		fp := max(1, r.Uint64())
		if c.note(fp); !c.known(fp) {
			t.Fatalf("%d is not known at once", fp)
		}
	}
}

// Two pages have the same new link. The page whose turn ended later is committed first. Then
// the process is killed before the other page is committed. The link must not be lost.
func TestALinkIsKnownOnceItIsOnItsWay(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	page := frontier.Completion{Links: []frontier.Entry{{URL: u}}}
	db.encodeCompletion(&page, new(draft)) // the worker is killed here, after it has looked up the link and before it submits the completion
	if err := db.Submit(page); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	again := open(t, crash(t, dir))
	if _, ok, err := fateFor(again, u); !ok || err != nil {
		t.Errorf("the link of a page that is safe is lost: %v", err)
	}
	for _, db := range []*DB{db, again} {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
