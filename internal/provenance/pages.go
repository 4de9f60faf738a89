package provenance

import (
	"cmp"
	"errors"
	"io/fs"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// mostLicenses is how many different license URLs are counted.
const mostLicenses = 10 * mostNames

// readPages computes the counts that come from pages.jsonl. It does nothing if the crawl does
// not write that file.
func (w *writer) readPages() (err error) {
	f := &w.Figures
	licenses := map[string]int64{}
	before := w.openBefore()
	defer func() { err = errors.Join(err, before.close()) }()
	for p, err := range store.ReadPages(w.ctx, w.dir) {
		var damaged *store.DamagedError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.As(err, &damaged):
			continue
		case err != nil:
			return cmp.Or(w.quit(), err)
		}
		f.Pages++
		if before.take(p); p.Change != "" && (frontier.Entry{Hops: p.Hops}).Page() {
			count(f.PageChanges, p.Change)
		}
		for is, n := range map[*int64]bool{&f.Truncated: p.Truncated != "", &f.NoIndex: p.NoIndex, &f.NoArchive: p.NoArchive, &f.Refused: p.Refused != ""} {
			if n {
				*is++
			}
		}
		if p.Charset != "" {
			count(f.Charsets, p.Charset)
		}
		for _, u := range p.Usage {
			said := u.Use + " refused"
			if u.Granted {
				said = u.Use + " granted"
			}
			count(f.Usage, said)
		}
		for _, of := range [][]string{p.License, p.TDMPolicy} {
			for _, url := range of {
				tallyFirst(licenses, url, mostLicenses)
			}
		}
	}
	f.Licenses = topOf(licenses)
	f.HasPages, f.Gone = true, before.count()
	return nil
}
