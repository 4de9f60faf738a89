package store

import (
	"fmt"

	"github.com/permesso-crawler/permesso/internal/state"
)

// ErrClosed is returned by methods of a DB that was closed.
var ErrClosed = state.ErrClosed

// An InUseError says that another process holds the state of the crawl in Dir. Run
// describes that process; it is nil if that is not known.
type InUseError = state.InUseError

// A DamagedError says that the file of a crawl at Path does not have the contents that the
// crawl has written. It unwraps to Err, the cause. The call that returns it has changed nothing.
type DamagedError = state.DamagedError

// A VersionError says that this version cannot read the state file at Path: the file has layout
// Have, and this version reads layout Can.
type VersionError = state.VersionError

// A NotBegunError says that the crawl in Dir has not begun: the run that made the directory was
// killed, or found the disk full, before its first request. The directory has nothing to read,
// and nothing is lost; Open begins the crawl. The error matches ErrNoCrawl (errors.Is).
type NotBegunError struct{ Dir string }

func (e *NotBegunError) Error() string {
	return fmt.Sprintf("the crawl in %s has not begun: its run ended before the first request, and nothing is lost", e.Dir)
}

// Is reports whether target is ErrNoCrawl.
func (e *NotBegunError) Is(target error) bool { return target == ErrNoCrawl }

// DiskFull reports whether err means that there is no more room: on the disk, within the
// quota of the user, or within the size that a file may have. A commit that failed with
// such an error is not on disk.
func DiskFull(err error) bool { return state.DiskFull(err) }
