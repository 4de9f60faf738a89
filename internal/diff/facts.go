package diff

import (
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// The bytes of a sort key after the URL: which crawl the fact is from, and which file.
const (
	ofWas   = 'a'
	ofIs    = 'b'
	entered = 'e' // the fact is the URL's entry in the state
	written = 'p' // the fact is the URL's line in pages.jsonl
)

// A fact has the values that one crawl has stored about a URL, in the state or in pages.jsonl.
// The JSON names are short, because many facts are sorted on disk.
type fact struct {
	URL      string        `json:"u"`
	Fate     frontier.Code `json:"s,omitempty"`
	Status   int           `json:"c,omitempty"`
	Digest   string        `json:"d,omitempty"`
	Text     string        `json:"x,omitempty"` // digest of the visible text
	Location string        `json:"l,omitempty"`
	Reason   string        `json:"r,omitempty"`
	Via      string        `json:"v,omitempty"`
	Time     time.Time     `json:"z,omitzero"`
	Seed     bool          `json:"e,omitempty"`
	Archived bool          `json:"w,omitempty"`
}

// sorted returns the facts of both crawls, sorted by SURT, then by URL.
func (c *comparison) sorted() (order, error) {
	o := c.order(c.Temp)
	for _, of := range []struct {
		side byte
		from *snapshot
	}{{ofWas, c.was}, {ofIs, c.is}} {
		if err := c.sort(o, of.side, of.from); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// sort adds the facts of one crawl to a sorter. side says which crawl it is.
func (c *comparison) sort(o order, side byte, s *snapshot) error {
	var key []byte
	add := func(u frontier.URL, kind byte, f *fact) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		key = append(append(key[:0], cdxj.SURT(u.String())...), 0)
		key = append(append(key, u.Key()...), 0, side, kind)
		return o.Add(key, line)
	}
	for site, err := range s.state.Names() {
		if err != nil {
			return err
		}
		if !c.Site(site) {
			continue
		}
		for l, err := range s.account.List(site) {
			if err == nil {
				err = add(l.URL, entered, entryFact(&l))
			}
			if err != nil {
				return err
			}
		}
	}
	return c.sortPages(s, func(u frontier.URL, f *fact) error { return add(u, written, f) })
}

// sortPages calls add for each line of pages.jsonl, and counts the lines that cannot be read.
// The file may be missing.
func (c *comparison) sortPages(s *snapshot, add func(frontier.URL, *fact) error) error {
	for p, err := range store.ReadPages(c.ctx, s.dir) {
		var damaged *store.DamagedError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.As(err, &damaged):
			c.OtherLines++
			continue
		case err != nil:
			return err
		}
		u, err := frontier.ParseURL(p.URL)
		if err != nil || !c.Site(u.Site()) {
			continue // skip the line, because the URL has no entry in the state
		}
		if err := add(u, &fact{Digest: p.Digest, Text: p.TextDigest, Location: p.Location}); err != nil {
			return err
		}
	}
	return nil
}

func entryFact(l *account.Listed) *fact {
	f := &fact{
		URL: l.URL.String(), Fate: l.Code, Status: l.Fate.Status, Digest: l.Fate.Digest, Via: l.Via,
		Time: l.Fate.Time.UTC(), Seed: l.Hops == "", Archived: l.Fate.Answer != frontier.Place{},
	}
	if l.Code != frontier.Fetched {
		f.Reason = l.Reason
	}
	return f
}

// A view has all facts of one crawl about a URL. The zero value means that the crawl does not
// know the URL.
type view struct{ fact }

// take adds a fact of the given kind to v.
func (v *view) take(kind byte, f *fact) {
	switch {
	case kind == entered && (v.Fate == frontier.Undecided || v.Fate != frontier.Fetched && f.Fate == frontier.Fetched):
		v.fact = *f // two entries may have the same URL: keep the fetched one
	case kind == written && v.Fate == frontier.Fetched:
		v.Location, v.Text = f.Location, f.Text
		if v.Digest == "" {
			v.Digest = f.Digest
		}
	}
}

func (v *view) state() State {
	return State{v.Fate, v.Status, v.Digest, v.Location, v.Reason, v.Via, v.Time}
}
