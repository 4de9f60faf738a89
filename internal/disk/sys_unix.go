//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// noRoom reports whether err says that there is no more room: on the disk, within the quota
// of the user, or within the size that a file may have.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// syncDir makes the device write the names in a directory.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
