package storage

import (
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// A Reader reads the state of a crawl that is not running, and changes nothing. If the crawl was
// killed, it reads the committed state. Any number of processes may read at the same time, but no
// process can run the crawl until all of them have called Close. The methods are safe for
// concurrent use, except Close. After Close they return ErrClosed.
//
// The methods that iterate read a part of the state at a time. They hold no lock while the body of
// the loop runs, so the body may call other methods, even Close. If the state cannot be read, the
// last pair has the error and a zero value. The caller may keep and change the values.
type Reader struct{ r *store.Reader }

// OpenReader opens the state of the crawl in dir. It returns an *InUseError if a process runs the
// crawl, because bbolt then lets no other process read the state. It also fails if a purge or
// a repair was interrupted, because the files of the crawl do not agree then.
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
// result is in the future, the clock was wrong.
func (r *Reader) LastCommit() time.Time { return r.r.LastCommit() }

// Sites iterates over the states of all sites that the crawl knows, in no particular order. It
// holds a few hundred states in memory.
func (r *Reader) Sites() iter.Seq2[frontier.SiteState, error] { return r.r.Sites() }

// State returns what is known about one site. If the site is unknown, only its name is set.
func (r *Reader) State(site frontier.Site) (frontier.SiteState, error) { return r.r.State(site) }

// A Kept is an Entry of the crawl with its Fate. Its Number is 1 for the first entry that was
// found on the site, 2 for the second, and so on. 0 means that the entry has no number yet.
type Kept struct {
	frontier.Entry
	Fate   frontier.Fate
	Number int
}

// Entry returns the crawl's entry for u, with its fate: Undecided if the entry is queued, and
// Waiting if it waits for another try. The URL of the entry may be another spelling of u, or
// another URL that the last run counted as the same page, by its setting "same" or by a Clean-param
// line of robots.txt. If Options.Same was a function without such a setting, Entry must be called
// with the result of that function. ok is false if no entry for u was ever queued.
func (r *Reader) Entry(u frontier.URL) (k Kept, ok bool, err error) {
	is, ok, err := r.r.Entry(u)
	return Kept(is), ok, err
}

// Entries iterates over all entries of site, ended or not, in the order in which they were found.
// It holds up to a thousand entries in memory.
func (r *Reader) Entries(site frontier.Site) iter.Seq2[Kept, error] {
	return func(yield func(Kept, error) bool) {
		for k, err := range r.r.Entries(site) {
			if !yield(Kept(k), err) {
				return
			}
		}
	}
}

// Queued iterates over the entries of site that have not ended, including entries that will be
// fetched again (frontier.Entry.Again). Entries without a Due come first, by frontier.Entry.Rank.
// Then come entries with a frontier.Entry.Due, the earliest first.
func (r *Reader) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return r.r.Queued(site)
}

// Snapshot returns the last snapshot that was stored for a site: a copy of its robots.txt, or a
// failed attempt to fetch it. It returns nil if none exists.
func (r *Reader) Snapshot(site frontier.Site) (*robots.Snapshot, error) { return r.r.Snapshot(site) }

// Snapshots iterates over all copies of a site's robots.txt, and over all failed attempts to
// fetch it, in order of time.
func (r *Reader) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return r.r.Snapshots(site)
}
