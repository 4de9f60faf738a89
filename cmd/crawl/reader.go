package main

import (
	"path/filepath"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/storage"
)

// openReader opens the state of the crawl in dir, with what its last run was asked to
// be.
func openReader(dir string) (*storage.Reader, crawler.Stored, error) {
	switch {
	case !exists(dir):
		return nil, crawler.Stored{}, noDirectory(dir)
	case !exists(filepath.Join(dir, storage.StateFile)):
		return nil, crawler.Stored{}, usage("there is no crawl in %s: it has no %s", dir, storage.StateFile)
	}
	r, err := storage.OpenReader(dir)
	if err != nil {
		return nil, crawler.Stored{}, err
	}
	stored, _, err := crawler.ReadStored(r)
	if err != nil {
		r.Close()
		return nil, stored, err
	}
	return r, stored, nil
}
