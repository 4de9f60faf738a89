package state

import (
	"sync/atomic"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
)

// A numberCache remembers the numbers of recently used sites. DB.sift uses it, because half of
// its searches in the file would be for the number of a site. A numberCache may confuse sites
// with similar hashes. In sift this does no harm: a link that is looked up at the wrong site is
// not found there, and is looked up again when it is merged. A numberCache is safe for
// concurrent use; the zero value is empty.
type numberCache struct {
	places atomic.Pointer[[numberPlaces]atomic.Uint64] // in each place, the upper half of the hash of a name, and the number of the site
}

const numberPlaces = 1 << 18 // 2 MiB of memory

// number returns the number of a site, or 0 if the site is not in the cache. Rarely it returns
// the number of another site.
func (c *numberCache) number(site frontier.Site) siteNum {
	p := c.places.Load()
	if p == nil {
		return 0
	}
	h := xxh3.HashString(string(site))
	if is := p[h%numberPlaces].Load(); is>>32 == h>>32 {
		return siteNum(is)
	}
	return 0
}

// note adds the number of a site.
func (c *numberCache) note(site frontier.Site, n siteNum) {
	p := c.places.Load()
	if p == nil {
		c.places.CompareAndSwap(nil, new([numberPlaces]atomic.Uint64))
		p = c.places.Load()
	}
	h := xxh3.HashString(string(site))
	p[h%numberPlaces].Store(h&^0xffffffff | uint64(n))
}
