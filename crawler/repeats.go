package crawler

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
)

// A Repeat is a body that many pages of a site have: often one of a space of
// URLs without an end.
type Repeat struct {
	Under string // what the URLs of these pages have in common
	Pages int
}

// A body is one that pages of a site have.
type body struct {
	Repeat
	site     frontier.Site
	first    string // the directory of the first of them
	segments int    // of the first one's path
	below    int    // pages that lie deeper in that directory
}

const (
	// manyRepeats is from how many pages on a repeat is one.
	manyRepeats = 100
	// maxBodies is how many bodies are remembered, twice.
	maxBodies = 4096
	// maxWarnings is how often a crawl warns of one kind of thing: it is counted
	// all the same.
	maxWarnings = 20
	// maxUnder is how much of a URL is.
	maxUnder = 256
)

type bodyKey struct {
	site frontier.Site
	sum  uint64
}

// bodySum tells the body of a page from others. It is that of the digest where there is one
// anyway: a SHA-1 takes far longer than this. Who writes pages does not know the seed, by
// which alone it could be aimed at bodies that have one sum.
func (j *Job) bodySum(p *Page) uint64 {
	if j.digests {
		return xxh3.HashStringSeed(p.digest(), j.sumSeed)
	}
	return xxh3.HashSeed(p.Body, j.sumSeed)
}

// repeats count the pages of a site that have one body, of those bodies that
// were seen lately: in two generations, of which the older is forgotten when the
// younger is full. What is a repeat is not forgotten.
type repeats struct {
	mu         sync.Mutex // guards all: every visit with a page looks here once
	young, old map[bodyKey]*body
	said       int // warnings so far, which are not to fill the log
}

// see counts a page. It reports whether it is time to say something: at the
// hundredth, the thousandth, ..., and not too often in all.
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
	one.Under = common(one.Under, short(u.String()))
	for n := manyRepeats; n <= one.Pages; n *= 10 {
		if n == one.Pages {
			r.said++
			return *one, r.said <= maxWarnings
		}
	}
	return *one, false
}

// below is what see has counted below the first page of a body.
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
	text := u.String() // a part of it, which is not to keep the whole
	text = strings.Clone(text[:min(len(text), site+maxUnder)])
	return &body{
		Repeat: Repeat{Under: short(text)}, site: frontier.Site(text[:site]),
		first: text[site : site+strings.LastIndexByte(path, '/')+1], segments: segments,
	}
}

func pathOf(u frontier.URL) (path string, segments int) {
	path, _, _ = strings.Cut(short(u.Target()), "?")
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

// list are the repeats, the most first.
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

func short(url string) string { return url[:min(len(url), maxUnder)] }

// common is the beginning that two URLs have in common, up to a place where
// something ends.
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
