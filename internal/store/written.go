package store

import (
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/internal/state"
)

// A Written says how much of a file a crawl has written, according to its state.
type Written struct {
	Length int64
	CRC32C uint32 // checksum of the first Length bytes
	SHA256 []byte // SHA-256 of the first Length bytes; nil: the state, perhaps of an older version, does not have it
	// Grows says that the last run did not close the crawl. The file may then have more bytes,
	// which are unknown.
	Grows bool
}

// Written returns how much of each file the crawl has written. The keys are the names of the
// files in the directory, with slashes and without ".open". Files whose length the state does
// not have, such as the state file itself, are left out.
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

// OutputName returns the key that a file has in the result of Written. name is its name in the
// directory of a crawl.
func OutputName(name string) string {
	if strings.HasPrefix(filepath.ToSlash(name), ArchiveDir+"/") {
		name = strings.TrimSuffix(name, openSuffix)
	}
	return filepath.ToSlash(name)
}
