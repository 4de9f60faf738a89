package outfile

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// lockName is the name of a file in each directory of TempDir. The process that uses the
// directory has locked the file.
const lockName = ".lock"

// TempDir makes a directory for temporary files in parent, or, if parent is empty, in the
// system's directory for them. It removes directories with the same prefix that killed
// processes have left. The caller must call the returned function remove, which removes the
// directory and its contents.
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
	_, _ = Lock(f) // without an effect if the file system has no locks; then no process removes directories of others
	return dir, func() error { return errors.Join(f.Close(), os.RemoveAll(dir)) }, nil
}

// sweepDirs removes the directories of TempDir in parent whose lock no process holds.
func sweepDirs(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // the caller will get the reason when it makes a directory there
	}
	for _, e := range entries {
		random, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || len(random) != len(rand.Text()) || !e.IsDir() {
			continue
		}
		f, err := os.OpenFile(filepath.Join(parent, e.Name(), lockName), os.O_RDWR, 0)
		if err != nil {
			continue // another process is just making the directory, or the directory belongs to another user
		}
		got, err := Lock(f)
		f.Close()
		if err == nil && got {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}
