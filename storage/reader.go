package storage

import (
	"errors"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A Reader reads the state of a crawl that is not running, and changes nothing. If the
// crawl was killed, it reads what was committed. Any number of processes may read at once;
// while one does, the crawl cannot be opened to resume. The methods are safe for concurrent
// use, except Close, and return ErrClosed after it.
type Reader struct {
	dir   string
	state *state.Reader
}

// OpenReader opens the state of the crawl in dir. It fails with an *InUseError if a process
// runs the crawl (bbolt then lets no other process read it), a *NotBegunError, a
// *DamagedError, a *VersionError, a *PurgeError if a purge was interrupted, since half of
// what it removes would still be read, or an error of the file system.
func OpenReader(dir string) (*Reader, error) {
	if err := notRepairing(dir); err != nil {
		return nil, err
	}
	r, err := openPurging(dir)
	if err != nil {
		return nil, err
	}
	if err := notPurging(dir); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// openPurging is like OpenReader, but ignores an interrupted purge.
func openPurging(dir string) (*Reader, error) {
	if err := NotBegun(dir); err != nil {
		return nil, err
	}
	r, err := state.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	return &Reader{dir, r}, nil
}

// Dir returns the directory of the crawl.
func (r *Reader) Dir() string { return r.dir }

// Close releases the crawl: it can be resumed.
func (r *Reader) Close() error { return r.state.Close() }

// Unclean reports whether the last process that held the crawl did not close it.
func (r *Reader) Unclean() bool { return r.state.Begun().Unclean }

// LastCommit returns when the crawl was last committed, by the clock at that time.
func (r *Reader) LastCommit() time.Time { return r.state.Begun().Committed }

// LogMark returns how many bytes of crawl.log were on disk when the crawl was last
// committed, and their CRC-32C (RFC 3720, appendix B.4); 0 bytes if the crawl has no log.
func (r *Reader) LogMark() (length int64, sum uint32) {
	m := r.state.Marks()[LogFile]
	return m.Length, m.Sum
}

// Sites calls f for every site that the crawl knows, until f returns an error, which Sites
// returns. f must not call a method of Reader.
func (r *Reader) Sites(f func(frontier.SiteState) error) error { return r.state.Sites(f) }

// State returns what is known of one site; for an unknown site only its name is set.
func (r *Reader) State(site frontier.Site) (frontier.SiteState, error) { return r.state.State(site) }

// Common calls f for every clock that several sites share, as Sites does.
func (r *Reader) Common(f func(frontier.CommonClock) error) error { return r.state.Common(f) }

// Fate returns how the crawl's entry for u ended, as DB.Fate does.
func (r *Reader) Fate(u frontier.URL) (fate frontier.Fate, ok bool, err error) {
	return r.state.Fate(u)
}

// Entry returns the crawl's entry for u, as DB.Entry does.
func (r *Reader) Entry(u frontier.URL) (k Kept, ok bool, err error) { return r.state.Entry(u) }

// Entries iterates over all entries of site, as DB.Entries does.
func (r *Reader) Entries(site frontier.Site) iter.Seq2[Kept, error] { return r.state.Entries(site) }

// Names iterates over the sites that have entries, as DB.Names does.
func (r *Reader) Names() iter.Seq2[frontier.Site, error] { return r.state.Names() }

// Ahead returns how many entries are fetched before k, as DB.Ahead does.
func (r *Reader) Ahead(k Kept) (int, error) { return r.state.Ahead(k) }

// Queued iterates over the entries of site that have not ended, as DB.Queued does.
func (r *Reader) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return r.state.Queued(site)
}

// Aside reports whether there are entries with a fate for which frontier.Code.Aside is
// true: the next run may queue them again.
func (r *Reader) Aside() (bool, error) { return r.state.Aside() }

// Snapshots iterates over all copies of a site's robots.txt, and over all failed attempts
// to fetch one, in order of time.
func (r *Reader) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return r.state.Snapshots(site)
}

// Snapshot returns the last copy of a site's robots.txt, or failed attempt to fetch one,
// that was put; nil if nothing was put.
func (r *Reader) Snapshot(site frontier.Site) (*robots.Snapshot, error) {
	return r.state.Snapshot(site)
}

// Get reads a value that was Put. It reports whether there is one.
func (r *Reader) Get(key string, value any) (ok bool, err error) { return r.state.Get(key, value) }

// Each calls f for every key that begins with prefix and that was Put, with the part after
// prefix, until f returns an error. It returns that error.
func (r *Reader) Each(prefix string, f func(rest string) error) error { return r.state.Each(prefix, f) }

// Position returns the position of the last group, as DB.Position does.
func (r *Reader) Position() uint64 { return r.state.Position() }
