package fetch

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Bounds of the copies of license documents in memory, together.
const (
	maxLicenseCopies = 4096
	maxLicenseBytes  = 32 << 20
)

// maxLicenseDomains is how many domains are remembered with the requests for licenses that
// were made there. When there are more, all counts begin again.
const maxLicenseDomains = 1 << 16

// licenses are the copies of the license documents that sites name: one for each URL,
// however many sites name it. What is forgotten here stands in the Snapshots.
type licenses struct {
	store  Snapshots
	policy robots.Policy

	mu    sync.Mutex // guards what follows: all visits look here
	known map[string]*list.Element
	used  list.List // of *license, the one that nobody has looked at for the longest at the back
	size  int
	asked map[string]int // by registrable domain: requests for licenses that other sites name
}

func newLicenses(store Snapshots, policy robots.Policy) *licenses {
	return &licenses{store: store, policy: policy, known: map[string]*list.Element{}}
}

// A license is what is known of one document. It is not changed, but for when.
type license struct {
	key     string
	fetched time.Time // when the last attempt ended; zero: there was none
	expires time.Time
	known   bool         // that attempt told what the document says, where it is, or that there is none
	next    frontier.URL // where it redirects
	terms   *robots.RSL  // of the last good copy; nil: there is none, or it was too long
	size    int          // in memory, in bytes, about

	wanted time.Time // since when its site could not be asked for it; zero: it could
	closed time.Time // until then its site is not asked for it: its robots.txt forbids that
}

// at returns what is known of the document at u, of the Snapshots if nobody has asked
// lately.
func (l *licenses) at(u frontier.URL) (license, error) {
	key := u.Key()
	if one, ok := l.look(key); ok {
		return one, nil
	}
	s, err := l.store.License(u)
	if err != nil {
		return license{}, err
	}
	one := l.read(key, u, s)
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.known[key]; e != nil { // somebody was faster, and may have put one since
		return *e.Value.(*license), nil
	}
	l.add(one)
	return *one, nil
}

func (l *licenses) look(key string) (license, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.known[key]
	if e == nil {
		return license{}, false
	}
	l.used.MoveToFront(e)
	return *e.Value.(*license), true
}

// put keeps what came of asking for u. Whoever puts has the right to the site of u.
func (l *licenses) put(u frontier.URL, s *robots.Snapshot) error {
	before, err := l.store.License(u)
	if err != nil {
		return err
	}
	s = s.After(before)
	if err := l.store.PutLicense(u, s); err != nil {
		return err
	}
	one := l.read(u.Key(), u, s)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(one)
	return nil
}

// read reads a copy; nil: there is none.
func (l *licenses) read(key string, u frontier.URL, s *robots.Snapshot) *license {
	one := &license{key: key, size: 512 + len(key)}
	if s == nil {
		return one
	}
	one.fetched, one.expires, one.known = s.Fetched, s.Expires(l.policy), s.Reachable()
	if s.Final != "" {
		if next, err := u.Resolve(s.Final); err == nil {
			one.next, one.expires, one.known = next, s.Fetched.Add(maxMiningAge), true
		}
	}
	if good := s.Good(); good != nil && !good.Cut {
		one.terms = robots.ParseRSL(good.Body)
		one.size += 8 * len(good.Body) // which is what the shortest elements come to
	}
	return one
}

// add requires that mu is held.
func (l *licenses) add(one *license) {
	if e := l.known[one.key]; e != nil {
		l.forget(e)
	}
	l.known[one.key] = l.used.PushFront(one)
	l.size += one.size
	for l.used.Len() > maxLicenseCopies || l.size > maxLicenseBytes && l.used.Len() > 1 {
		l.forget(l.used.Back())
	}
}

// forget requires that mu is held.
func (l *licenses) forget(e *list.Element) {
	one := l.used.Remove(e).(*license)
	l.size -= one.size
	delete(l.known, one.key)
}

// spend counts a request to a site for a license that another site names.
func (l *licenses) spend(site frontier.Site) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil || len(l.asked) == maxLicenseDomains {
		l.asked = map[string]int{}
	}
	l.asked[strings.Clone(site.Domain())]++
}

// spent reports whether no more such requests are made to a site.
func (l *licenses) spent(site frontier.Site) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[site.Domain()] >= maxLicenseRequests
}

// change lets f note something about what is known of u, if that is still in memory.
func (l *licenses) change(u frontier.URL, f func(*license)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.known[u.Key()]; e != nil {
		f(e.Value.(*license))
	}
}
