package crawler_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

const (
	killedSites = 7
	killedRows  = 3 // rows of each page
	killedBatch = 8 // rows of a batch; more than a page has, so that pages are split
)

// killedLoop runs a loop over Batches. It appends the rows to a file, and prints its progress.
func killedLoop(dir, address string) error {
	o, err := killedOptions(killedSites, filepath.Join(dir, "crawl.d"), address)
	if err != nil {
		return err
	}
	o.Output, o.Logger = []crawler.Output{crawler.OutputWARC, crawler.OutputPages}, nil
	c, err := crawler.New(o)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(dir, "rows"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	parse := func(_ context.Context, p *crawler.Page) (rows []string, err error) {
		for i := range killedRows {
			rows = append(rows, fmt.Sprintf("%s %d\n", p.URL, i))
		}
		return rows, nil
	}
	for rows, err := range crawler.Batches(context.Background(), c, killedBatch, 50*time.Millisecond, parse) {
		if err != nil {
			return err
		}
		fmt.Println("has a batch")
		if _, err := io.WriteString(out, strings.Join(rows, "")); err != nil {
			return err
		}
		fmt.Println("has written it")
	}
	return nil
}

// A killedWeb is a web that grows while it is crawled: each new page links to a next page and to an
// earlier one. When grow is false, new pages have no links.
type killedWeb struct {
	mu    sync.Mutex
	grow  bool
	pages map[string]string // the bodies of pages by URL; a page never changes
	asked map[string]int
}

func (w *killedWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	url := "http://" + r.Host + r.URL.Path
	if _, ok := w.pages[url]; !ok {
		w.pages[url] = ""
		if w.grow {
			w.pages[url] = fmt.Sprintf(`<a href="/%d">1</a> <a href="/%d">2</a>`, n+1, n/2)
		}
	}
	w.asked[url]++
	rw.Header().Set("Content-Type", "text/html")
	io.WriteString(rw, w.pages[url])
}

// A loop over Batches is killed again and again at any point: in the visit of a page, before the
// page is marked as fetched, and inside the body. At the end each row of each page was written at
// least once.
func TestKillsLoseNoRow(t *testing.T) {
	w := &killedWeb{grow: true, pages: map[string]string{}, asked: map[string]int{}}
	dir := t.TempDir()
	k := newKiller(t, "loop", w, "PERMESSO_BATCH_KILLS", "20")
	for range k.kills {
		k.kill(dir, 60) // two lines are printed for each batch
	}
	w.mu.Lock()
	w.grow = false
	w.mu.Unlock()
	k.end(dir)
	raw, err := os.ReadFile(filepath.Join(dir, "rows"))
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]int{}
	for row := range bytes.Lines(raw) {
		written[string(row)]++
	}
	lost, again := 0, 0
	for _, url := range slices.Sorted(maps.Keys(w.pages)) {
		for i := range killedRows {
			n := written[fmt.Sprintf("%s %d\n", url, i)]
			if n == 0 {
				lost++
				t.Errorf("row %d of %s was lost, which was requested %d times", i, url, w.asked[url])
			}
			again += max(0, n-1)
		}
	}
	if rows := killedRows * len(w.pages); lost > 0 || len(written) != rows {
		t.Errorf("%d rows of %d, %d lost", len(written), rows, lost)
	}
	if _, err := store.Verify(t.Context(), filepath.Join(dir, "crawl.d"), func(err error) { t.Errorf("store.Verify: %v", err) }); err != nil {
		t.Error(err)
	}
	t.Logf("%d rows of %d pages after %d kills; %d came again", len(written), len(w.pages), k.kills, again)
}
