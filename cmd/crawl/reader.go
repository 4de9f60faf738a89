package main

import (
	"errors"
	"iter"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/storage"
)

// openReader opens the state of the crawl in dir, with what its last run was asked to
// be.
func openReader(dir string) (*storage.Reader, crawler.Stored, error) {
	switch {
	case !exists(dir):
		return nil, crawler.Stored{}, noDirectory(dir)
	case !exists(filepath.Join(dir, storage.StateFile)):
		return nil, crawler.Stored{}, noCrawlIn(dir)
	}
	r, err := storage.OpenReader(dir)
	if err != nil {
		return nil, crawler.Stored{}, meanwhileOf(dir, err)
	}
	stored, begun, err := crawler.ReadStored(r)
	if err == nil && !begun {
		err = empty(r)
	}
	if err != nil {
		r.Close()
		return nil, stored, err
	}
	return r, stored, nil
}

// empty returns a *storage.NotBegunError if no site is known. A crawl that a program has
// made with storage alone keeps no settings, and may have sites all the same.
func empty(r *storage.Reader) error {
	for _, err := range r.Names() {
		return err
	}
	return &storage.NotBegunError{Dir: r.Dir()}
}

// noCrawlIn says that there is no crawl in dir, and of a series which crawls it has.
func noCrawlIn(dir string) error {
	if last := newestIn(dir); last != "" {
		return usage("%s is a series of crawls, and this is told of one: name a snapshot of it, as %s", dir, last)
	}
	return usage("there is no crawl in %s: it has no %s", dir, storage.StateFile)
}

// newestIn is the newest snapshot in dir, and empty where dir is a crawl itself, or no series.
func newestIn(dir string) string {
	if exists(filepath.Join(dir, storage.StateFile)) {
		return ""
	}
	all, err := series.Series{Dir: dir}.Snapshots()
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[len(all)-1].Dir
}

// maxKnownSites is among how many sites one is looked for that is like a name.
const maxKnownSites = 10_000

// likeSite guesses which site is meant by a name that no site has: ": did you mean
// ...?", or nothing.
func likeSite(sites iter.Seq2[frontier.Site, error], name string) (string, error) {
	var known []string
	for site, err := range sites {
		if err != nil {
			return "", err
		}
		text := string(site)
		if !strings.Contains(name, "://") {
			text = site.Authority()
		}
		if known = append(known, text); len(known) == maxKnownSites {
			break
		}
	}
	if like := didYouMean(name, known); like != "" {
		return ": " + strings.TrimSpace(like), nil
	}
	return "", nil
}

// unknownOf says that a crawl knows none of some sites.
func unknownOf(sites iter.Seq2[frontier.Site, error], names []string) error {
	like, err := likeSite(sites, names[0])
	if err != nil {
		return err
	}
	return usage("the crawl has no URL of %s%s", strings.Join(names, ", "), like)
}

// A runsError says that a crawl in dir is in use, of which a command wants all.
type runsError struct {
	dir string
	error
}

func (e *runsError) Unwrap() error { return e.error }

// meanwhileOf adds to the error of a crawl that is in use what tells of it until it ends.
func meanwhileOf(dir string, err error) error {
	var inUse *storage.InUseError
	if errors.As(err, &inUse) {
		return &runsError{dir, err}
	}
	return err
}
