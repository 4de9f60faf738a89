package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
)

const (
	killsSites = 20
	killsDelay = 20 * time.Millisecond
	// Every other site has a Crawl-delay longer than the start of a crawl, so that a crawl
	// that has forgotten its last request is caught.
	killsCrawlDelay = 250 * time.Millisecond
)

// pause returns the pause that a site requires between the last request and one for path.
// Before the crawler has read robots.txt it is not known.
func pause(host, path string) time.Duration {
	if path != "/robots.txt" && slow(host) {
		return killsCrawlDelay
	}
	return killsDelay
}

func slow(host string) bool { return strings.IndexByte("13579", host[len("h")]) >= 0 }

// A growingWeb has new pages linked from every page, until it is stopped. It logs all
// requests, like a site owner.
type growingWeb struct {
	t       *testing.T
	open    *connections
	mu      sync.Mutex
	grow    bool
	run     int                 // how often the crawler was started before
	links   map[string][]string // links of a page that was served, which does not change
	known   map[string]bool     // URLs that were linked
	counter map[string]int      // pages by host
	served  map[string][]int    // runs in which a URL was requested
	safe    map[string]bool     // URLs that the crawl had acknowledged at a kill
	last    map[string]time.Time
}

func (w *growingWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	now := time.Now()
	if r.Host == probeHost {
		w.mu.Unlock()
		return
	}
	// From the beginning of an answer to the next request: not more than the time that the
	// crawler measures from the end of the answer.
	if last, asked := w.last[r.Host]; asked && now.Sub(last) < pause(r.Host, r.URL.Path) {
		w.t.Errorf("run %d: %s got a request for %s %v after the last one", w.run, r.Host, r.URL.Path, now.Sub(last))
	}
	body := w.answer("http://"+r.Host+r.URL.Path, r)
	w.last[r.Host] = time.Now()
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "text/html")
	rw.Write(body)
}

// answer requires that mu is held.
func (w *growingWeb) answer(url string, r *http.Request) []byte {
	if r.URL.Path == "/robots.txt" {
		if slow(r.Host) {
			return fmt.Appendf(nil, "User-agent: *\nCrawl-delay: %v\n", killsCrawlDelay.Seconds())
		}
		return nil
	}
	if w.safe[url] {
		w.t.Errorf("run %d: %s was requested again, and was already safe", w.run, url)
	}
	if before := w.served[url]; len(before) > 0 && before[len(before)-1] == w.run {
		w.t.Errorf("run %d: %s was requested twice", w.run, url)
	}
	w.served[url] = append(w.served[url], w.run)
	if w.links[url] == nil {
		w.links[url] = w.more(r.Host, url)
	}
	var b bytes.Buffer
	for _, link := range w.links[url] {
		fmt.Fprintf(&b, "<a href=%q>x</a>\n", link)
	}
	return b.Bytes()
}

// more returns random links for a page, drawn by its URL.
func (w *growingWeb) more(host, url string) []string {
	h := fnv.New64a()
	h.Write([]byte(url))
	r := rand.New(rand.NewPCG(h.Sum64(), 5))
	links := []string{"http://" + host + "/0"}
	for range r.IntN(8) { // known or new
		to, most := fmt.Sprintf("h%d.test", r.IntN(killsSites)), max(1, w.counter[host])
		if slow(to) {
			most = min(most, 10) // or the crawl would take long to end
		}
		links = append(links, fmt.Sprintf("http://%s/%d", to, r.IntN(most)))
	}
	if w.grow {
		more := 1 + r.IntN(2)
		if slow(host) {
			more = 1
		}
		for range more {
			w.counter[host]++
			links = append(links, fmt.Sprintf("http://%s/%d", host, w.counter[host]))
		}
	}
	for _, link := range links {
		w.known[link] = true
	}
	return links
}

// next waits until the requests of a killed crawler are answered: they do not count as
// requests of the next one.
func (w *growingWeb) next(address string) {
	w.t.Helper()
	w.open.drain(w.t, address)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run++
}

// killsOfOne is how often one crawl is killed: the cost of comparing its files grows with
// each.
const killsOfOne = 50

// TestKills kills real crawls as often as $PERMESSO_KILLS says, at random moments, and then
// lets them finish. After each kill all files are compared with each other. $PERMESSO_SEED
// sets the order of the moments; which step they hit depends on the machine.
func TestKills(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv("PERMESSO_KILLS"))
	if err != nil {
		t.Skip("PERMESSO_KILLS=200 says how often")
	}
	seed, err := strconv.ParseUint(os.Getenv("PERMESSO_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("PERMESSO_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 6))
	binary := filepath.Join(t.TempDir(), "crawl")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	start := time.Now()
	for left := kills; left > 0 && !t.Failed(); left -= killsOfOne {
		killOne(t, binary, random, min(left, killsOfOne))
	}
	t.Logf("%d kills, %v for each", kills, time.Since(start)/time.Duration(max(kills, 1)))
}

