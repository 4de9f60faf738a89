package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/internal/wacz"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// WriteCDXJ writes the index of all WARC files, sorted by its bytes, and returns the number of
// its lines. The error is ErrNoWARC if there are no WARC files.
func (s *Source) WriteCDXJ(ctx context.Context, w io.Writer) (int64, error) {
	if len(s.WARCs) == 0 {
		return 0, ErrNoWARC
	}
	index := cdxj.NewSorter(s.Temp, s.Memory)
	defer index.Close()
	err := read(ctx, s, &reader[*indexLines]{
		new:  func() *indexLines { return new(indexLines) },
		work: (*indexLines).record,
		size: func(l *indexLines) int { return len(l.text) },
		use: func(l *indexLines) error {
			for line := range bytes.Lines(l.text) {
				if err := index.AddLine(line); err != nil {
					return err
				}
			}
			return nil
		},
		damaged: s.damaged,
	})
	if err != nil {
		return 0, err
	}
	_, err = index.WriteTo(&cancelled{ctx, w})
	return index.Len(), err
}

// indexLines has lines of an index, with their newlines.
type indexLines struct{ text []byte }

// record adds the line of a record. It does nothing if an index does not list the record.
func (l *indexLines) record(rec *warc.Record, name string) error {
	e, err := cdxj.NewEntry(rec, name)
	if err != nil || e == nil {
		return err
	}
	l.text, err = e.Append(l.text)
	return err
}

// A cancelled is a writer that fails after its context has ended.
type cancelled struct {
	ctx context.Context
	w   io.Writer
}

func (c *cancelled) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}

// WriteWACZ packs all WARC files. It fills in the empty fields of p: the pages, the main page,
// and the directory for temporary files. The pages are the HTML pages of pages.jsonl with a 2xx
// status, in their order; without a pages.jsonl, they are those of the archive. The main page
// is the first of these pages that is a seed, or to which a seed redirects. WriteWACZ returns
// how many pages it has listed.
//
// A record of this crawl may repeat an answer of an earlier crawl. Such answers are copied into
// the package, so that it can be replayed without the earlier crawl. If an answer is not found,
// the records that repeat it are counted in s.Missing. The first ten of these records are also
// reported as Damage that wraps a *store.MissingAnswerError, unless the answer was purged.
// The index does not list a 304 itself, but a record of the answer that the 304 repeats.
//
// The error is ErrNoWARC if there are no WARC files, and ErrOpen if one of them is not
// finished. A damaged WARC file cannot be packed.
func (s *Source) WriteWACZ(ctx context.Context, w io.Writer, p wacz.Package) (int64, error) {
	if len(s.WARCs) == 0 {
		return 0, ErrNoWARC
	}
	for _, path := range s.WARCs {
		if strings.HasSuffix(path, openSuffix) {
			return 0, fmt.Errorf("%s: %w", path, ErrOpen)
		}
	}
	p.WARCs, s.Missing = s.WARCs, Missing{}
	switch more, stood, remove, err := s.referredTo(ctx); {
	case err != nil:
		return 0, err
	case more != "":
		p.Unlisted = stood
		defer remove()
		p.WARCs = append(slices.Clip(p.WARCs), more)
	}
	if p.Temp == "" {
		p.Temp = s.Temp
	}
	if p.MainPageURL == "" {
		var err error
		if p.MainPageURL, err = s.mainPage(ctx); err != nil {
			return 0, err
		}
	}
	if p.Pages == nil {
		p.Pages = s.archivePages(ctx)
	}
	var n int64
	pages := p.Pages
	p.Pages = func(yield func(wacz.Page, error) bool) {
		for page, err := range pages {
			if err == nil {
				n++
			}
			if !yield(page, err) {
				return
			}
		}
	}
	return n, wacz.Write(ctx, &cancelled{ctx, w}, &p)
}

func isPage(status int, mediaType string) bool {
	return status/100 == 2 && (mediaType == "text/html" || mediaType == "application/xhtml+xml")
}

// archivePages yields the HTML pages of the archive, for the list of pages in a package.
func (s *Source) archivePages(ctx context.Context) iter.Seq2[wacz.Page, error] {
	return func(yield func(wacz.Page, error) bool) {
		n, more := 0, true
		put := func(p wacz.Page) {
			n++
			p.ID = strconv.Itoa(n)
			more = yield(p, nil)
		}
		if s.Pages == "" {
			for r, err := range s.Rows(ctx) {
				if err != nil {
					yield(wacz.Page{}, err)
					return
				}
				if r.Method == "" && isPage(r.Status, r.Type) {
					put(wacz.Page{URL: r.URL, Time: r.Time})
				}
				if !more {
					return
				}
			}
			return
		}
		err := pages(ctx, s, same, func(p *store.PageRecord) error {
			if p.Refused == "" && p.Method == "" && isPage(p.Status, p.Type) {
				put(wacz.Page{URL: p.URL, Time: p.Time, Title: p.Title})
			}
			if !more {
				return errStop
			}
			return nil
		})
		if err != nil && err != errStop {
			yield(wacz.Page{}, err)
		}
	}
}

// errStop is returned by a callback to stop reading, because it has found what it needs.
var errStop = errors.New("enough")

func (s *Source) mainPage(ctx context.Context) (string, error) {
	if s.Pages == "" {
		return "", nil
	}
	file, err := s.open(s.Pages)
	if err != nil {
		return "", err
	}
	defer file.Close()
	url := ""
	// Ignore damage here, because it is reported when the pages are listed.
	err = readPages(ctx, file, s.Pages, lines.Split{Workers: 1}, same, func(p *store.PageRecord) error {
		if p.Refused == "" && p.Method == "" && isPage(p.Status, p.Type) && p.Depth == 0 && strings.Trim(p.Hops, string(frontier.HopRedirect)) == "" {
			url = p.URL
			return errStop
		}
		return nil
	}, func(*Damage) error { return nil })
	if err == errStop {
		err = nil
	}
	return url, err
}
