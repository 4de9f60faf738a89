package diff

import (
	"encoding/json"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// What a line of the order is of: the crawl, and what it says.
const (
	ofWas   = 'a'
	ofIs    = 'b'
	entered = 'e' // what became of the URL
	written = 'p' // its line in pages.jsonl
)

// A fact is what one crawl says of a URL: of its entry, or of its line in pages.jsonl. The
// names are short since there are many.
type fact struct {
	URL      string           `json:"u"`
	Standing crawler.Standing `json:"s,omitempty"`
	Status   int              `json:"c,omitempty"`
	Digest   string           `json:"d,omitempty"`
	Text     string           `json:"x,omitempty"` // digest of what readers see
	Location string           `json:"l,omitempty"`
	Reason   string           `json:"r,omitempty"`
	Via      string           `json:"v,omitempty"`
	Time     time.Time        `json:"z,omitzero"`
	Seed     bool             `json:"e,omitempty"`
	Archived bool             `json:"w,omitempty"`
}

// sorted puts what both crawls say into the order of SURT, then of URL.
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

// sort adds what one crawl says.
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
	other, err := s.pages(func(p *storage.PageRecord) error {
		u, err := frontier.ParseURL(p.URL)
		if err != nil || !c.Site(u.Site()) {
			return nil // of no entry
		}
		return add(u, written, &fact{Digest: p.Digest, Text: p.TextDigest, Location: p.Location})
	})
	c.OtherLines += other
	return err
}

func entryFact(l *crawler.Listed) *fact {
	f := &fact{
		URL: l.URL.String(), Standing: l.Standing, Status: l.Fate.Status, Digest: l.Fate.Digest, Via: l.Via,
		Time: l.Fate.Time.UTC(), Seed: l.Hops == "", Archived: l.Fate.Answer != frontier.Place{},
	}
	if l.Standing != crawler.StandsFetched {
		f.Reason = l.Reason
	}
	return f
}

// A view is what one crawl says of a URL, put together; its zero value is that of one that
// it did not know.
type view struct{ fact }

// take adds one more line.
func (v *view) take(kind byte, f *fact) {
	switch {
	case kind == entered && (v.Standing == "" || v.Standing != crawler.StandsFetched && f.Standing == crawler.StandsFetched):
		v.fact = *f // one that is kept apart under the same URL may be another one
	case kind == written && v.Standing == crawler.StandsFetched:
		v.Location, v.Text = f.Location, f.Text
		if v.Digest == "" {
			v.Digest = f.Digest
		}
	}
}

func (v *view) state() State {
	return State{v.Standing, v.Status, v.Digest, v.Location, v.Reason, v.Via, v.Time}
}
