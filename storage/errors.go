package storage

import "github.com/permesso-crawler/permesso/storage/internal/state"

// ErrClosed is returned by methods of a DB that was closed.
var ErrClosed = state.ErrClosed

// ErrNotAlone is returned by DB.Apply where something else was put.
var ErrNotAlone = state.ErrNotAlone

// An InUseError says that another process holds the state of a crawl: the one in
// Dir; Run says which, and is nil if that is not known.
type InUseError = state.InUseError

// A DamagedError says that the file at Path, of a crawl, is not what was written;
// it unwraps to what is wrong. Nothing was changed.
type DamagedError = state.DamagedError

// A VersionError says that the state file at Path was written by a version with
// another layout: Have, where this one reads layout Can.
type VersionError = state.VersionError

// DiskFull reports whether an error says that there is no more room: on the disk,
// within the quota of the user, or within the size that a file may have. A commit
// that failed so is not on disk.
func DiskFull(err error) bool { return state.DiskFull(err) }
