package store

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// olderThan returns the other crawls that may have the answers to which revisit records of the
// crawl in dir refer. First come the crawls beside dir that have an index, in the reverse order
// of their names. Then come the previous crawl of dir, the previous crawl of that crawl, and so
// on.
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

// chainOf returns the crawl in dir, its previous crawl, the previous crawl of that crawl, and
// so on.
func chainOf(dir string) []string {
	chain := []string{dir}
	for before := Previous(dir); before != "" && !slices.Contains(chain, before); before = Previous(before) {
		chain = append(chain, before)
	}
	return chain
}

// LocatePrevious returns the path of the previous crawl of the crawl in dir. previous is the
// path that was recorded. If nothing is at this path, because both crawls were moved, the
// previous crawl may be beside dir under its old name. If it is in neither place, ok is false
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
	if beside == whole { // both crawls had the same name, in different directories
		return previous, false
	}
	if _, err := os.Stat(beside); err != nil {
		return previous, false
	}
	return beside, true
}

// keyPrevious is the key in the state under which the path of the previous crawl is stored.
const keyPrevious = "previous"

// PutPrevious records dir as the previous crawl of this crawl. Revisit records may refer to
// answers in the previous crawl, and in the crawls before that one.
func (db *DB) PutPrevious(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return db.Put(keyPrevious, dir)
}

// Previous returns the path of the previous crawl of the crawl in dir, as LocatePrevious finds
// it. It returns "" if no previous crawl is recorded, or if the state cannot be read. It may
// return a path at which there is no crawl.
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

// Behind returns the crawls that depend on the crawl in dir: the crawls beside it that have dir
// as their previous crawl, or as the previous crawl of their previous crawl, and so on. They
// may have revisit records whose bodies are only in dir. Crawls that are running are not
// included.
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
