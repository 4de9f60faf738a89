package frontier

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// keys returns all keys of the set.
func (s *seenSet) keys() (all []string) {
	for i := range s.parts {
		for _, slot := range s.parts[i].slots {
			if slot != 0 {
				all = append(all, s.texts.at(slot&placeMask))
			}
		}
	}
	return all
}

// addAll adds keys as Memory does, and returns those that the set did not have.
func (s *seenSet) addAll(keys ...string) (added []string) {
	for some := range slices.Chunk(keys, maxLooks) {
		looks := make([]look, len(some))
		for i, key := range some {
			looks[i].key = key
		}
		s.look(looks)
		for i := range looks {
			if kept, isNew := s.add(&looks[i]); isNew {
				added = append(added, kept)
			}
		}
	}
	return added
}

// Each key is new only once: keys of any length, also a key that one call contains twice.
func TestEachKeyIsNewOnce(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 3))
		all := []string{"", "x", strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", seenPiece/4-2), strings.Repeat("x", seenPiece/4-1), strings.Repeat("x", seenPiece), strings.Repeat("x", 1<<14-1), strings.Repeat("x", 1<<14), strings.Repeat("y", 1<<14)}
		for i := range 30_000 {
			all = append(all, fmt.Sprintf("http://a.example/%d%s", i, strings.Repeat("/longer", random.IntN(1+random.IntN(40)))))
		}
		var set seenSet
		known := map[string]bool{}
		for range 1000 {
			var named, want []string
			for range random.IntN(2 * maxLooks) {
				key := all[random.IntN(min(len(all), 10+2*len(known)))]
				named = append(named, key)
				if !known[key] {
					known[key] = true
					want = append(want, key)
				}
			}
			if got := set.addAll(named...); !slices.Equal(got, want) {
				t.Fatalf("of %q are new %q, want %q", named, got, want)
			}
		}
		keys := set.keys()
		slices.Sort(keys)
		if got := slices.Compact(keys); len(got) != len(known) || len(keys) != len(known) {
			t.Errorf("%d keys, %d of them once, want %d", len(keys), len(got), len(known))
		}
		for _, key := range keys {
			if !known[key] {
				t.Errorf("%q was never added", key)
			}
		}
	}
}

// Keys with the same hash are distinguished by their texts, even if their slots continue at the
// start of the table.
func TestKeysOfOneHashAreNotTakenForEachOther(t *testing.T) {
	for _, hash := range []uint64{0, 5, math.MaxUint64} {
		var set seenSet
		set.look(nil)
		for n := range 6 { // a table of eight slots holds at most six keys
			key := look{key: fmt.Sprint(n), hash: hash}
			for again := range 2 {
				key.place = set.part(hash).likely(hash)
				key.likely = set.texts.at(key.place)
				if key.known = set.knows(&key); key.known != (again == 1) {
					t.Fatalf("hash %x, key %d: known is %v", hash, n, key.known)
				}
				if kept, added := set.add(&key); added != (again == 0) || added && kept != key.key {
					t.Fatalf("hash %x, key %d: %q is added: %v", hash, n, kept, added)
				}
			}
		}
		if n := len(set.part(hash).slots); n != leastSlots {
			t.Errorf("%d slots", n)
		}
	}
}

// A key takes the memory of its text, and a few bytes more.
func TestTheMemoryOfAKey(t *testing.T) {
	const keys = 100_000
	var set seenSet
	text := 0
	for i := range keys {
		key := fmt.Sprintf("http://a.example/documents/%d", i)
		text += len(key)
		set.addAll(key)
	}
	slots, pieces := 0, 0
	for i := range set.parts {
		slots += len(set.parts[i].slots)
		if p := &set.parts[i]; 4*p.n > 3*len(p.slots) {
			t.Errorf("%d keys in %d slots", p.n, len(p.slots))
		}
	}
	for _, p := range set.texts.pieces {
		pieces += max(len(p), seenPiece)
	}
	if cost := 8*slots + pieces; cost > text+25*keys {
		t.Errorf("%d bytes for %d keys of %d", cost, keys, text)
	}
}

// BenchmarkMemorySubmit measures the time to submit a page with 50 links, one of them new, and the
// memory for each URL that has ended.
func BenchmarkMemorySubmit(b *testing.B) {
	for _, known := range []int{100_000, 3_000_000} {
		b.Run(fmt.Sprint(known), func(b *testing.B) {
			var before, after runtime.MemStats
			page := func(n int) URL {
				u, err := ParseURL(fmt.Sprintf("http://h%d.example/documents/%d.html", n%20, n))
				if err != nil {
					b.Fatal(err)
				}
				return u
			}
			runtime.GC()
			runtime.ReadMemStats(&before)
			m := new(memory)
			for i := range known {
				if err := m.Submit(Completion{Links: []Entry{{URL: page(i)}}}); err != nil {
					b.Fatal(err)
				}
			}
			m.sites, m.growths = map[Site]*memorySite{}, Growths{} // drop the queue, as if all entries had ended
			runtime.GC()
			runtime.ReadMemStats(&after)
			pages := make([][50]Entry, 20)
			random := rand.New(rand.NewPCG(1, 2))
			for n := 0; b.Loop(); n++ {
				if n%len(pages) == 0 {
					b.StopTimer()
					for i := range pages {
						for k := range pages[i] {
							pages[i][k].URL = page(random.IntN(known))
						}
						pages[i][0].URL = page(known + n + i)
					}
					b.StartTimer()
				}
				if err := m.Submit(Completion{Links: pages[n%len(pages)][:]}); err != nil {
					b.Fatal(err)
				}
				<-m.growths.C()
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(known), "B/URL")
		})
	}
}
