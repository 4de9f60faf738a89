// Package disk brings files and names to a disk, and tells when there is no more
// room on it. What differs between systems is in sys_*.go.
package disk

import (
	"os"
	"strings"
)

// A Disk syncs files and directories. The zero value does as it is told.
type Disk struct {
	// Before is told of the path of each sync, and may let it fail: tests have
	// slow and failing disks so. Nil: nobody is told.
	Before func(path string) error
}

func (d Disk) ask(path string) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(path)
}

// Sync has the device write all of f.
func (d Disk) Sync(f *os.File) error {
	if err := d.ask(f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

// SyncData is Sync but for what is not needed to read f again.
func (d Disk) SyncData(f *os.File) error {
	if err := d.ask(f.Name()); err != nil {
		return err
	}
	return syncData(f)
}

// SyncDir makes sure that the names in a directory outlast a power cut.
func (d Disk) SyncDir(path string) error {
	if err := d.ask(path); err != nil {
		return err
	}
	return syncDir(path)
}

// Full reports whether an error says that there is no more room: on the disk,
// within the quota of the user, or within the size that a file may have.
func Full(err error) bool {
	return err != nil && (noRoom(err) || strings.Contains(err.Error(), "file resize error")) // bbolt does not wrap this one
}
