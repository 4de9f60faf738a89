package crawler_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
)

const (
	secondSites = 5
	secondPages = 30 // number of pages of each site
)

// killedSecond runs a crawl in dir. If there is a directory first.crawl next to dir, it is the
// previous crawl.
func killedSecond(dir, address string) error {
	o, err := killedOptions(secondSites, dir, address)
	if err != nil {
		return err
	}
	if first := filepath.Join(filepath.Dir(dir), "first.crawl"); first != dir {
		o.Previous = first
	}
	return sayPages(o)
}

// A stillWeb has pages that do not change, and answers 304 to conditional requests.
type stillWeb struct {
	mu     sync.Mutex
	robots map[string]int // number of requests for robots.txt by host
	sent   int            // number of pages that were sent with a body
}

func (w *stillWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := strconv.Atoi(r.URL.Path[1:])
	if r.URL.Path == "/robots.txt" {
		w.robots[r.Host]++
		io.WriteString(rw, "User-agent: *\nDisallow: /no\n")
		return
	}
	if err != nil || n >= secondPages {
		http.NotFound(rw, r)
		return
	}
	if n%3 != 0 { // every third page has no ETag and no Last-Modified
		rw.Header().Set("ETag", `"1"`)
	}
	if r.Header.Get("If-None-Match") != "" {
		rw.WriteHeader(http.StatusNotModified)
		return
	}
	w.sent++
	rw.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(rw, `%s <a href="/%d">1</a> <a href="/%d">2</a>`, strings.Repeat(r.Host+r.URL.Path, 20), (2*n+1)%secondPages, (2*n+2)%secondPages)
}

// since returns the number of pages that were sent since its last call, and the number of requests
// for robots.txt by host since the beginning.
func (w *stillWeb) since() (sent int, robots map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent, w.sent = w.sent, 0
	return sent, maps.Clone(w.robots)
}

// A crawl with a previous crawl is killed again and again. At the end it has each page once, with
// its class of change. It has copied robots.txt from the previous crawl. Its files are consistent,
// and its revisit records refer to existing bodies.
func TestKillsOfASecondCrawlLoseNothing(t *testing.T) {
	w := &stillWeb{robots: map[string]int{}}
	root := t.TempDir()
	k := newKiller(t, "second", w, "PERMESSO_SECOND_KILLS", "12")
	k.end(filepath.Join(root, "first.crawl"))
	if sent, _ := w.since(); sent != secondSites*secondPages {
		t.Fatalf("the first crawl has %d pages", sent)
	}
	second := filepath.Join(root, "second.crawl")
	for range k.kills {
		k.kill(second, 8)
		if _, err := store.Verify(t.Context(), second, func(err error) { t.Errorf("after a kill: %v", err) }); err != nil {
			t.Error(err)
		}
	}
	k.end(second)
	pages := pagesIn(t, second)
	for url, p := range pages {
		if p.Change != string(crawler.ChangeNotModified) || p.Status != http.StatusOK || p.Size == 0 {
			t.Errorf("%s: %+v", url, p)
		}
	}
	if len(pages) != secondSites*secondPages {
		t.Errorf("%d pages, want %d", len(pages), secondSites*secondPages)
	}
	sent, robots := w.since()
	for host, n := range robots {
		if n != 1 {
			t.Errorf("robots.txt of %s was requested %d times", host, n)
		}
	}
	if _, err := store.Verify(t.Context(), second, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
	if report, err := audit.Dir(second, audit.Options{}); err != nil || !report.Clean() {
		t.Errorf("the audit says %+v, %v", report, err)
	}
	for _, body := range []string{"s0.test/1s0.test/1", "s0.test/3s0.test/3"} {
		for _, path := range func() []string { files, _ := store.ArchiveFiles(second); return files }() {
			if strings.Contains(string(unzipped(t, path)), body) {
				t.Errorf("%s has a body that the first crawl has", path)
			}
		}
	}
	t.Logf("%d pages after %d kills, %d of them sent", len(pages), k.kills, sent)
}
