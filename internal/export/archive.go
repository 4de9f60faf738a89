package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/wacz"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// WriteCDXJ writes the index of all WARC files, sorted by its bytes, and returns
// how many lines it has. The error is ErrNoWARC where there are none.
func (s *Source) WriteCDXJ(ctx context.Context, w io.Writer) (int64, error) {
	if len(s.WARCs) == 0 {
		return 0, ErrNoWARC
	}
	index := cdxj.NewSorter(s.Temp, s.Memory)
	defer index.Close()
	err := s.records(ctx, func(rec *warc.Record, name string) error {
		e, err := cdxj.NewEntry(rec, name)
		if err != nil || e == nil {
			return err
		}
		return index.Add(e)
	})
	if err != nil {
		return 0, err
	}
	_, err = index.WriteTo(&cancelled{ctx, w})
	return index.Len(), err
}

// cancelled is a writer that ends with its context.
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

// WriteWACZ packs all WARC files. What p leaves open is filled in: the pages,
// which are the HTML pages of pages.jsonl with a 2xx status in their order (of
// the archive, where there is no pages.jsonl); as main page the first of them
// that a seed led to, by redirects at most; and the directory for temporary
// files. Answers of earlier crawls that records here repeat are copied from there, so
// that the package can be replayed alone. Records whose answer is nowhere are counted in
// s.Missing; those whose answer was not purged are told as Damage, too, which wraps a
// *storage.AwayError (of each answer the first ten).
// In the index a record of the answer that a 304 repeats stands for that.
// It returns how many pages it has listed.
//
// The error is ErrNoWARC without WARC files, and ErrOpen where one is not
// finished. A WARC file that is damaged cannot be packed.
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
	return n, wacz.Write(&cancelled{ctx, w}, &p)
}

func isPage(status int, mediaType string) bool {
	return status/100 == 2 && (mediaType == "text/html" || mediaType == "application/xhtml+xml")
}

// archivePages are the pages for people to start from.
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
		err := s.pages(ctx, func(p *storage.PageRecord) error {
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

// errStop ends a reading that has found what it looked for.
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
	// What is damaged is told of when the pages are listed.
	err = readPages(ctx, file, s.Pages, func(p *storage.PageRecord) error {
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
