package storage

import (
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
)

// ErrNoCrawl says that there is nothing to read: no crawl was begun.
var ErrNoCrawl = store.ErrNoCrawl

// ErrClosed is returned by methods of a Reader that was closed.
var ErrClosed = store.ErrClosed

// An InUseError says that another process holds the state of the crawl in Dir. Run describes that
// process; it is nil if the process is not known.
type InUseError = store.InUseError

// A Run describes the process that holds a crawl. PID is the process number, Started the time of
// its start, and Control the path of its control socket, if the socket is not in the directory of
// the crawl. Full says that the process ended without closing the crawl because the disk was full.
type Run = state.Run

// A DamagedError says that the file of a crawl at Path does not have the content that the crawl
// has written. Its method Unwrap returns Err, the cause. The call that returns the error has
// changed nothing.
type DamagedError = store.DamagedError

// DiskFull reports whether err means that there is no more room: on the disk, within the quota of
// the user, or within the largest permitted size of a file. A commit that failed with such an
// error is not on disk.
func DiskFull(err error) bool { return store.DiskFull(err) }
