//go:build unix

package postgres_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/internal/store"
)

// An asked is a request that the web has answered.
type asked struct {
	host, path string
	begin, end time.Time
	robots     bool
	rest       time.Duration // of the field Retry-After
}

// A web is a number of hosts with pages. Only one page links to each page, often a page of another
// host. So a lost link means lost pages.
type web struct {
	run  *faultyRun
	addr string

	mu   sync.Mutex
	all  []asked
	seen map[string]bool // pages that were requested; only used if run.troubled is set
	open map[string]int  // for each host, the number of requests that are under way
	both []string        // hosts that had two requests at the same time
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	host := strings.TrimSuffix(r.Host, ":80")
	a := asked{host: host, path: r.URL.Path, begin: time.Now(), robots: r.URL.Path == "/robots.txt"}
	w.mu.Lock()
	if w.open[host]++; w.open[host] > 1 {
		w.both = append(w.both, host+r.URL.Path)
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open[host]--
		a.end = time.Now()
		w.all = append(w.all, a)
	}()
	// Some hosts redirect robots.txt to a host of another partition.
	if a.robots {
		if h, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(host, "h"), ".example")); err == nil && h%4 == 1 {
			http.Redirect(rw, r, fmt.Sprintf("http://r%d.example/robots.txt", h/8), http.StatusFound)
			return
		}
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "text/html")
	if next, ok := nextInChain(host, r.URL.Path); ok {
		fmt.Fprintf(rw, "<a href=\"%s\">x</a>\n", next)
		return
	}
	n := w.number(host, r.URL.Path)
	if n < 0 || n >= w.total() {
		http.NotFound(rw, r)
		return
	}
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	// The pages from total/2 on have no links, so their retries do not wait for each other.
	if w.run.troubled && n >= w.total()/2 && n%7 < 3 && w.first(host+r.URL.Path) {
		switch n % 7 {
		case 0:
			a.rest = time.Second
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			rw.WriteHeader(http.StatusInternalServerError)
		case 2:
			panic(http.ErrAbortHandler)
		}
		return
	}
	if n == 0 && w.run.orders > 0 {
		fmt.Fprintf(rw, "<a href=\"http://x0.example/\">x</a>\n")
	}
	for _, child := range []int{2*n + 1, 2*n + 2} {
		if child < w.total() {
			fmt.Fprintf(rw, "<a href=\"%s\">x</a>\n", w.url(child))
		}
	}
}

// first reports whether this is the first call for a page.
func (w *web) first(page string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	first := !w.seen[page]
	w.seen[page] = true
	return first
}

func (w *web) total() int { return w.run.hosts * w.run.pages }

func (w *web) url(n int) string {
	return fmt.Sprintf("http://h%d.example/%s", n%w.run.hosts, strings.TrimPrefix(strconv.Itoa(n/w.run.hosts), "0"))
}

func (w *web) number(host, path string) int {
	h, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(host, "h"), ".example"))
	p, err2 := strconv.Atoi(cmp.Or(strings.TrimPrefix(path, "/"), "0"))
	if err != nil || err2 != nil {
		return -1
	}
	return p*w.run.hosts + h
}

// below reports whether page n, or a page on the path to it, is in waits.
func (w *web) below(n int, waits map[string]bool) bool {
	for ; ; n = (n - 1) / 2 {
		if waits[w.url(n)] {
			return true
		}
		if n == 0 {
			return false
		}
	}
}

// waiting returns the URLs that wait for another try, because a node stood still while it fetched
// them.
func waiting(t *testing.T, url string) map[string]bool {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), "select e.url from crawl.entry e join crawl.queue q using (part, site, key) where q.due is not null")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	urls, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range urls {
		all[u] = true
	}
	return all
}

// check compares the requests to the web with its pages, and with the files of the nodes.
func (w *web) check(t *testing.T, all []*process, waits map[string]bool, faults string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := map[string]asked{}
	times := map[string]int{}
	early, least := 0, time.Hour
	for _, a := range w.all {
		times[a.host+a.path]++
		if before, ok := last[a.host]; ok {
			gap := a.begin.Sub(before.end)
			least = min(least, gap)
			if gap < max(w.run.delay, before.rest) {
				early++
				t.Errorf("%s%s was requested %v after %s", a.host, a.path, gap, before.path)
			}
		}
		last[a.host] = a
	}
	if len(w.both) > 0 {
		t.Errorf("%d times two requests at once: %v", len(w.both), w.both)
	}
	written := map[string]int{}
	lines := 0
	for _, p := range all {
		f, err := os.Open(filepath.Join(p.dir, store.PagesFile))
		if err != nil {
			t.Error(err)
			continue
		}
		defer f.Close()
		scan := bufio.NewScanner(f)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			var page struct{ URL string }
			if err := json.Unmarshal(scan.Bytes(), &page); err != nil {
				t.Errorf("%s: %v", f.Name(), err)
			}
			written[page.URL]++
			lines++
		}
	}
	if w.run.faults+w.run.crashes+w.run.promotions == 0 && len(waits) > 0 {
		t.Errorf("the crawl has ended without these retries: %v", waits)
	}
	lost, again := 0, 0
	for n := range w.total() {
		u := w.url(n)
		if written[u] == 0 && !w.below(n, waits) && w.run.limit == 0 {
			lost++
			t.Errorf("%s was lost: it was requested %d times", u, times[strings.TrimPrefix(u, "http://")])
		}
		asked := times[strings.TrimPrefix(u, "http://")]
		again += max(0, asked-1)
		if written[u] > asked {
			t.Errorf("%s is in the files %d times, and was requested %d times", u, written[u], asked)
		}
	}
	twice := lines - len(written)
	if t.Failed() {
		for _, p := range all {
			said, _ := os.ReadFile(p.dir + ".log")
			t.Logf("%s: %s", p.dir, said[max(0, len(said)-4000):])
		}
	}
	t.Logf("%d wait; %d pages on %d hosts, %d nodes, %s: %d requests, %d lost, %d early, least pause %v, %d at once, %d fetched again, %d written twice",
		len(waits), w.total(), w.run.hosts, w.run.nodes, faults, len(w.all), lost, early, least, len(w.both), again, twice)
}
