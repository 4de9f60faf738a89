package store

import (
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/outfile"
)

const newSuffix = ".new"

// newName returns the path at which the new version of a file of a crawl is written, before it
// replaces the file: beside the file, or, if the file is a symbolic link, beside its target.
func newName(dir, name string) (string, error) {
	path, err := outfile.ResolveRegular(filepath.Join(dir, name))
	return path + newSuffix, err
}

// createNew creates the new version of a file of a crawl, at the path of newName.
func createNew(dir, name string) (*os.File, error) {
	path, err := newName(dir, name)
	if err != nil {
		return nil, err
	}
	return os.Create(path)
}

// removeNew removes the new version of a file. It returns an error if there is no new version.
func removeNew(dir, name string) error {
	path, err := newName(dir, name)
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// rename replaces a file with its new version.
func rename(dir, name string) error {
	path, err := newName(dir, name)
	if err != nil {
		return err
	}
	return os.Rename(path, path[:len(path)-len(newSuffix)])
}
