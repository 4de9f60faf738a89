package fetch

import (
	"container/list"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Limits of all license documents in memory together: their number, and their bytes.
const (
	maxLicenseCopies = 4096
	maxLicenseBytes  = 32 << 20
)

// maxLicenseDomains is the largest number of registrable domains for which requests for
// licenses are counted. If there are more domains, all counts restart at 0.
const maxLicenseDomains = 1 << 16

// licenses keeps in memory the license documents that sites name. A document that several sites
// name is kept once. Documents that are dropped here are still in the Snapshots.
type licenses struct {
	store  Snapshots
	policy robots.Policy

	mu    sync.Mutex // guards the fields below, which all visits use
	known map[string]*list.Element
	used  list.List // elements are *license; the longest unused is at the back
	size  int
	asked map[string]int // number of requests for licenses that other sites name, by registrable domain of the requested site
}

func newLicenses(store Snapshots, policy robots.Policy) *licenses {
	return &licenses{store: store, policy: policy, known: map[string]*list.Element{}}
}

// A license is the state of one license document. After add has stored it, only the fields wanted
// and closed change.
type license struct {
	key     string
	fetched time.Time // end of the last request for it; zero if there was none
	expires time.Time
	known   bool         // the last request fetched the document or a redirect, or showed that there is no document
	next    frontier.URL // target of the redirect; zero if there is no redirect
	terms   *robots.RSL  // terms of the last fetched document; nil if none was fetched, or if it was too long
	size    int          // approximate size in memory, in bytes

	wanted time.Time // since when the document could not be requested from its site; otherwise zero
	closed time.Time // until when the document is not requested, because the robots.txt of its site forbids it
}

// at returns the state of the license document at u. If it is not in memory, at loads it from
// the Snapshots.
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
	if e := l.known[key]; e != nil { // another visit has loaded it meanwhile, and may have stored a newer document
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

// put stores s, the result of a request for u, in the Snapshots and in memory. The caller must
// have a turn of the site of u.
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

// read returns the state of the license document at u that follows from s, its last snapshot. s
// may be nil.
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
		one.size += 8 * len(good.Body) // an estimate for a document that consists of the shortest elements
	}
	return one
}

// add adds one. If there are too many licenses, or if they are too large, it drops the longest
// unused ones. The caller must hold mu.
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

// forget drops the license of e. The caller must hold mu.
func (l *licenses) forget(e *list.Element) {
	one := l.used.Remove(e).(*license)
	l.size -= one.size
	delete(l.known, one.key)
}

// spend counts a request to site for a license that another site names.
func (l *licenses) spend(site frontier.Site) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil || len(l.asked) == maxLicenseDomains {
		l.asked = map[string]int{}
	}
	l.asked[strings.Clone(site.Domain())]++
}

// spent reports whether spend has counted maxLicenseRequests for the domain of site. No more of
// these requests are then made.
func (l *licenses) spent(site frontier.Site) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[site.Domain()] >= maxLicenseRequests
}

// change calls f with the state of the license document at u, if the document is in memory.
func (l *licenses) change(u frontier.URL, f func(*license)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.known[u.Key()]; e != nil {
		f(e.Value.(*license))
	}
}
