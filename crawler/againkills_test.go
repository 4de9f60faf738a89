package crawler_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
)

const (
	endlessSites = 3
	endlessPages = 5 // number of pages of each site
)

// killedEndless runs a crawl without an end in dir. If a file named enough exists next to dir, the
// run ends by its patience.
func killedEndless(dir, address string) error {
	o, err := killedOptions(endlessSites, dir, address)
	if err != nil {
		return err
	}
	o.Delay, o.Revisit = time.Millisecond, revisit.Fixed{Every: 20 * time.Millisecond}
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "enough")); err == nil {
		o.Revisit = nil
	}
	return sayPages(o)
}

// A restlessWeb has pages that never change, and answers 304 to conditional requests. The first
// page of each site is an exception: it changes at each request.
type restlessWeb struct {
	mu   sync.Mutex
	sent int
}

func (w *restlessWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := strconv.Atoi(r.URL.Path[1:])
	if err != nil || n >= endlessPages {
		http.NotFound(rw, r)
		return
	}
	w.sent++
	rw.Header().Set("Content-Type", "text/html")
	if n == 0 {
		fmt.Fprint(rw, "<p>", w.sent, "</p>")
	} else {
		rw.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
	}
	fmt.Fprintf(rw, `%s <a href="/%d">x</a>`, strings.Repeat(r.Host+r.URL.Path, 20), n+1)
}

// A crawl without an end is killed again and again. At the end its state agrees with its files: no
// visit that was written is forgotten, except a visit that was running at the kill.
func TestKillsLoseNoVisit(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "a.crawl")
	k := newKiller(t, "endless", new(restlessWeb), "PERMESSO_ENDLESS_KILLS", "6")
	for range k.kills {
		k.kill(dir, 150)
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("after a kill: %v", err) }); err != nil {
			t.Error(err)
		}
		s, err := crawler.ReadStatus(dir)
		if err != nil {
			t.Fatal(err)
		}
		if is, counted := s.Crawl, figuresOf(t, dir); is.Again != counted.Again || is.Done != counted.Done {
			t.Errorf("after a kill: the status says %+v, counted are %+v", is, counted)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "enough"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	k.end(dir)
	lines, changed := map[string]int{}, map[string]int{}
	for p, err := range store.ReadPages(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		lines[p.URL]++
		if p.Change == string(crawler.ChangeModified) {
			changed[p.URL]++
		}
	}
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// total is the number of visits in the files, again the number of them after the first visit of
	// a page
	total, again := 0, 0
	for s := range endlessSites {
		for n := range endlessPages {
			e, ok, err := r.Entry(mustURL(t, fmt.Sprintf("http://s%d.test/%d", s, n)))
			if err != nil || !ok || e.Visits == nil {
				t.Fatalf("s%d/%d: %+v, %v, %v", s, n, e, ok, err)
			}
			// The last visit ran without a policy: it ends the entry and adds nothing to its
			// history.
			url, v := e.URL.String(), e.Visits
			if visits := v.Seen + 2; visits > lines[url] {
				t.Errorf("%s: %d visits are known, %d are written", url, visits, lines[url])
			} else {
				again += lines[url] - visits
			}
			if n == 0 && v.Changes != v.Seen || n > 0 && v.Changes != 0 || n > 0 && changed[url] != 0 {
				t.Errorf("%s: %+v, %d changes are written", url, v, changed[url])
			}
			total += lines[url]
		}
	}
	if most := k.kills * endlessSites; again > most { // most counts the visits that were running at a kill
		t.Errorf("%d visits are written and not known, want %d at most", again, most)
	}
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
	if report, err := audit.Dir(dir, audit.Options{}); err != nil || !report.Clean() {
		t.Errorf("the audit says %+v, %v", report, err)
	}
	t.Logf("%d visits of %d pages, %d kills; %d of them were not known", total, len(lines), k.kills, again)
}
