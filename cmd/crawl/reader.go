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

// openReader opens the state of the crawl in dir, and returns the options of its last run.
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
// made with storage alone has no settings, but may have sites.
func empty(r *storage.Reader) error {
	for _, err := range r.Names() {
		return err
	}
	return &storage.NotBegunError{Dir: r.Dir()}
}

// noCrawlIn returns the error that there is no crawl in dir; for a series it names a
// snapshot.
func noCrawlIn(dir string) error {
	if last := newestIn(dir); last != "" {
		return usage("%s is a series of crawls, and this command reads one: name a snapshot of it, as %s", dir, last)
	}
	return usage("there is no crawl in %s: it has no %s", dir, storage.StateFile)
}

// newestIn returns the newest snapshot in dir, or "" if dir is a crawl itself, or not a
// series.
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

// maxKnownSites is how many sites are searched for one that is like a name.
const maxKnownSites = 10_000

// likeSite guesses which site is meant by a name that no site has: ": did you mean ...?",
// or "".
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

// unknownOf returns the error that a crawl has none of some sites.
func unknownOf(sites iter.Seq2[frontier.Site, error], names []string) error {
	like, err := likeSite(sites, names[0])
	if err != nil {
		return err
	}
	return usage("the crawl has no URL of %s%s", strings.Join(names, ", "), like)
}

// A runsError says that a crawl in dir is in use, and that the command needs all of it.
type runsError struct {
	dir string
	error
}

func (e *runsError) Unwrap() error { return e.error }

// meanwhileOf adds to the error of a crawl in use which commands can read it until it ends.
func meanwhileOf(dir string, err error) error {
	var inUse *storage.InUseError
	if errors.As(err, &inUse) {
		return &runsError{dir, err}
	}
	return err
}
