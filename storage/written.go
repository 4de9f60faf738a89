package storage

import (
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A Written says what a crawl has written into one of its files, as the state notes it.
type Written struct {
	Length int64
	CRC32C uint32 // of the first Length bytes
	SHA256 []byte // of the same bytes; nil if the state has none, as one of an older version
	Grows  bool   // the last run did not end by itself: the file may have more bytes, which are not known
}

// Written returns what the crawl has written, by the name of the file in its directory: with
// slashes, and for a WARC file that still grows without its further suffix. Files that the
// state does not know, as the state itself, are missing.
func (r *Reader) Written() (map[string]Written, error) {
	files, err := r.state.Files()
	if err != nil {
		return nil, err
	}
	all := map[string]Written{}
	add := func(name string, m state.Mark) {
		if !m.Lost {
			all[name] = Written{m.Length, m.Sum, m.Digest(), r.Unclean()}
		}
	}
	for _, known := range []state.Marks{files.Growing, files.Finished} {
		for name, m := range known {
			add(name, m)
		}
	}
	if part := files.Growing[indexPart]; !part.Lost && !r.Unclean() && files.Index.Part.Same(part) && part.Length > 0 {
		add(IndexFile, files.Index.Index)
	}
	return all, nil
}

// OutputName returns the name by which Written knows the file with the given name in the
// directory of a crawl.
func OutputName(name string) string {
	if strings.HasPrefix(filepath.ToSlash(name), ArchiveDir+"/") {
		name = strings.TrimSuffix(name, openSuffix)
	}
	return filepath.ToSlash(name)
}
