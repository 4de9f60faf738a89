package temp

import (
	"os"

	"golang.org/x/sys/windows"
)

// Create creates a file that is removed when it is closed, or when its process ends.
func Create(dir, kind string) (*os.File, error) {
	return os.OpenFile(name(dir, kind), os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
}
