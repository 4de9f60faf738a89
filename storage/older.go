package storage

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// olderThan are the crawls in which the bodies of a crawl may stand, besides its own: those
// beside it, and those that it, and they, knew as the one before.
func olderThan(dir string) (all []string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	parent := filepath.Dir(dir)
	around, _ := fs.Glob(os.DirFS(parent), "*/"+IndexFile) // the name of parent may have characters that a pattern has
	slices.Sort(around)
	slices.Reverse(around)
	for _, index := range around {
		if d := filepath.Join(parent, path.Dir(index)); d != dir {
			all = append(all, d)
		}
	}
	for _, before := range chainOf(dir)[1:] {
		if !slices.Contains(all, before) {
			all = append(all, before)
		}
	}
	return all
}

// chainOf is a crawl, the one that it knew as the one before, and so on.
func chainOf(dir string) []string {
	chain := []string{dir}
	for before := Previous(dir); before != "" && !slices.Contains(chain, before); before = Previous(before) {
		chain = append(chain, before)
	}
	return chain
}

// keyPrevious is the value of the state that names the crawl before.
const keyPrevious = "previous"

// PutPrevious notes which crawl is the one before this: what revisit records here refer to
// is there, or in the one before that.
func (db *DB) PutPrevious(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return db.Put(keyPrevious, dir)
}

// Previous is the crawl that the one in dir knew as the one before; "" where it knew
// none, or that cannot be read.
func Previous(dir string) string {
	r, err := OpenReader(dir)
	if err != nil {
		return ""
	}
	defer r.Close()
	var before string
	if _, err := r.Get(keyPrevious, &before); err != nil || before == "" {
		return ""
	}
	if _, err := os.Stat(before); err != nil { // both may have been moved
		before = filepath.Join(filepath.Dir(dir), filepath.Base(before))
	}
	return filepath.Clean(before)
}

// Behind are the crawls beside the one in dir that know it as the one before, or as one
// before that: they may repeat bodies that are here alone. One that runs is none of them.
func Behind(dir string) (all []string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	beside, _ := fs.Glob(os.DirFS(filepath.Dir(dir)), "*/"+StateFile)
	for _, file := range beside {
		d := filepath.Join(filepath.Dir(dir), path.Dir(file))
		if d != dir && slices.Contains(chainOf(d), dir) {
			all = append(all, d)
		}
	}
	return all
}
