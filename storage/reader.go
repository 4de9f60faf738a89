package storage

import (
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// A Reader reads the state of a crawl that is not running, and changes nothing. If the crawl
// was killed, it reads what was committed. Any number of processes may read at once. Until
// Close, no process can run the crawl. The methods are safe for concurrent use, except Close;
// after Close they return ErrClosed.
//
// The methods that iterate read a part of the state at a time. They hold no lock while the body
// of the loop runs, so the body may call other methods, also Close. If the state cannot be read,
// the last pair has the error, and a zero value. The values belong to the caller.
type Reader struct{ r *store.Reader }

// OpenReader opens the state of the crawl in dir. It returns an *InUseError if a process runs
// the crawl, because bbolt then lets no other process read the state. It also fails if a purge
// or a repair was interrupted, because the files of the crawl do not agree then.
func OpenReader(dir string) (*Reader, error) {
	r, err := store.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	return &Reader{r}, nil
}

// Close closes the state, so that a process can run the crawl again. A second call returns
// ErrClosed.
func (r *Reader) Close() error { return r.r.Close() }

// Unclean reports whether the last process that held the crawl did not close it, for example
// because it was killed.
func (r *Reader) Unclean() bool { return r.r.Unclean() }

// LastCommit returns when the crawl was last committed, by the wall clock at that time. If the
// result is later than now, the clock was wrong.
func (r *Reader) LastCommit() time.Time { return r.r.LastCommit() }

// Sites iterates over the states of all sites that the crawl knows, in no particular order. It
// holds some hundred states in memory.
func (r *Reader) Sites() iter.Seq2[frontier.SiteState, error] { return r.r.Sites() }

// State returns what is known about one site. If the site is unknown, only its name is set.
func (r *Reader) State(site frontier.Site) (frontier.SiteState, error) { return r.r.State(site) }

// A Kept is an Entry of the crawl with its Fate. Its Number counts the entries of the site from 1,
// in the order in which they were found; 0 means that the entry has no number yet.
type Kept struct {
	frontier.Entry
	Fate   frontier.Fate
	Number int
}

// Entry returns the crawl's entry for u, with its fate: Undecided if the entry is queued, and
// Waiting if it waits for another try. The URL of the entry may be another spelling of u. ok is
// false if no entry for u was ever queued.
func (r *Reader) Entry(u frontier.URL) (k Kept, ok bool, err error) {
	is, ok, err := r.r.Entry(u)
	return Kept(is), ok, err
}

// Entries iterates over all entries of site, ended or not, in the order in which they were
// found. It holds a thousand entries in memory.
func (r *Reader) Entries(site frontier.Site) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		for k, err := range r.r.Entries(site) {
			if !yield(Kept(k), err) {
				return
			}
		}
	}
}

// Queued iterates over the entries of site that have not ended, including those to be fetched
// again (frontier.Entry.Again). First come the entries that wait for no time, by
// frontier.Entry.Rank, then those that wait for the time frontier.Entry.Due. Entries of a crawl
// that was killed may be left out, until it is run again.
func (r *Reader) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return r.r.Queued(site)
}

// Snapshot returns the last snapshot that was stored for a site: a copy of its robots.txt, or a
// failed attempt to fetch it. It returns nil if nothing was stored.
func (r *Reader) Snapshot(site frontier.Site) (*robots.Snapshot, error) { return r.r.Snapshot(site) }

// Snapshots iterates over all copies of a site's robots.txt, and over all failed attempts to
// fetch it, in order of time.
func (r *Reader) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return r.r.Snapshots(site)
}
