package account

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/zeebo/xxh3"
)

// ErrNoLinks is returned if a crawl has not recorded the links of its pages.
var ErrNoLinks = errors.New("crawler: the crawl keeps no links: OutputLinks")

// Bounds of the memory of linked URLs.
const (
	maxRefused = 1 << 20 // refused URLs
	maxLinked  = 1 << 20 // URLs in the text form of links.jsonl, remembered because most lines have a URL of an earlier line
)

// A linkMemory remembers the URLs of links.
type linkMemory struct {
	yielded map[uint64]struct{}
	linked  map[uint64]struct{} // hashes of the texts of URLs whose lines can be skipped
	lines   int                 // number of lines read
}

// known reports whether the URL of a line was in an earlier line, so that the line can be
// skipped. If it was not, known returns a key by which to remember the URL, or 0 if the URL
// cannot be remembered.
func (m *linkMemory) known(line []byte) (key uint64, known bool) {
	_, to, _ := bytes.Cut(line, []byte(`"to":"`))
	to, _, whole := bytes.Cut(to, []byte(`"`))
	if !whole || bytes.IndexByte(to, '\\') >= 0 {
		return 0, false
	}
	key = xxh3.Hash(to)
	_, known = m.linked[key]
	return key, known
}

// remember stores a URL that was yielded. If there are too many URLs, it first forgets all
// of them, so that they may be yielded again.
func (m *linkMemory) remember(key uint64) {
	if len(m.yielded) >= maxRefused {
		clear(m.yielded)
		clear(m.linked)
	}
	m.yielded[key] = struct{}{}
}

// link remembers a URL by its key, as known has returned it.
func (m *linkMemory) link(key uint64) {
	if len(m.linked) >= maxLinked {
		clear(m.linked)
	}
	if key != 0 {
		m.linked[key] = struct{}{}
	}
}

// A RefusedLink is a link of a page to a URL that has not entered the crawl.
type RefusedLink struct {
	To frontier.URL
	LinkFact
}

// Refused iterates over the links of links.jsonl to URLs that have not entered the crawl, in
// the order in which they were found, with the reason by the settings of the last run. It
// yields only the first link to each URL, but after a million other URLs it may yield
// another link to the same URL. The error is ErrNoLinks, an error of the file system, or an
// error of the state.
func (a *Account) Refused() iter.Seq2[RefusedLink, error] {
	return func(yield func(RefusedLink, error) bool) {
		path := filepath.Join(a.dir, store.LinksFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			yield(RefusedLink{}, ErrNoLinks)
			return
		}
		f := a.newFilter()
		err := a.admitAll(f.scope)
		memory, wanted := &linkMemory{yielded: map[uint64]struct{}{}, linked: map[uint64]struct{}{}}, true
		if err == nil {
			var bad error // an error of the state, or of Quit
			err = scanLines(path, a.quit, `"to":"`, func(line []byte) bool {
				var l RefusedLink
				var refused bool
				if l, refused, bad = a.refusedBy(f, line, memory); bad == nil && refused {
					wanted = yield(l, nil)
				}
				return bad == nil && wanted
			})
			err = cmp.Or(bad, err)
		}
		if err != nil && wanted {
			yield(RefusedLink{}, err)
		}
	}
}

// refusedBy returns the link of a line, if it is to a URL that has not entered the crawl
// and was not yielded before.
func (a *Account) refusedBy(f *filter, line []byte, memory *linkMemory) (l RefusedLink, refused bool, err error) {
	if memory.lines++; memory.lines%1000 == 0 {
		if err := a.quit(); err != nil {
			return l, false, err
		}
	}
	text, known := memory.known(line)
	if known || json.Unmarshal(line, &l.LinkRecord) != nil || len(l.Hop) != 1 {
		return l, false, nil // the last line may be incomplete
	}
	if l.To, err = frontier.ParseURL(l.LinkRecord.To); err != nil {
		return l, false, nil
	}
	key := xxh3.HashString(l.To.Key())
	_, known = memory.yielded[key]
	if !known {
		if _, known, err = a.from.Entry(l.To); err != nil {
			return l, false, err
		}
	}
	if !known {
		memory.remember(key)
		if err = a.judge(f, &l.LinkFact, l.To); l.Code == frontier.Undecided {
			l.Code = frontier.Unknown
		}
	}
	memory.link(text)
	return l, !known, err
}

// admitAll adds the seeds of all sites and the stored roots to the scope.
func (a *Account) admitAll(scope crawler.Scope) error {
	if err := a.admitStored(scope); err != nil {
		return err
	}
	for site, err := range a.from.Names() {
		if err == nil {
			err = a.admitSeeds(scope, site)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
