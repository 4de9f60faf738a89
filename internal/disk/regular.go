package disk

import (
	"fmt"
	"io/fs"
	"os"
)

// OpenRegular opens a file for reading. It fails if path is not a regular file, because reading
// a named pipe could block forever.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("is no regular file (%s)", info.Mode().Type())}
	}
	return os.Open(path)
}
