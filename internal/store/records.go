package store

import (
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
)

// Records reads URLs, sites and values from the state of a crawl. The Records of a DB read the
// state as of the last commit. Records change nothing. The methods are safe for concurrent use,
// and return ErrClosed after the DB or the Reader is closed.
//
// The methods that iterate read a part of the state at a time. They hold no lock while the body
// of the loop runs, so the body may call other methods, also Close. If the state cannot be read,
// the last pair has the error, and a zero value. The values belong to the caller.
type Records struct {
	dir    string
	from   state.Records
	equals equals
}

// Dir returns the directory of the crawl.
func (r *Records) Dir() string { return r.dir }

// Unclean reports whether the last process that held the crawl did not close it, for example
// because it was killed.
func (r *Records) Unclean() bool { return r.from.Begun().Unclean }

// Live reports whether nodes of a crawl on several nodes ran it when the Records were opened.
func (r *Records) Live() bool { return r.from.Begun().Live }

// LastCommit returns when the crawl was last committed before it was opened, by the wall clock
// at that time. If the result is later than now, the clock was wrong.
func (r *Records) LastCommit() time.Time { return r.from.Begun().Committed }

// Sites iterates over the states of all sites that the crawl knows, in no particular order. It
// holds some hundred states in memory. If the crawl runs during the iteration, each state is
// as it was when Sites read it.
func (r *Records) Sites() iter.Seq2[frontier.SiteState, error] { return r.from.Sites() }

// State returns what is known about one site. If the site is unknown, only its name is set.
func (r *Records) State(site frontier.Site) (frontier.SiteState, error) { return r.from.State(site) }

// Common iterates over the clocks that several sites share, in no particular order. It holds
// some hundred clocks in memory. If the crawl runs during the iteration, clocks that are
// added meanwhile may be left out.
func (r *Records) Common() iter.Seq2[frontier.CommonClock, error] { return r.from.Common() }

// Fate returns how the crawl's entry for u, as Entry finds it, ended. The fate is Undecided if the
// entry is queued, and Waiting if it waits for another try. ok is false if u was never queued.
func (r *Records) Fate(u frontier.URL) (fate frontier.Fate, ok bool, err error) {
	k, ok, err := r.entry(u)
	return k.Fate, ok, err
}

// Known reports whether an entry with the key of e (frontier.Entry.Key) was ever queued.
// Submitted entries are found only after they are committed.
func (r *Records) Known(e *frontier.Entry) (ok bool, err error) {
	_, ok, err = r.from.Entry(e.URL.Site(), e.Key())
	return ok, err
}

// A Kept is an Entry of the crawl with its Fate. Its Number counts the entries of the site from 1,
// in the order in which they were found; 0 means that the entry has no number yet.
type Kept = state.Kept

// Entry returns the crawl's entry for u. The URL of the entry may be another spelling of u, or
// another URL that counts as the same page by the settings of the last run. ok is false if no
// entry for u was ever queued. Submitted entries are found only after they are committed.
func (r *Records) Entry(u frontier.URL) (k Kept, ok bool, err error) {
	if k, ok, err = r.entry(u); ok && err == nil {
		err = r.retagKept(&k)
	}
	return k, ok, err
}

// entry returns the entry for u, as Entry does, but with the tag with which it was queued.
func (r *Records) entry(u frontier.URL) (k Kept, ok bool, err error) {
	apart := frontier.Entry{URL: u, Apart: true}
	k, ok, err = r.from.Entry(u.Site(), apart.Key(), u.Key())
	if ok && k.Apart && k.URL != u { // the target of a redirect, which is another spelling of u
		if own, known, err := r.from.Entry(u.Site(), u.Key()); known || err != nil {
			return own, known, err
		}
	}
	if ok || err != nil {
		return k, ok, err
	}
	keys, err := r.equals.keys(r.from, u)
	if len(keys) == 0 || err != nil {
		return k, false, err
	}
	return r.from.Entry(u.Site(), keys...)
}

// Entries iterates over all entries of site, ended or not, in the order in which they were
// found. It holds a thousand entries in memory. If the crawl runs during the iteration, each
// entry is as it was when Entries read it.
func (r *Records) Entries(site frontier.Site) iter.Seq2[Kept, error] {
	return r.retagged(r.from.Entries(site))
}

// Names iterates over the sites that have entries, in byte order.
func (r *Records) Names() iter.Seq2[frontier.Site, error] { return r.from.Names() }

// Ahead returns how many entries of the same site are fetched before k, or 100,000 if there
// are more. The fate of k must be frontier.Undecided: k is queued, and does not wait for
// another try. Entries that are not yet in their final place in the state file are not counted.
func (r *Records) Ahead(k Kept) (int, error) { return r.from.Ahead(k) }

// Queued iterates over the entries of site that have not ended, including those handed out and
// those to be fetched again (frontier.Entry.Again). First come the entries that wait for no
// time, by frontier.Entry.Rank, then those that wait for the time frontier.Entry.Due. Entries
// that were submitted and are not yet in their final place in the state file are left out.
func (r *Records) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return r.from.Queued(site)
}

// Snapshot returns the last snapshot that was stored for a site: a copy of its robots.txt, or a
// failed attempt to fetch it. It returns nil if nothing was stored.
func (r *Records) Snapshot(site frontier.Site) (*robots.Snapshot, error) {
	return r.from.Snapshot(site)
}

// Snapshots iterates over all copies of a site's robots.txt, and over all failed attempts to
// fetch it, in order of time. Snapshots that are not committed yet are left out.
func (r *Records) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return r.from.Snapshots(site)
}

// Get reads into value what DB.Put has stored under key. If nothing is stored under key, ok is
// false. The Records of a DB also find a value that is not committed yet.
func (r *Records) Get(key string, value any) (ok bool, err error) { return r.from.Get(key, value) }

// Keys iterates over the keys that begin with prefix and under which DB.Put has stored a value,
// if that value is committed, in byte order. It yields the part of each key after prefix. It
// holds some hundred keys in memory. If the crawl runs during the iteration, keys that are
// added meanwhile may be left out.
func (r *Records) Keys(prefix string) iter.Seq2[string, error] { return r.from.Keys(prefix) }
