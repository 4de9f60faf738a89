package provenance

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A before reads from the previous crawl what happened to its URLs, and counts pages that are
// gone in this crawl (see take).
type before struct {
	state *store.Reader // nil: there is no previous crawl, or it cannot be read
	gone  int64
}

// openBefore opens the previous crawl. If the crawl has no previous crawl, or it cannot be
// read, the state of the result is nil.
func (w *writer) openBefore() *before {
	dir := w.asked["previous"]
	if dir == "" {
		return &before{}
	}
	dir, _ = store.LocatePrevious(w.dir, dir)
	if _, err := os.Stat(filepath.Join(dir, store.StateFile)); err != nil {
		return &before{}
	}
	state, err := store.OpenReader(dir)
	if err != nil { // ignore the error, because a previous crawl that cannot be read counts as missing
		return &before{}
	}
	return &before{state: state}
}

// take counts a page as gone if it has status 404 or 410 in this crawl, and was fetched without
// an error in the previous crawl. If the previous crawl cannot be read, take closes it, so that
// count returns nil.
func (b *before) take(p *store.PageRecord) {
	if b.state == nil || p.Status != http.StatusNotFound && p.Status != http.StatusGone {
		return
	}
	u, err := frontier.ParseURL(p.URL)
	if err != nil {
		return
	}
	k, known, err := b.state.Entry(u)
	if err != nil {
		b.close() // the results so far may be wrong, too
		return
	}
	if known && account.CodeOf(k.Fate) == frontier.Fetched && k.Fate.Status < 400 {
		b.gone++
	}
}

// count returns the number of pages that are gone, or nil if the number is not known.
func (b *before) count() *int64 {
	if b.state == nil {
		return nil
	}
	return &b.gone
}

func (b *before) close() (err error) {
	if b.state != nil {
		err = b.state.Close()
	}
	b.state = nil
	return err
}
