package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A Past looks up archived answers of a crawl that has ended. It changes nothing, and holds no
// file open between two calls. Its methods are safe for concurrent use.
//
// A revisit record has no body: it refers to an earlier record. Past looks for that record
// first in the same crawl. Then it looks in the other crawls beside the directory of this
// crawl, in the reverse order of their names. Last it looks in the previous crawl of this
// crawl, in the previous crawl of that one, and so on.
type Past struct {
	dir   string
	older func() []string // returns the directories of the other crawls that may have the answers to which revisit records refer
}

// OpenPast opens the crawl in dir. It fails with an *InUseError if a process runs the
// crawl, with an error that wraps ErrNoCrawl if dir has no crawl, or with an error of the
// file system.
func OpenPast(dir string) (*Past, error) {
	if run, held := state.Holder(dir); held {
		return nil, &InUseError{Dir: dir, Run: run}
	}
	p := PastOf(dir)
	if p.Remembers() {
		return p, nil
	}
	if _, err := os.Stat(filepath.Join(dir, StateFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, noCrawl(dir, "it has neither "+StateFile+" nor "+IndexFile)
	} else if err != nil {
		return nil, err
	}
	return p, nil
}

// PastOf is like OpenPast, but it reads nothing and does not fail. The crawl in dir may be
// running.
func PastOf(dir string) *Past {
	return &Past{dir, sync.OnceValue(func() []string { return olderThan(dir) })}
}

// Dir returns the directory of the crawl.
func (p *Past) Dir() string { return p.dir }

// Remembers reports whether the crawl has an index of its archive. Without an index Capture
// finds nothing.
func (p *Past) Remembers() bool {
	info, err := os.Stat(filepath.Join(p.dir, IndexFile))
	return err == nil && info.Mode().IsRegular()
}

// Capture returns the last capture of u. It returns nil if u has no capture, or if a Purge has
// removed the body of the capture. It returns an error if the index or a record cannot be read,
// or if the record with the body is missing (a *MissingAnswerError). Errors about a damaged
// record wrap a *warc.Error. Capture does not check the body.
func (p *Past) Capture(u frontier.URL) (*Capture, error) {
	e, err := lastLine(p.dir, u.String())
	if err != nil || e == nil {
		return nil, err
	}
	return captureAt(placeOf(p.dir, e), u.String(), p.find)
}

// Answer returns the answer from which rec, a line of pages.jsonl of the crawl, was made. It
// returns nil if the answer is not in the archive of the crawl, or was purged. It fails with the
// same errors as Capture.
func (p *Past) Answer(rec *PageRecord) (*Capture, error) {
	if rec.WARC == "" {
		return nil, nil
	}
	return captureAt(place{path: filepath.Join(p.dir, ArchiveDir, filepath.Base(rec.WARC)), offset: rec.Offset}, rec.URL, p.find)
}

// Original returns the answer to which rec refers. rec must be a revisit record in the archive
// of the crawl. The answer may be in this crawl or in an earlier one. Original fails with the
// same errors as Capture, but if the answer was purged it returns an error that wraps
// ErrPurged.
func (p *Past) Original(rec *warc.Record) (*Capture, error) {
	c := &Capture{URL: rec.TargetURI(), Date: rec.Date}
	return c, c.follow(rec, p.find)
}

// find looks for the record of the answer that url gave at a time, in this crawl and then in
// the older crawls. If no crawl has such a record that can be read, find returns
//   - an error that wraps ErrPurged, if captures of url were purged;
//   - otherwise the error of the first crawl in which the record or the index cannot be read;
//   - a *MissingAnswerError, if there was no such error.
func (p *Past) find(url string, at time.Time) (*original, error) {
	var bad error
	for _, dir := range append([]string{p.dir}, p.older()...) {
		o, err := answerOf(dir, url, at)
		if err == nil && o != nil {
			return o, nil
		}
		bad = cmp.Or(bad, err)
	}
	if purged := p.purged(url); purged != nil {
		return nil, purged
	}
	if bad == nil {
		bad = &MissingAnswerError{fmt.Errorf("the answer of %s of %s is repeated, and is neither in %s nor in a crawl beside it: bring back the crawl that has it",
			url, at.UTC().Format(time.RFC3339Nano), p.dir)}
	}
	return nil, bad
}

// purged returns an error that wraps ErrPurged if a Purge has removed the captures of a URL
// from this crawl or from an older one. It returns nil if no Purge has, or if that is not
// known.
func (p *Past) purged(url string) error {
	u, err := frontier.ParseURL(url)
	if err != nil {
		return nil
	}
	for _, dir := range append([]string{p.dir}, p.older()...) {
		if fate, err := fateIn(dir, u); err == nil {
			if _, gone := PurgedFate(fate); gone {
				return fmt.Errorf("%s: %w at %s: %s", dir, ErrPurged, fate.Time.UTC().Format(time.RFC3339), url)
			}
		}
	}
	return nil
}

func fateIn(dir string, u frontier.URL) (frontier.Fate, error) {
	r, err := openPurging(dir)
	if err != nil {
		return frontier.Fate{}, err
	}
	fate, _, err := r.Fate(u)
	return fate, errors.Join(err, r.Close())
}

// lastLine returns the last line about a URL in the index of a crawl. It returns nil if there
// is no such line, or no index. It returns an error only if it returns no line.
func lastLine(dir, url string) (last *cdxj.Entry, err error) {
	err = eachLine(dir, url, func(e *cdxj.Entry) {
		if last == nil || after(e, last) {
			last = e
		}
	})
	if last != nil {
		err = nil
	}
	return last, err
}

// answerOf looks in the index of a crawl for the answer that url gave at a time. The index has
// times to the second, so several lines may have that time. answerOf skips records whose exact
// time differs. A record that cannot be read may be the right one, so it is not skipped.
// answerOf returns the answer, or the error, of the last record that remains. If no record
// remains, answerOf returns nil and the error of reading the index, if there was one.
func answerOf(dir, url string, at time.Time) (o *original, err error) {
	var of *cdxj.Entry
	second := at.UTC().Truncate(time.Second)
	lines := eachLine(dir, url, func(e *cdxj.Entry) {
		if !e.Time.Equal(second) || of != nil && !after(e, of) {
			return
		}
		is, bad := originalAt(placeOf(dir, e), url)
		if is != nil && (is.repeats || !is.date.Truncate(time.Microsecond).Equal(at.Truncate(time.Microsecond))) {
			return
		}
		of, o, err = e, is, bad
	})
	if of == nil {
		err = lines
	}
	return o, err
}

// eachLine calls line for each line about a URL in the index of a crawl. It does nothing if
// the index is missing. If lines cannot be read, it skips them and returns the first error.
func eachLine(dir, url string, line func(*cdxj.Entry)) error {
	index, err := disk.OpenRegular(filepath.Join(dir, IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer index.Close()
	info, err := index.Stat()
	if err != nil {
		return err
	}
	for e, bad := range cdxj.Find(index, info.Size(), url) {
		if bad == nil {
			line(e)
			continue
		}
		err = cmp.Or(err, fmt.Errorf("%s: %w: crawl verify %s says more, and crawl index makes it again", index.Name(), bad, dir))
	}
	return err
}

// after reports whether the answer of a is later than the answer of b.
func after(a, b *cdxj.Entry) bool {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset)) > 0
}

func placeOf(dir string, e *cdxj.Entry) place {
	return place{path: filepath.Join(dir, ArchiveDir, filepath.Base(e.Filename)), offset: e.Offset, length: e.Length}
}
