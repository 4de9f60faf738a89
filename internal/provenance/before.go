package provenance

import (
	"net/http"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// A before is what the crawl before knows of URLs.
type before struct {
	state *storage.Reader // nil: there is none, or it cannot be read
	gone  int64
}

// openBefore opens the crawl before this one, where that can be done.
func (w *writer) openBefore() *before {
	dir := w.asked["previous"]
	if dir == "" {
		return &before{}
	}
	dir, _ = storage.LocatePrevious(w.dir, dir)
	if _, err := os.Stat(filepath.Join(dir, storage.StateFile)); err != nil {
		return &before{}
	}
	state, err := storage.OpenReader(dir)
	if err != nil { // what cannot be read any more says nothing
		return &before{}
	}
	return &before{state: state}
}

// take counts a page that is gone: it is not there any more, and was answered without an
// error in the crawl before. What cannot be read of that ends the counting.
func (b *before) take(p *storage.PageRecord) {
	if b.state == nil || p.Status != http.StatusNotFound && p.Status != http.StatusGone {
		return
	}
	u, err := frontier.ParseURL(p.URL)
	if err != nil {
		return
	}
	k, known, err := b.state.Entry(u)
	if err != nil {
		b.close() // what was read of it was wrong already
		return
	}
	if known && crawler.StandingOf(k.Fate) == crawler.StandsFetched && k.Fate.Status < 400 {
		b.gone++
	}
}

// count is how many are gone; nil where nobody knows.
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