// killOne kills one crawl kills times.
func killOne(t *testing.T, binary string, random *rand.Rand, kills int) {
	w := &growingWeb{
		t: t, grow: true, links: map[string][]string{}, known: map[string]bool{}, counter: map[string]int{},
		served: map[string][]int{}, safe: map[string]bool{}, last: map[string]time.Time{}, open: newConnections(),
	}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: w, ConnState: w.open.state, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	// The web. It ends with the crawl.
	go func() { served <- server.Serve(listen) }()
	defer func() {
		server.Close()
		<-served
	}()
	address := listen.Addr().String()

	work := t.TempDir()
	dir := filepath.Join(work, "crawl.d")
	args := []string{
		"run", "--name", "testbot", "--contact", "https://example.org/testbot", "--dir", dir, "--delay", killsDelay.String(),
		"--allow-private", "--connect-to", "::" + address, "--scope", "any", "--depth", "0", "--max-host-pages", "0",
		"--output", "warc,jsonl,links",
	}
	for i := range killsSites {
		seed := fmt.Sprintf("http://h%d.test/", i)
		w.known[seed] = true
		args = append(args, seed)
	}
	for kill := range kills {
		killAfter(t, exec.Command(binary, args...), time.Duration(20+random.IntN(380))*time.Millisecond)
		w.next(address)
		verifyCrawl(t, dir)
		w.check(dir, filepath.Join(work, "copy"))
		if t.Failed() {
			t.Fatalf("after kill %d", kill)
		}
	}
	w.mu.Lock()
	w.grow = false
	w.mu.Unlock()
	if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("the last run: %v\n%s", err, out)
	}
	w.next(address)
	v := verifyCrawl(t, dir)
	w.ended(dir, kills)
	r, err := audit.Dir(dir, audit.Options{Violation: func(v *audit.Violation) error {
		t.Errorf("audit: %v", v)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d URLs; store.Verify: %+v; audit: %d requests, %d of them unproven", len(w.known), v, r.Requests, r.UnprovenLines)
}

func killAfter(t *testing.T, crawl *exec.Cmd, d time.Duration) {
	t.Helper()
	var out bytes.Buffer
	crawl.Stdout, crawl.Stderr = &out, &out
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := crawl.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := crawl.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the crawl ended by itself before it was killed: %v\n%s", err, out.Bytes())
	}
}

func verifyCrawl(t *testing.T, dir string) store.Verified {
	t.Helper()
	v, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("store.Verify: %v", err) })
	if err != nil && !errors.Is(err, store.ErrNoCrawl) { // killed before it had begun
		t.Errorf("store.Verify: %v", err)
	}
	return v
}

// check notes which URLs count as fetched in a copy of the crawl, by what the last run has
// requested. They must not be requested again.
func (w *growingWeb) check(dir, to string) {
	w.t.Helper()
	if err := os.RemoveAll(to); err != nil {
		w.t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, store.StateFile)); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return // killed before it had begun
	}
	if err := os.CopyFS(to, files{os.DirFS(dir)}); err != nil {
		w.t.Fatal(err)
	}
	db, err := store.Open(to, store.Options{NoPages: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for url, runs := range w.served {
		if runs[len(runs)-1] != w.run-1 {
			continue
		}
		u, err := frontier.ParseURL(url)
		if err != nil {
			w.t.Fatal(err)
		}
		fate, _, err := db.Fate(u)
		if err != nil {
			w.t.Fatal(err)
		}
		w.safe[url] = fate.Code == frontier.Fetched
		// Its links are as safe as itself.
		for _, link := range w.links[url] {
			u, err := frontier.ParseURL(link)
			if err != nil {
				w.t.Fatal(err)
			}
			if _, queued, err := db.Fate(u); w.safe[url] && !queued || err != nil {
				w.t.Errorf("run %d: %s is safe and its link %s is lost: %v", w.run-1, url, link, err)
			}
		}
	}
}

// ended checks a crawl that has finished.
func (w *growingWeb) ended(dir string, kills int) {
	raw, err := os.ReadFile(filepath.Join(dir, store.PagesFile))
	if err != nil {
		w.t.Fatal(err)
	}
	lines := map[string]int{}
	for line := range bytes.Lines(raw) {
		var p store.PageRecord
		if err := json.Unmarshal(line, &p); err != nil {
			w.t.Errorf("pages.jsonl: %v", err)
		}
		lines[p.URL]++
	}
	again := 0
	for url := range w.known {
		n := len(w.served[url])
		if n == 0 {
			w.t.Errorf("%s was never asked for", url)
		}
		again += max(0, n-1)
		if lines[url] == 0 || lines[url] > n {
			w.t.Errorf("%s has %d lines in pages.jsonl and was requested %d times", url, lines[url], n)
		}
	}
	if len(w.served) != len(w.known) || len(lines) != len(w.known) {
		w.t.Errorf("%d URLs asked for, %d in pages.jsonl, %d known", len(w.served), len(lines), len(w.known))
	}
	w.t.Logf("%d requests were made again after %d kills", again, kills)
}

// files is a directory without the socket that a kill leaves there.
type files struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Type()&fs.ModeSocket != 0 }), err
}
