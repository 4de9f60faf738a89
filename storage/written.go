package storage

import (
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/storage/internal/state"
)

// A Written says how much of one of its files a crawl has written, as the state records it.
type Written struct {
	Length int64
	CRC32C uint32 // of the first Length bytes
	SHA256 []byte // of the same bytes; nil if the state has none, such as one of an older version
	Grows  bool   // the last run did not close the crawl: the file may have more bytes, which are unknown
}

// Written returns what the crawl has written, by the name of the file in its directory,
// with slashes; an unfinished WARC file is listed without its further suffix. Files without
// a mark in the state, such as the state file itself, are missing.
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

// OutputName returns the key in Written of the file with the given name in the directory of
// a crawl.
func OutputName(name string) string {
	if strings.HasPrefix(filepath.ToSlash(name), ArchiveDir+"/") {
		name = strings.TrimSuffix(name, openSuffix)
	}
	return filepath.ToSlash(name)
}
