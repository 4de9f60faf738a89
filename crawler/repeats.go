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

// A Repeat is a body that many pages of a site have. This is often the sign of an endless space of
// URLs.
type Repeat struct {
	Under string // the common prefix of the pages' URLs
	Pages int    // number of pages with this body
}

// A body counts the pages of one site that have equal bodies.
type body struct {
	Repeat
	site     frontier.Site
	first    string // directory of the first page, as the path of its URL
	segments int    // number of segments in the URL path of the first page
	below    int    // number of pages that are deeper in that directory than the first page
}

const (
	// manyRepeats is the minimum number of pages with the same body for which the body counts as a
	// Repeat.
	manyRepeats = 100
	// maxBodies is the maximum number of bodies in each of the two generations of repeats.
	maxBodies = 4096
	// maxWarnings is the maximum number of warnings of one kind that a crawl logs. Later ones are
	// only counted.
	maxWarnings = 20
)

type bodyKey struct {
	site frontier.Site
	sum  uint64
}

// repeats counts the pages of a site that have equal bodies. To save memory it keeps only the
// bodies of recent pages, in two generations: when the younger one is full, the older one is
// dropped and a new one begins. Bodies of at least manyRepeats pages are moved to the new
// generation, until it is half full.
type repeats struct {
	mu         sync.Mutex // guards all fields; every visit with a page locks it once
	young, old map[bodyKey]*body
	warnings   int // number of warnings so far; only the first maxWarnings are logged
}

// count counts the page at u, whose body has the hash sum. It returns the counts of that body, and
// whether to log a warning. A warning is logged at the hundredth page with the body, the
// thousandth, and so on, but at most maxWarnings times in all.
func (r *repeats) count(u frontier.URL, sum uint64) (body, bool) {
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
			r.warnings++
			return *one, r.warnings <= maxWarnings
		}
	}
	return *one, false
}

// below returns the number of pages with the hash sum that are in the directory of the first of
// them and deeper than it. It returns 0 if the body is not remembered.
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

// age drops the older generation and begins a new one.
func (r *repeats) age() {
	r.old = r.young
	r.young = make(map[bodyKey]*body)
	for key, one := range r.old {
		if one.Pages >= manyRepeats && len(r.young) < maxBodies/2 {
			r.young[key] = one
		}
	}
}

// list returns the bodies with at least manyRepeats pages, sorted by descending number of pages.
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

// common returns the longest common prefix of two URLs that ends at one of the characters "/?&=".
// If b begins with a, it returns a.
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
