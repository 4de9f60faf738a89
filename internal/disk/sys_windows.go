package disk

import (
	"errors"

	"golang.org/x/sys/windows"
)

// noRoom reports whether err says that there is no more room: on the disk, or within the
// quota of the user.
func noRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// syncDir does nothing: Windows cannot sync a directory, and NTFS keeps the names in a journal.
func syncDir(string) error { return nil }
