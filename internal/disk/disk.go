// Package disk syncs files and directories, and recognizes the errors of a full disk. The
// differences between systems are in sys_*.go.
package disk

import (
	"os"
	"strings"
)

// A Disk syncs files and directories. The zero value is ready to use.
type Disk struct {
	// Before is called with the path of each file or directory before it is synced. If Before
	// returns an error, the sync fails with this error. Tests use Before to simulate slow and
	// failing disks. Before may be nil.
	Before func(path string) error
}

func (d Disk) ask(path string) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(path)
}

// Sync makes the device write all data and metadata of f.
func (d Disk) Sync(f *os.File) error {
	if err := d.ask(f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

// SyncData is like Sync, but leaves out metadata that is not needed to read f again.
func (d Disk) SyncData(f *os.File) error {
	if err := d.ask(f.Name()); err != nil {
		return err
	}
	return syncData(f)
}

// SyncDir makes the names in a directory survive a power cut, by a sync of the directory.
func (d Disk) SyncDir(path string) error {
	if err := d.ask(path); err != nil {
		return err
	}
	return syncDir(path)
}

// Full reports whether err says that there is no more room: on the disk, within the quota of
// the user, or within the size that a file may have.
func Full(err error) bool {
	return err != nil && (noRoom(err) || strings.Contains(err.Error(), "file resize error")) // the text is from bbolt, whose error does not wrap the error of the system
}
