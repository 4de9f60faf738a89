// Package disk syncs files and directories, and recognizes the errors of a full disk. The
// differences between systems are in sys_*.go.
package disk

import (
	"os"
	"strings"
)

// A Disk syncs files and directories. The zero value is ready to use.
type Disk struct {
	// Before is called with the path of each sync, and may return an error for it: tests
	// simulate slow and failing disks with it. It may be nil.
	Before func(path string) error
}

func (d Disk) ask(path string) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(path)
}

// Sync makes the device write all of f.
func (d Disk) Sync(f *os.File) error {
	if err := d.ask(f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

// SyncData is like Sync, without metadata that is not needed to read f again.
func (d Disk) SyncData(f *os.File) error {
	if err := d.ask(f.Name()); err != nil {
		return err
	}
	return syncData(f)
}

// SyncDir makes the names in a directory survive a power cut.
func (d Disk) SyncDir(path string) error {
	if err := d.ask(path); err != nil {
		return err
	}
	return syncDir(path)
}

// Full reports whether err says that there is no more room: on the disk, within the quota
// of the user, or within the size that a file may have.
func Full(err error) bool {
	return err != nil && (noRoom(err) || strings.Contains(err.Error(), "file resize error")) // bbolt does not wrap this one
}
