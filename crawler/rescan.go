package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// maxRepeated is the maximum number of pages that a rescan remembers because their bodies are in
// other WARC records. It reads these bodies in a second pass over the archive.
const maxRepeated = 100_000

// A rescan reads the links of archived pages again (Options.Rescan).
type rescan struct {
	c      *Crawler
	found  *findings
	answer *archivedAnswer // the last answer that was read; kept until its metadata record is read
	bodies map[string][]frontier.Entry
	// This is the second pass over the archive, which reads only bodies that revisit records of the
	// first pass refer to.
	second bool
	lost   int // number of pages that were skipped because of maxRepeated
	// The previous crawl, because revisit records may refer to bodies in its archive; nil if there
	// is none.
	past *store.Past
}

// An archivedAnswer is an answer that was read from the archive. Its record is a response record,
// or a revisit record, which refers to the body in another record.
type archivedAnswer struct {
	id       string
	key      string // URL and date of the record that has the body
	exchange *fetch.Exchange
}

// rescan queues the URLs that pages in the archive link to. It leaves out URLs that were queued
// before, and URLs that the crawl refuses now. If the crawl is stopped, rescan returns early
// without an error. After a stop or a kill the next run begins the rescan from the start.
func (c *Crawler) rescan(ctx context.Context) error {
	files, err := store.ArchiveFiles(c.opts.Dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		c.opts.Logger.Warn("there is no archive whose links could be read again", "dir", c.opts.Dir)
	}
	r := &rescan{c: c, found: newFindings(), bodies: map[string][]frontier.Entry{}}
	if c.opts.Previous != "" {
		r.past = store.PastOf(c.opts.Previous)
	}
	for {
		for _, path := range files {
			if err := r.file(ctx, path); err != nil {
				return err
			}
		}
		if r.second || len(r.bodies) == 0 {
			break
		}
		// The second pass finds bodies in records that precede the revisit records.
		r.second = true
	}
	if r.lost > 0 {
		c.opts.Logger.Warn("pages were not read again: their bodies stand in the archive under other URLs", "pages", r.lost)
	}
	if ctx.Err() != nil || c.stopped() {
		return nil
	}
	c.rescans.Rescan = false
	return c.db.Put(keyStoredRun, c.rescans)
}

