package storage

import (
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/store"
)

// ErrNoCrawl says that there is nothing to read: no crawl was begun.
var ErrNoCrawl = store.ErrNoCrawl

// ErrClosed is returned by methods of a Reader that was closed.
var ErrClosed = store.ErrClosed

// ErrPurged is wrapped by errors about an answer whose body a purge has removed.
var ErrPurged = store.ErrPurged

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

// A VersionError says that this version cannot read the state file at Path: the file has layout
// Have, and this version reads layout Can.
type VersionError = store.VersionError

// A NotBegunError says that the crawl in Dir has not begun. The run that made the directory was
// killed, or the disk was full, before its first request. The directory has nothing to read, and
// nothing is lost. The error matches ErrNoCrawl (errors.Is).
type NotBegunError = store.NotBegunError

// A MissingAnswerError says that a record repeats an answer of an earlier crawl, and that the
// record of that answer cannot be found or read. The files of this crawl are not damaged.
type MissingAnswerError = store.MissingAnswerError

// A PurgeError says that a purge of the crawl in Dir, which began at Time, was interrupted. Places
// are the hosts and URLs that the purge removes. The crawl cannot be read or resumed before the
// purge is finished.
type PurgeError = store.PurgeError

// A RepairError says that a repair of the crawl in Dir was interrupted while it replaced
// files. The crawl cannot be read or resumed before the repair is finished.
type RepairError = store.RepairError

// DiskFull reports whether err means that there is no more room: on the disk, within the quota of
// the user, or within the largest permitted size of a file. A commit that failed with such an
// error is not on disk.
func DiskFull(err error) bool { return store.DiskFull(err) }
