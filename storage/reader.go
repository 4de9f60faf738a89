package storage

import (
	"errors"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A Reader reads the state of a crawl that nobody runs, and changes nothing. Of one
// that was killed it says what is committed. Several may read at once, in any process;
// as long as one does, the crawl cannot be opened to go on. Its methods are safe for
// concurrent use, but for Close, and return ErrClosed after it.
type Reader struct {
	dir   string
	state *state.Reader
}

// OpenReader opens the state of the crawl in dir. The error is an *InUseError if a
// process runs the crawl (bbolt then lets no other process read it), a *NotBegunError, a
// *DamagedError, a *VersionError, a *PurgeError if a purge has begun and not ended, since
// half of what it takes out is then still told, or one of the file system.
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

// openPurging is OpenReader of a crawl that a purge may have left unfinished.
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

// Dir is the directory of the crawl.
func (r *Reader) Dir() string { return r.dir }

// Close lets others run the crawl.
func (r *Reader) Close() error { return r.state.Close() }

// Unclean reports whether the last process that held the crawl did not end by
// itself.
func (r *Reader) Unclean() bool { return r.state.Begun().Unclean }

// LastCommit is when the crawl was last committed, by the clock of then.
func (r *Reader) LastCommit() time.Time { return r.state.Begun().Committed }

// LogMark is how many bytes of crawl.log were on disk when the crawl was last committed, and
// their CRC-32C (RFC 3720, appendix B.4); 0 bytes if the crawl has no log.
func (r *Reader) LogMark() (length int64, sum uint32) {
	m := r.state.Marks()[LogFile]
	return m.Length, m.Sum
}

// Sites calls f for every site that the crawl knows, until f returns an error: that is
// returned. What is called in f must not call a method here.
func (r *Reader) Sites(f func(frontier.SiteState) error) error { return r.state.Sites(f) }

// State is what is known of one site: only the name of one that is not known.
func (r *Reader) State(site frontier.Site) (frontier.SiteState, error) { return r.state.State(site) }

// Common calls f for every clock that is common to several sites, as Sites does.
func (r *Reader) Common(f func(frontier.CommonClock) error) error { return r.state.Common(f) }

// Fate says how the crawl's entry for u ended, as DB.Fate does.
func (r *Reader) Fate(u frontier.URL) (fate frontier.Fate, ok bool, err error) {
	return r.state.Fate(u)
}

// Entry is the crawl's entry for u, as DB.Entry says it.
func (r *Reader) Entry(u frontier.URL) (k Kept, ok bool, err error) { return r.state.Entry(u) }

// Entries are all entries of site, as DB.Entries says them.
func (r *Reader) Entries(site frontier.Site) iter.Seq2[Kept, error] { return r.state.Entries(site) }

// Names are the sites that have entries, as DB.Names says them.
func (r *Reader) Names() iter.Seq2[frontier.Site, error] { return r.state.Names() }

// Ahead is how many entries come before k, as DB.Ahead says it.
func (r *Reader) Ahead(k Kept) (int, error) { return r.state.Ahead(k) }

// Queued are the entries of site that have not ended, as DB.Queued says them.
func (r *Reader) Queued(site frontier.Site) iter.Seq2[frontier.Entry, error] {
	return r.state.Queued(site)
}

// Aside reports whether entries are put aside (frontier.Code.Aside): the next run may queue
// them again.
func (r *Reader) Aside() (bool, error) { return r.state.Aside() }

// Snapshots are all copies of a site's robots.txt, and all tries to get one, in the
// order of their times: which one was in force when.
func (r *Reader) Snapshots(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
	return r.state.Snapshots(site)
}

// Snapshot is the last copy of a site's robots.txt, or try to get one, that was put; nil if
// there is none.
func (r *Reader) Snapshot(site frontier.Site) (*robots.Snapshot, error) {
	return r.state.Snapshot(site)
}

// Get reads what was Put. It reports whether there is anything.
func (r *Reader) Get(key string, value any) (ok bool, err error) { return r.state.Get(key, value) }

// Each calls f with the rest of every key that begins with prefix and that was Put,
// until f returns an error: that is returned.
func (r *Reader) Each(prefix string, f func(rest string) error) error { return r.state.Each(prefix, f) }

// Position is that of the last group, as DB.Position says it.
func (r *Reader) Position() uint64 { return r.state.Position() }