// file reads one file of the archive. It logs damaged records and skips them.
func (r *rescan) file(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := warc.NewReader(file)
	for ctx.Err() == nil && !r.c.stopped() {
		rec, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = r.record(rec)
		}
		if err == nil {
			continue
		}
		var bad *warc.Error
		if !errors.As(err, &bad) {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.c.opts.Logger.Error("a record of the archive cannot be read again", "file", path, "error", err)
		if _, err := in.Skip(); err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// record reads one record of the archive. An answer is followed by its metadata record, which says
// how the URL of the answer was found. So the links of an answer are queued when its metadata
// record is read.
func (r *rescan) record(rec *warc.Record) error {
	switch rec.Type {
	case warc.Response:
		r.answer = nil
		a := &archivedAnswer{id: rec.ID, key: rec.Header.Get(warc.FieldTargetURI) + " " + rec.Header.Get(warc.FieldDate)}
		if _, wanted := r.bodies[a.key]; r.second && !wanted {
			return nil
		}
		resp, err := rec.Response()
		if err != nil || resp.StatusCode/100 != 2 && resp.StatusCode/100 != 3 {
			return err
		}
		x := &fetch.Exchange{Status: resp.StatusCode, Header: resp.Header, Head: rec.Head()}
		if x.Body, err = r.c.visits.fetcher.Decode(resp); err != nil && len(x.Body) == 0 {
			return nil // the body cannot be decoded, which was so when it was fetched, too
		}
		if _, err := rec.Close(); err != nil { // Close verifies the checksum of the record
			return err
		}
		if a.exchange = x; r.second {
			for _, e := range r.bodies[a.key] {
				if err := r.page(e, x); err != nil {
					return err
				}
			}
			return nil
		}
		r.answer = a
	case warc.Revisit:
		r.answer = nil
		a := &archivedAnswer{id: rec.ID, key: rec.Header.Get(warc.FieldRefersToURI) + " " + rec.Header.Get(warc.FieldRefersToDate)}
		if _, err := rec.Close(); err != nil {
			return err
		}
		if !r.second {
			a.exchange = r.before(rec)
		}
		r.answer = a
	case warc.Metadata:
		a := r.answer
		if a == nil || r.second || strings.Trim(rec.Header.Get(warc.FieldConcurrentTo), "<>") != a.id {
			return nil
		}
		r.answer = nil
		return r.answered(a, rec)
	}
	return nil
}

// before returns the answer that the revisit record rec refers to, if it is in the archive of the
// previous crawl and can be read. Otherwise before returns nil, and the rescan searches the archive
// of this crawl.
func (r *rescan) before(rec *warc.Record) *fetch.Exchange {
	if r.past == nil {
		return nil
	}
	kept, err := r.past.Original(rec)
	if err != nil {
		return nil
	}
	resp, err := kept.Open()
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	body, err := r.c.visits.fetcher.Decode(resp)
	if err != nil && len(body) == 0 {
		return nil
	}
	return &fetch.Exchange{Status: kept.Status, Header: kept.Header, Body: body}
}

// archivedEntry returns the entry for the URL u. The metadata record of its answer says how the URL
// was found: from which page, over which links, and with which tag.
func archivedEntry(u frontier.URL, metadata []warc.Field) frontier.Entry {
	e := frontier.Entry{URL: u}
	for _, f := range metadata {
		switch f.Name {
		case "via":
			e.Via = f.Value
		case "hopsFromSeed":
			e.Hops = f.Value
		case "seedTag":
			e.Tag = f.Value
		case fieldWanted:
			e.Head = true
		}
	}
	e.Depth = strings.Count(e.Hops, string(frontier.HopLink))
	return e
}

// answered queues the links of the answer a. metadata is the metadata record of a, which says how
// the URL of a was found. If the body of a is in another record, answered remembers the URL until
// that record is read.
func (r *rescan) answered(a *archivedAnswer, metadata *warc.Record) error {
	u, err := frontier.ParseURL(metadata.Header.Get(warc.FieldTargetURI))
	if err != nil {
		return nil // such a URL was never queued, so this is no page
	}
	fields, err := metadata.Fields()
	if err == nil {
		_, err = metadata.Close()
	}
	if err != nil {
		return err
	}
	e := archivedEntry(u, fields)
	e.Rank = frontier.RankOf(e.Depth)
	switch {
	case strings.HasSuffix(e.Hops, string(frontier.HopPrerequisite)): // a robots.txt, which has no links
		return nil
	case a.exchange != nil:
		return r.page(e, a.exchange)
	case len(r.bodies) >= cmp.Or(r.c.opts.bounds.repeated, maxRepeated):
		r.lost++
		return nil
	}
	r.bodies[a.key] = append(r.bodies[a.key], e)
	return nil
}

// page queues the links of a page, except links that the crawl refuses.
func (r *rescan) page(e frontier.Entry, x *fetch.Exchange) error {
	c := r.c
	page := newPage(new(Page), e, &fetch.Result{Page: x}, c.opts.reading())
	var rules *robots.Snapshot
	if c.opts.CleanParam {
		var err error
		if rules, err = c.db.Snapshot(e.URL.Site()); err != nil {
			return err
		}
	}
	page.clean = c.visits.cleaner(rules)
	c.visits.decline(page, &fetch.Result{})
	var entries []frontier.Entry
	err := safely("Scope, Links, Rewrite or Same", func() { entries = c.visits.wantedOf(page, r.found, func(Skip) {}) })
	if err != nil {
		return err
	}
	c.visits.counts.add(func(n *Counts) { n.Rescanned++ })
	if err := c.frontier.Add(entries...); !errors.Is(err, frontier.ErrStopped) {
		return err
	}
	return nil
}
