package storage

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// olderThan returns the crawls that may have the bodies of revisit records of the crawl in
// dir, besides itself: the crawls beside it, and their chains of previous crawls.
func olderThan(dir string) (all []string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	parent := filepath.Dir(dir)
	around, _ := fs.Glob(os.DirFS(parent), "*/"+IndexFile) // parent may contain characters that have a meaning in a pattern
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

// chainOf returns a crawl, its previous crawl, and so on.
func chainOf(dir string) []string {
	chain := []string{dir}
	for before := Previous(dir); before != "" && !slices.Contains(chain, before); before = Previous(before) {
		chain = append(chain, before)
	}
	return chain
}

// LocatePrevious returns where the previous crawl of the one in dir is: at previous, or, if
// both were moved, beside dir under the same name. If it is in neither place, ok is false
// and path is previous.
func LocatePrevious(dir, previous string) (path string, ok bool) {
	if _, err := os.Stat(previous); err == nil {
		return previous, true
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return previous, false
	}
	beside := filepath.Join(filepath.Dir(whole), filepath.Base(previous))
	if beside == whole { // crawls of the same name, in directories of their own
		return previous, false
	}
	if _, err := os.Stat(beside); err != nil {
		return previous, false
	}
	return beside, true
}

// keyPrevious is the key of the path of the previous crawl, in the state.
const keyPrevious = "previous"

// PutPrevious records dir as the previous crawl: revisit records refer to answers in it, or
// in its own previous crawls.
func (db *DB) PutPrevious(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return db.Put(keyPrevious, dir)
}

// Previous returns the path that the crawl in dir has recorded as its previous crawl, or ""
// if it has none or it cannot be read. The path need not exist: see LocatePrevious.
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

// Behind returns the crawls beside the one in dir that name it as their previous crawl,
// directly or through others: they may have revisit records whose bodies are only here. A
// crawl that is running is not included.
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
