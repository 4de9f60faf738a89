//go:build unix

package temp

import (
	"errors"
	"os"
)

// Create creates a file in dir that is removed when it is closed, or when the process ends. Its
// name is removed from the directory at once, but errors of Read and Write still have the name.
// kind is the beginning of the name.
func Create(dir, kind string) (*os.File, error) {
	f, err := os.OpenFile(name(dir, kind), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
