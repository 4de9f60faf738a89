package state

import "sync/atomic"

// A knownCache remembers fingerprints of recently seen URLs, so that the most common links,
// such as those of menus, need not be looked up in the file. It may forget a fingerprint, but
// never reports one that was not added. Each fingerprint has one place, which its low bits
// give. The number of places is a power of two. It doubles as URLs are added, up to maxPlaces.
// A knownCache is safe for concurrent use. No fingerprint is 0.
type knownCache struct {
	places  atomic.Pointer[[]atomic.Uint64]
	fills   atomic.Int64 // number of fingerprints that were added since the last doubling
	growing atomic.Bool  // a goroutine is doubling the places
}

const (
	firstPlaces = 1 << 12
	maxPlaces   = 1 << 20 // 8 MiB of memory
)

func newKnownCache() *knownCache {
	c := &knownCache{}
	p := make([]atomic.Uint64, firstPlaces)
	c.places.Store(&p)
	return c
}

// known reports whether fp is in the cache.
func (c *knownCache) known(fp uint64) bool {
	p := *c.places.Load()
	return p[fp&uint64(len(p)-1)].Load() == fp
}

// note adds the fingerprint of a link. It must be called only after the completion that has the
// link is in the queue. Otherwise another completion could leave out the same link, because it
// is known, and that completion could be committed first.
func (c *knownCache) note(fp uint64) {
	now := c.places.Load()
	p := *now
	if place := &p[fp&uint64(len(p)-1)]; place.Swap(fp) == fp {
		return
	}
	if len(p) < maxPlaces && c.fills.Add(1) > int64(2*len(p)) && c.growing.CompareAndSwap(false, true) {
		c.grow(now)
		c.growing.Store(false)
	}
}

// grow doubles the number of places. It does nothing if another call has replaced the places
// since the caller loaded them. Fingerprints that other goroutines add meanwhile may be lost.
// Their links are then looked up again. Only one goroutine may grow the cache at a time,
// because growing allocates megabytes.
func (c *knownCache) grow(now *[]atomic.Uint64) {
	if c.places.Load() != now {
		return
	}
	old := *now
	p := make([]atomic.Uint64, 2*len(old))
	for i := range old {
		if fp := old[i].Load(); fp != 0 {
			p[fp&uint64(len(p)-1)].Store(fp)
		}
	}
	c.places.Store(&p)
	c.fills.Store(0)
}
