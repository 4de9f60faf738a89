package crawler

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Together makes one Options.Same, or Options.Rewrite, of several: each is given what
// the one before has made of a URL, again and again until none makes anything else. The
// zero URL ends it.
func Together(rules ...func(frontier.URL) frontier.URL) func(frontier.URL) frontier.URL {
	return func(u frontier.URL) frontier.URL {
		for range mostRounds {
			before := u
			for _, rule := range rules {
				if u = rule(u); u.IsZero() {
					return u
				}
			}
			if u == before {
				break
			}
		}
		return u
	}
}

// mostRounds bounds rules that never agree.
const mostRounds = 16

// SortQuery is an Options.Same, or a Rewrite, that sorts the parameters of a query by
// their names. Those of one name stay in their order. It is safe for concurrent use.
func SortQuery(u frontier.URL) frontier.URL {
	path, query, _ := strings.Cut(u.Target(), "?")
	if strings.IndexByte(query, '&') < 0 {
		return u
	}
	byName := func(a, b string) int {
		a, _, _ = strings.Cut(a, "=")
		b, _, _ = strings.Cut(b, "=")
		return strings.Compare(a, b)
	}
	pairs := strings.Split(query, "&")
	if slices.IsSortedFunc(pairs, byName) {
		return u
	}
	slices.SortStableFunc(pairs, byName)
	return within(u, path+"?"+strings.Join(pairs, "&"))
}

// indexPages are the names, in lower case, under which servers have the page of a
// directory.
var indexPages = map[string]bool{
	"index.html": true, "index.htm": true, "index.xhtml": true, "index.shtml": true, "index.php": true, "index.asp": true,
	"index.aspx": true, "index.jsp": true, "index.cgi": true, "default.html": true, "default.htm": true, "default.asp": true, "default.aspx": true,
}

// StripIndex is an Options.Same, or a Rewrite, that takes the name of an index page
// (index.html, index.php, default.asp ..., in upper case, too) off the end of a path. The
// query stays. It is safe for concurrent use.
func StripIndex(u frontier.URL) frontier.URL {
	target := u.Target()
	end := strings.IndexByte(target, '?')
	if end < 0 {
		end = len(target)
	}
	begin := strings.LastIndexByte(target[:end], '/') + 1
	if end-begin > len("default.aspx") || !indexPages[strings.ToLower(target[begin:end])] {
		return u
	}
	return within(u, target[:begin]+target[end:])
}

// within is the URL of another target on the site of u; u itself if it is none.
func within(u frontier.URL, target string) frontier.URL {
	if v, err := frontier.ParseURL(string(u.Site()) + target); err == nil {
		return v
	}
	return u
}

// same is Entry.Same of u: what Options.Same and the Clean-param lines of its site make
// of it, zero where that is nothing else. URLs whose keys are equal have equal ones.
func (o *Options) same(u frontier.URL, clean *robots.Cleaner) frontier.URL {
	if o.Same == nil && clean == nil {
		return frontier.URL{}
	}
	key := u.Key()
	v := u
	if key != u.String() {
		if normal, err := frontier.ParseURL(key); err == nil {
			v = normal
		}
	}
	if clean != nil {
		if target := clean.Clean(v.Target()); target != v.Target() {
			v = within(v, target)
		}
	}
	if o.Same != nil {
		v = o.Same(v)
	}
	if v.Site() != u.Site() || v.Key() == key {
		return frontier.URL{}
	}
	return v
}

// SameAs is the URL by which the crawl knows the page of u, as far as Same says so: what
// storage.Reader.Fate is to be asked about; u itself where it is taken for no other.
func (o *Options) SameAs(u frontier.URL) frontier.URL {
	if v := o.same(u, nil); !v.IsZero() {
		return v
	}
	return u
}

// sameSeeds says what pages seeds are taken for. The error is an *OptionError.
func (o *Options) sameSeeds(seeds []frontier.Entry) error {
	for i := range seeds {
		e := &seeds[i]
		if err := safely("Same", func() { e.Same = o.same(e.URL, nil) }); err != nil {
			return &OptionError{Field: "Same", Reason: err.Error(), Err: err}
		}
	}
	return nil
}

// cleaner is what the robots.txt by which a page was judged says about parameters; nil
// where nobody asks.
func (j *Job) cleaner(s *robots.Snapshot) *robots.Cleaner {
	if !j.opts.CleanParam || s == nil {
		return nil
	}
	return s.File(j.opts.Dialect).Cleaner()
}

// samePage says what page e is taken for, which was found on the page of s. It is false
// where that is the page itself. But what a page redirects to must be asked for, or the
// page would be lost: such an entry is kept apart. Of two URLs that redirect to each
// other none is asked for again.
func (s *sorting) samePage(e *frontier.Entry) bool {
	o, p := &s.job.opts, s.page
	clean := p.clean
	if e.URL.Site() != p.URL.Site() {
		clean = nil // there is no copy at hand of what its site says
	}
	e.Same, e.Apart = o.same(e.URL, clean), false
	if s.by != frontier.HopRedirect {
		return s.own == "" || e.Key() != s.own
	}
	if key := e.Key(); key == p.Entry.Key() || key == s.own {
		e.Same, e.Apart = frontier.URL{}, true
		return p.Entry.Redirects() == 0 || e.URL.String() != p.Entry.Via
	}
	return true
}

// ownKey is the key that the page would get now; empty where all keys are those of URLs.
func (o *Options) ownKey(p *Page) string {
	if o.Same == nil && p.clean == nil {
		return ""
	}
	e := frontier.Entry{URL: p.URL, Same: o.same(p.URL, p.clean)}
	return e.Key()
}
