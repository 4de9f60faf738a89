package crawler

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
)

// A Repeat is a body that many pages of a site have. This is often a sign of an endless space
// of URLs.
type Repeat struct {
	Under string // the common prefix of the URLs of the pages
	Pages int    // number of pages with the body
}

// A body counts the pages of one site that have the same body.
type body struct {
	Repeat
	site     frontier.Site
	first    string // the directory of the first page
	segments int    // number of segments in the path of the first page
	below    int    // number of pages that are deeper in that directory than the first page
}

const (
	// manyRepeats is the least number of pages with the same body for which the body is a
	// Repeat.
	manyRepeats = 100
	// maxBodies is the most bodies in each of the two generations that repeats has.
	maxBodies = 4096
	// maxWarnings is the most warnings of one kind that a crawl logs. Further cases are only
	// counted.
	maxWarnings = 20
)

type bodyKey struct {
	site frontier.Site
	sum  uint64
}

// repeats counts the pages of a site that have the same body. It has the bodies that were seen
// recently, in two generations: when the younger one is full, the older one is dropped and a
// new one begins. Bodies that manyRepeats pages or more have are not forgotten: they are put
// into the new generation, until it is half full.
type repeats struct {
	mu         sync.Mutex // guards all fields: every visit with a page takes it once
	young, old map[bodyKey]*body
	said       int // number of warnings; only maxWarnings of them are logged
}

// see counts a page, and returns the counts of its body and whether to log a warning. A warning
// is logged at the hundredth page with the body, the thousandth, and so on, but not more than
// maxWarnings times in all.
func (r *repeats) see(u frontier.URL, sum uint64) (body, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := bodyKey{u.Site(), sum}
	one := r.young[key]
	if one == nil {
		if len(r.young) >= maxBodies || r.young == nil {
			r.age()
		}
		if one = r.old[key]; one == nil {
			one = newBody(u)
		}
		key.site = one.site
		r.young[key] = one
	}
	one.Pages++
	if path, segments := pathOf(u); segments > one.segments && strings.HasPrefix(path, one.first) {
		one.below++
	}
	one.Under = common(one.Under, admit.Short(u.String()))
	for n := manyRepeats; n <= one.Pages; n *= 10 {
		if n == one.Pages {
			r.said++
			return *one, r.said <= maxWarnings
		}
	}
	return *one, false
}

// below returns how many pages that have the body with the hash sum are below the directory of
// the first such page, as counted by see.
func (r *repeats) below(u frontier.URL, sum uint64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := bodyKey{u.Site(), sum}
	if one := cmp.Or(r.young[key], r.old[key]); one != nil {
		return one.below
	}
	return 0
}

func newBody(u frontier.URL) *body {
	path, segments := pathOf(u)
	site := len(u.Site())
	text := u.String() // cloned, because a substring would keep the whole URL in memory
	text = strings.Clone(text[:min(len(text), site+admit.MaxShort)])
	return &body{
		Repeat: Repeat{Under: admit.Short(text)}, site: frontier.Site(text[:site]),
		first: text[site : site+strings.LastIndexByte(path, '/')+1], segments: segments,
	}
}

func pathOf(u frontier.URL) (path string, segments int) {
	path, _, _ = strings.Cut(admit.Short(u.Target()), "?")
	return path, strings.Count(path, "/")
}

// age begins a new generation.
func (r *repeats) age() {
	r.old = r.young
	r.young = make(map[bodyKey]*body)
	for key, one := range r.old {
		if one.Pages >= manyRepeats && len(r.young) < maxBodies/2 {
			r.young[key] = one
		}
	}
}

// list returns the bodies that many pages have, those with the most pages first.
func (r *repeats) list() []Repeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(r.old)
	if all == nil {
		all = map[bodyKey]*body{}
	}
	maps.Copy(all, r.young)
	var many []Repeat
	for _, one := range all {
		if one.Pages >= manyRepeats {
			many = append(many, one.Repeat)
		}
	}
	slices.SortFunc(many, func(a, b Repeat) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Under, b.Under))
	})
	return many
}

// common returns the longest prefix that two URLs share and that ends at a delimiter.
func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) {
		return a
	}
	return a[:strings.LastIndexAny(a[:n], "/?&=")+1]
}
