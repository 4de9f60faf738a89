// Package purge removes from a crawl everything that it has stored about some hosts or URLs.
package purge

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/places"
	"github.com/permesso-crawler/permesso/internal/store"
)

var errNoContext = errors.New("purge: the context is nil: context.Background() is one that never ends")

// A Purge removes what a crawl has stored about some hosts or URLs: records of the WARC files,
// and lines of pages.jsonl, links.jsonl and index.cdxj. store.Purge says what stays. No process
// may run the crawl at the same time.
type Purge struct {
	Dir     string       // directory of the crawl
	Places  *places.List // the hosts and URLs whose records are removed
	Problem func(error)  // called for each part of a file that cannot be read, which may still have records to remove; may be nil
}

// Plan returns what Run would remove, and changes nothing. It fails with the errors of
// store.Purge, and for a nil ctx.
func (p *Purge) Plan(ctx context.Context) (store.Purged, error) {
	if ctx == nil {
		return store.Purged{}, errNoContext
	}
	return p.of(time.Now()).Plan(ctx, p.Dir)
}

// Run removes the records. If the process is killed during Run, the crawl cannot be resumed:
// Crawler.Run returns a *storage.PurgeError until Finish was called. If ctx ends before Run
// removes the first record, nothing is changed; after that Run goes on to the end. Run fails
// for a nil ctx.
func (p *Purge) Run(ctx context.Context) (store.Purged, error) {
	if ctx == nil {
		return store.Purged{}, errNoContext
	}
	return p.of(time.Now()).Run(ctx, p.Dir)
}

// Finish finishes an interrupted purge of the crawl. If ctx has ended, it does nothing. It uses
// the hosts and URLs of the interrupted purge, and not p.Places. finished describes the
// interrupted purge, and is nil if there was none.
func (p *Purge) Finish(ctx context.Context) (finished *store.PurgeError, done store.Purged, err error) {
	if ctx == nil {
		return nil, done, errNoContext
	}
	finished, err = store.UnfinishedPurge(p.Dir)
	if err != nil || finished == nil {
		return nil, done, err
	}
	again := *p
	if again.Places, err = places.Read(strings.NewReader(strings.Join(finished.Places, "\n")), "purge"); err != nil {
		return nil, done, &store.DamagedError{Path: p.Dir, Err: err}
	}
	done, err = again.of(finished.Time).Run(ctx, p.Dir)
	var gone *store.PurgeError
	if errors.As(err, &gone) { // another process has finished that purge, and a new one was interrupted
		return nil, done, gone
	}
	return finished, done, err
}

func (p *Purge) of(now time.Time) *store.Purge {
	s := &store.Purge{
		Time: now.UTC().Truncate(time.Second), Problem: p.Problem,
		Why: func(url string) string {
			u, err := frontier.ParseURL(url)
			if err != nil {
				return "" // keep the line, because nothing is stored about an invalid URL
			}
			return p.Places.Place(u)
		},
	}
	for _, e := range p.Places.Entries() {
		s.Places = append(s.Places, e.Place)
	}
	return s
}
