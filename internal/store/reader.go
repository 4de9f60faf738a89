package store

import (
	"errors"

	"github.com/permesso-crawler/permesso/internal/state"
)

// A Reader reads the state of a crawl that is not running, and changes nothing. If the crawl
// was killed, it reads what was committed. Any number of processes may read at once. Until
// Close, no process can run the crawl. The methods are safe for concurrent use, except Close;
// after Close they return ErrClosed.
type Reader struct {
	Records

	state state.Reading
}

// OpenReader opens the state of the crawl in dir. It returns an *InUseError if a process runs
// the crawl, because bbolt then lets no other process read the state. It returns a *PurgeError
// if a purge was interrupted, because a part of what it removes is still there, and a
// *RepairError if a repair was interrupted. Other errors are a *NotBegunError, a *DamagedError,
// a *VersionError, or an error of the file system.
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

// openPurging is like OpenReader, but ignores an interrupted purge or repair.
func openPurging(dir string) (*Reader, error) {
	if err := NotBegun(dir); err != nil {
		return nil, err
	}
	r, err := state.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	return &Reader{Records{dir: dir, from: r}, r}, nil
}

// OpenState opens the state of a crawl of several nodes, while nodes run or not. dir is the
// directory of one of the nodes, or "". Until Close the Reader has connections to the database.
func OpenState(s State, dir string) (*Reader, error) {
	r, err := s.OpenRecords(dir)
	if err != nil {
		return nil, err
	}
	return &Reader{Records{dir: dir, from: r}, r}, nil
}

// Close closes the state, so that a process can run the crawl again. A second call returns
// ErrClosed.
func (r *Reader) Close() error { return r.state.Close() }

// LogMark returns how many bytes of crawl.log were on disk at the last commit, and the CRC-32C
// of these bytes (RFC 3720, appendix B.4). It returns 0 bytes if the crawl has no log.
func (r *Reader) LogMark() (length int64, sum uint32) {
	m := r.state.Marks()[LogFile]
	return m.Length, m.Sum
}

// Aside reports whether any entries were put aside (frontier.Code.Aside). A later run may queue
// such entries again.
func (r *Reader) Aside() (bool, error) { return r.state.Aside() }
