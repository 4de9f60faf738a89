package storage

import (
	"errors"

	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A Reader reads the state of a crawl that is not running, and changes nothing. If the
// crawl was killed, it reads what was committed. Any number of processes may read at once;
// while one does, the crawl cannot be opened to resume. The methods are safe for concurrent
// use, except Close, and return ErrClosed after it.
type Reader struct {
	Records

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
	return &Reader{Records{dir, r}, r}, nil
}

// Close releases the crawl: it can be resumed.
func (r *Reader) Close() error { return r.state.Close() }

// LogMark returns how many bytes of crawl.log were on disk when the crawl was last
// committed, and their CRC-32C (RFC 3720, appendix B.4); 0 bytes if the crawl has no log.
func (r *Reader) LogMark() (length int64, sum uint32) {
	m := r.state.Marks()[LogFile]
	return m.Length, m.Sum
}

// Aside reports whether there are entries with a fate for which frontier.Code.Aside is
// true: the next run may queue them again.
func (r *Reader) Aside() (bool, error) { return r.state.Aside() }

// Position returns the position of the last group, as DB.Position does.
func (r *Reader) Position() uint64 { return r.state.Position() }
