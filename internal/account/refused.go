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

// ErrNoLinks is returned if a crawl has no links.jsonl.
var ErrNoLinks = errors.New("crawler: the crawl keeps no links: OutputLinks")

// The bounds of the memory for linked URLs.
const (
	maxRefused = 1 << 20 // number of refused URLs
	maxLinked  = 1 << 20 // number of linked URLs; they are remembered because most lines repeat the URL of an earlier line
)

// A linkMemory remembers which linked URLs were read before.
type linkMemory struct {
	yielded map[uint64]struct{}
	linked  map[uint64]struct{} // hashes of the URLs, as written in links.jsonl, whose lines can be skipped
	lines   int                 // number of lines that were read
}

// known reports whether an earlier line had the same linked URL, so that this line can be
// skipped. If not, key is the key under which to remember the URL, or 0 if the URL cannot be
// remembered.
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

// remember adds a URL that was yielded. If there are too many, it first forgets all of them;
// they may then be yielded again.
func (m *linkMemory) remember(key uint64) {
	if len(m.yielded) >= maxRefused {
		clear(m.yielded)
		clear(m.linked)
	}
	m.yielded[key] = struct{}{}
}

// link adds a linked URL by the key that known has returned.
func (m *linkMemory) link(key uint64) {
	if len(m.linked) >= maxLinked {
		clear(m.linked)
	}
	if key != 0 {
		m.linked[key] = struct{}{}
	}
}

// A RefusedLink is a link of a page to a URL that was never queued.
type RefusedLink struct {
	To frontier.URL
	LinkFact
}

// Refused iterates over the links in links.jsonl to URLs that were never queued, in the order
// in which they were found. Each has the reason, by the settings of the last run. Only the
// first link to each URL is yielded; but after a million other URLs, another link to the same
// URL may be yielded. The last pair may have an error: ErrNoLinks, an error of the file system,
// or an error of the state.
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

// refusedBy returns the link in a line. refused is true if its URL was never queued, and the
// link was not yielded before.
func (a *Account) refusedBy(f *filter, line []byte, memory *linkMemory) (l RefusedLink, refused bool, err error) {
	if memory.lines++; memory.lines%1000 == 0 {
		if err := a.quit(); err != nil {
			return l, false, err
		}
	}
	text, known := memory.known(line)
	if known || json.Unmarshal(line, &l.LinkRecord) != nil || len(l.Hop) != 1 {
		return l, false, nil // ignore the error, because the last line may be incomplete
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

// admitAll adds the seeds of all sites to the scope, and the stored URLs to which seeds have
// redirected.
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
