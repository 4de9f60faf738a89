package outfile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// lockName is the name of a file in each directory that TempDir makes. The process that uses
// the directory holds a lock on this file.
const lockName = ".lock"

// TempDir makes a directory for temporary files in parent; "": in the system's directory for
// them. It also removes directories with the same prefix that killed processes have left.
// remove removes the new directory and its contents; the caller must call it.
func TempDir(parent, prefix string) (dir string, remove func() error, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweepDirs(parent, prefix)
	dir = filepath.Join(parent, prefix+rand.Text())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	_, _ = Lock(f) // if the file system has no locks, no process removes directories of others
	return dir, func() error { return errors.Join(f.Close(), os.RemoveAll(dir)) }, nil
}

// sweepDirs removes those directories of TempDir in parent whose lock no process holds.
func sweepDirs(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // ignore the error, because making a directory there returns the same error
	}
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || len(random) != len(rand.Text()) || !e.IsDir() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(parent, e.Name(), lockName), os.O_RDWR, 0)
		if err != nil {
			continue // skip the directory, because another process is just making it, or it belongs to another user
		}
		got, err := Lock(f)
		f.Close()
		if err == nil && got {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}
