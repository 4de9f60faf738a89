package crawler

import (
	"errors"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// A Purge takes out of a crawl what was captured of places: records of the WARC files,
// lines of pages.jsonl, links.jsonl and of the index (storage.Purge says what stays). No
// process may run the crawl meanwhile.
type Purge struct {
	Dir     string      // of the crawl
	Places  *OptOutList // what is captured there goes
	Problem func(error) // told of what cannot be read, and so may hold something still; nil: nobody is
}

// Plan says what Run would take out, and changes nothing. The errors are those of
// storage.Purge.
func (p *Purge) Plan() (storage.Purged, error) { return p.of(time.Now()).Plan(p.Dir) }

// Run takes it out. A kill at any time leaves a crawl that cannot go on: then Run returns
// a *storage.PurgeError until Finish was called.
func (p *Purge) Run() (storage.Purged, error) { return p.of(time.Now()).Run(p.Dir) }

// Finish ends a purge of the crawl that was broken off, whatever Places are: those that
// were given then count. It is nil where none was.
func (p *Purge) Finish() (finished *storage.PurgeError, done storage.Purged, err error) {
	finished, err = storage.UnfinishedPurge(p.Dir)
	if err != nil || finished == nil {
		return nil, done, err
	}
	again := *p
	if again.Places, err = ReadOptOutList(strings.NewReader(strings.Join(finished.Places, "\n")), "purge"); err != nil {
		return nil, done, &storage.DamagedError{Path: p.Dir, Err: err}
	}
	done, err = again.of(finished.Time).Run(p.Dir)
	var gone *storage.PurgeError
	if errors.As(err, &gone) { // somebody else has finished it, and broken off another
		return nil, done, gone
	}
	return finished, done, err
}

func (p *Purge) of(now time.Time) *storage.Purge {
	s := &storage.Purge{
		Time: now.UTC().Truncate(time.Second), Problem: p.Problem,
		Why: func(url string) string {
			u, err := frontier.ParseURL(url)
			if err != nil {
				return "" // nothing is captured at what is no URL
			}
			return p.Places.find(u).place
		},
	}
	for _, e := range p.Places.Entries() {
		s.Places = append(s.Places, e.Place)
	}
	return s
}
