package crawler

import (
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/places"
)

// A Scope decides which URLs belong to a crawl. URLs that robots.txt forbids are not requested,
// even if they are in scope. A Scope must be safe for concurrent use. Its methods must not call
// Crawler.Add or Crawler.Seed, because such a call could wait for the end of the run while the run
// waits for the call.
//
// Each crawl needs a scope of its own. If a scope has a method Clone() Scope, like the scopes of
// this package, New uses a copy and does not change the original.
type Scope interface {
	// Admit adds root to the scope. It is called for each seed, and for each URL at which a chain
	// of redirects from a seed ends.
	Admit(root frontier.URL)
	// Contains reports whether e belongs to the crawl.
	Contains(e frontier.Entry) bool
}

// A ScopeFunc is a function that serves as a Scope. It does not get the seeds.
type ScopeFunc func(e frontier.Entry) bool

// Admit implements Scope. It does nothing.
func (ScopeFunc) Admit(frontier.URL) {}

// Contains implements Scope. It calls f.
func (f ScopeFunc) Contains(e frontier.Entry) bool { return f(e) }

// SameHost returns the scope of all URLs on the hosts of the seeds, with any scheme and port.
func SameHost() Scope { return newKeyed("host", frontier.URL.Host) }

// SameDomain returns the scope of all URLs under the registrable domains of the seeds. A
// registrable domain, such as example.co.uk, is determined by the Public Suffix List.
func SameDomain() Scope {
	return newKeyed("domain", func(u frontier.URL) string { return u.Site().Domain() })
}

// SeedsOnly returns the scope of the seeds themselves.
func SeedsOnly() Scope { return newKeyed(listName, frontier.URL.Key) }

const listName = "list"

// isList reports whether s contains only seeds.
func isList(s Scope) bool {
	switch s := s.(type) {
	case *keyed:
		return s.name == listName
	case both:
		return isList(s.a) || isList(s.b)
	}
	return false
}

// Anywhere returns the scope of all URLs. Limit such a crawl, for example with Options.Depth or
// Options.Limit.
func Anywhere() Scope { return anywhere{} }

type anywhere struct{}

func (anywhere) String() string                 { return "any" }
func (anywhere) Admit(frontier.URL)             {}
func (anywhere) Contains(_ frontier.Entry) bool { return true }

// SamePrefix returns the scope of all URLs that begin with a seed's URL up to its last slash.
func SamePrefix() Scope { return &prefixes{} }

// Both returns the intersection of a and b. Its Admit adds a root to both a and b.
func Both(a, b Scope) Scope { return both{a, b} }

type both struct{ a, b Scope }

func (s both) String() string { return scopeName(s.a) + " and " + scopeName(s.b) }

func (s both) Clone() Scope { return both{cloned(s.a), cloned(s.b)} }

func (s both) Admit(root frontier.URL) {
	s.a.Admit(root)
	s.b.Admit(root)
}

func (s both) Contains(e frontier.Entry) bool { return s.a.Contains(e) && s.b.Contains(e) }

// isOurs reports whether s was returned by a function of this package. Such scopes have a text form
// for settings.
func isOurs(s Scope) bool {
	switch s := s.(type) {
	case anywhere, *keyed, *prefixes:
		return true
	case both:
		return isOurs(s.a) && isOurs(s.b)
	}
	return false
}

// scopeBySite reports whether s contains either all or none of the URLs of each site.
func scopeBySite(s Scope) bool {
	switch s := s.(type) {
	case anywhere:
		return true
	case *keyed:
		return s.name != listName
	case both:
		return scopeBySite(s.a) && scopeBySite(s.b)
	}
	return false
}

// cloned returns a copy of s for one crawl, or s itself if it has no method Clone.
func cloned(s Scope) Scope {
	if c, ok := s.(interface{ Clone() Scope }); ok {
		return c.Clone()
	}
	return s
}

// A keyed is the scope of the URLs that have the same key as a root. The key is the host, the
// registrable domain or the whole URL.
type keyed struct {
	name string
	key  func(frontier.URL) string

	// mu guards keys, because Admit may be called for the redirect of a seed while visits call
	// Contains.
	mu   sync.RWMutex
	keys map[string]bool
}

func newKeyed(name string, key func(frontier.URL) string) *keyed {
	return &keyed{name: name, key: key, keys: map[string]bool{}}
}

func (k *keyed) String() string { return k.name }

func (k *keyed) Clone() Scope {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return &keyed{name: k.name, key: k.key, keys: maps.Clone(k.keys)}
}

func (k *keyed) Admit(root frontier.URL) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys[k.key(root)] = true
}

func (k *keyed) Contains(e frontier.Entry) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.keys[k.key(e.URL)]
}

// A prefixes is the scope of the URLs in the directory of a root, and below it.
type prefixes struct {
	mu  sync.RWMutex // guards all, like the lock in keyed
	all map[string]bool
}

func (p *prefixes) String() string { return "prefix" }

func (p *prefixes) Clone() Scope {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return &prefixes{all: maps.Clone(p.all)}
}

// prefixOf returns the URL up to the last slash of its path.
func prefixOf(u frontier.URL) string {
	key, _, _ := strings.Cut(u.Key(), "?")
	return key[:strings.LastIndexByte(key, '/')+1]
}

func (p *prefixes) Admit(root frontier.URL) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]bool{}
	}
	p.all[prefixOf(root)] = true
}

func (p *prefixes) Contains(e frontier.Entry) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	least := len(e.URL.Site()) + 1
	for s := prefixOf(e.URL); len(s) >= least; s = s[:strings.LastIndexByte(s[:len(s)-1], '/')+1] {
		if p.all[s] {
			return true
		}
	}
	return false
}

// An OptOutList lists hosts and URLs to which the crawl must send no request, not even for
// robots.txt. The operator of the crawl writes it. It is constant, and safe for concurrent use. The
// zero value is empty.
type OptOutList struct{ places places.List }

// ReadOptOutList reads an opt-out list. Each line has a host or a URL. A host, such as example.org,
// includes all its subdomains, and every scheme and port. A URL, such as https://example.org/~joe/,
// includes all URLs of its site that begin with it. A # at the beginning of a line or after a blank
// begins a comment.
//
// The error lists each invalid line, with the given name and the number of the line. Invalid lines
// are errors, because otherwise the hosts and URLs on them would get requests.
func ReadOptOutList(r io.Reader, name string) (*OptOutList, error) {
	l, err := places.Read(r, name)
	if err != nil {
		return nil, err
	}
	return &OptOutList{*l}, nil
}

// Why returns the line of the list that forbids a request for u, with the name of the list and the
// number of the line. It returns "" if u is not on the list. Why can be used as Options.OptOut.
func (l *OptOutList) Why(u frontier.URL) string { return l.places.Why(u) }

func scopeName(s Scope) string {
	if s == nil {
		s = SameHost()
	}
	if named, ok := s.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s)
}
