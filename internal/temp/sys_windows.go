package temp

import (
	"os"

	"golang.org/x/sys/windows"
)

// Create creates a file in dir that is removed when it is closed, or when the process ends.
// kind is the beginning of its name.
func Create(dir, kind string) (*os.File, error) {
	return os.OpenFile(name(dir, kind), os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
}
