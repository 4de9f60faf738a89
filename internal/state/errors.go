package state

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/internal/disk"
)

// An InUseError says that another process holds the state of a crawl.
type InUseError struct {
	Dir string
	Run *Run // the other process; nil if it is not known
}

func (e *InUseError) Error() string {
	if e.Run == nil {
		return fmt.Sprintf("%s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("%s is in use by process %d, which runs since %s",
		e.Dir, e.Run.PID, e.Run.Started.Format(time.RFC3339))
}

// A DamagedError says that a file of a crawl does not have the contents that the crawl has
// written. The call that returns it has changed nothing.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// A VersionError says that this version cannot read the state of a crawl, because another
// version has written it in another layout. The crawl is not damaged.
type VersionError struct {
	Path      string
	Have, Can uint64 // Have is the layout of the file, Can the layout that this version reads
}

func (e *VersionError) Error() string {
	which := "a newer"
	if e.Have < e.Can {
		which = "an older"
	}
	return fmt.Sprintf("%s has layout %d, this version reads layout %d: use %s version", e.Path, e.Have, e.Can, which)
}

// damaged returns err as a *DamagedError of the file at path. It returns err itself if err is
// an error of the file system, an *InUseError, a *VersionError or a *DamagedError. If a
// callback has returned err, it returns the error of the callback. If panicked, the value of a
// panic, is not nil, it replaces err.
func damaged(path string, err error, panicked any) error {
	if err == nil && panicked == nil {
		return nil
	}
	if panicked != nil {
		err = fmt.Errorf("%v", panicked)
	}
	var theirs callersError
	if errors.As(err, &theirs) {
		return theirs.error
	}
	var inUse *InUseError
	var version *VersionError
	var already *DamagedError
	var errno syscall.Errno
	if errors.As(err, &inUse) || errors.As(err, &version) || errors.As(err, &already) || errors.As(err, &errno) || DiskFull(err) {
		return err
	}
	return &DamagedError{path, err}
}

// A callersError wraps an error that a function of the caller has returned. It does not mean
// that the state file is damaged.
type callersError struct{ error }

// callbackError wraps err, which a function of the caller has returned. It returns nil if err
// is nil.
func callbackError(err error) error {
	if err == nil {
		return nil
	}
	return callersError{err}
}

// DiskFull reports whether err says that there is no more room: on the disk, within the
// quota of the user, or within the size that a file may have. A commit that failed with
// such an error is not on disk.
func DiskFull(err error) bool { return disk.Full(err) }
