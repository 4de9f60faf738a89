package outfile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// lockName is the file in a directory of TempDir that its process has locked.
const lockName = ".lock"

// TempDir makes a directory for temporary files in parent, or in that of the system if parent
// is empty, and removes those of the same prefix that killed processes have left. remove
// removes it with all that is in it.
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
	_, _ = lock(f) // without locks of the file system nothing is removed
	return dir, func() error { return errors.Join(f.Close(), os.RemoveAll(dir)) }, nil
}

// sweepDirs removes the directories whose lock no process holds.
func sweepDirs(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // to make a directory there says why
	}
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || len(random) != len(rand.Text()) || !e.IsDir() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(parent, e.Name(), lockName), os.O_RDWR, 0)
		if err != nil {
			continue // another process makes it, or it is of another user
		}
		got, err := lock(f)
		f.Close()
		if err == nil && got {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}
