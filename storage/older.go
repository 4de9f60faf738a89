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

// LocatePrevious is where the crawl is that the one in dir has known as the one before it, at
// previous: there, or, where both were moved, beside dir under the same name. ok is false
// where it is in neither place; the path is previous then.
func LocatePrevious(dir, previous string) (path string, ok bool) {
	if _, err := os.Stat(previous); err == nil {
		return previous, true
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return previous, false
	}
	beside := filepath.Join(filepath.Dir(whole), filepath.Base(previous))
	if beside == whole { // crawls of one name, in directories of their own
		return previous, false
	}
	if _, err := os.Stat(beside); err != nil {
		return previous, false
	}
	return beside, true
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
// none, or that cannot be read. It need not be there: see LocatePrevious.
func Previous(dir string) string {
	r, err := openPurging(dir)
	if err != nil {
		return ""
	}
	defer r.Close()
	var before string
	if _, err := r.Get(keyPrevious, &before); err != nil || before == "" {
		return ""
	}
	before, _ = LocatePrevious(dir, before)
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
