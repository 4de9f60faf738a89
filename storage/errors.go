package storage

import (
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
)

// ErrNoCrawl says that there is nothing to read: no crawl was begun.
var ErrNoCrawl = store.ErrNoCrawl

// ErrClosed is returned by methods of a Reader that was closed.
var ErrClosed = store.ErrClosed

// An InUseError says that another process holds the state of the crawl in Dir. Run
// describes that process; it is nil if that is not known.
type InUseError = store.InUseError

// A Run describes the process that holds a crawl: its process number PID, when it has Started,
// and the path of its control socket, Control, if the socket is not in the directory of the
// crawl. If the process has ended without closing the crawl, Full says whether the disk was
// full.
type Run = state.Run

// A DamagedError says that the file of a crawl at Path does not have the contents that the
// crawl has written. It unwraps to Err, the cause. The call that returns it has changed nothing.
type DamagedError = store.DamagedError

// DiskFull reports whether err means that there is no more room: on the disk, within the
// quota of the user, or within the size that a file may have. A commit that failed with
// such an error is not on disk.
func DiskFull(err error) bool { return store.DiskFull(err) }
