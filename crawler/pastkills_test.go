package crawler_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/audit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/storage"
)

const (
	secondSites = 5
	secondPages = 30 // of each site
)

// killedSecond is a crawl, behind the one in the directory first.crawl beside it if that is
// there. It says a line for each page.
func killedSecond(dir, address string) error {
	var seeds []string
	for s := range secondSites {
		seeds = append(seeds, fmt.Sprintf("http://s%d.test/0", s))
	}
	to, err := fetch.ParseConnectTo("::" + address)
	if err != nil {
		return err
	}
	o := crawler.Options{
		Identity: testIdentity, Seeds: seeds, Dir: dir, Delay: 2 * time.Millisecond, AllowPrivate: true,
		ConnectTo: []fetch.ConnectTo{to}, Logger: slog.New(slog.DiscardHandler),
	}
	if first := filepath.Join(filepath.Dir(dir), "first.crawl"); first != dir {
		o.Previous = first
	}
	c, err := crawler.New(o)
	if err != nil {
		return err
	}
	err = c.Run(context.Background(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		fmt.Println(p.URL, p.Change(), len(p.Body))
		return nil
	}))
	if err == nil {
		fmt.Println("ended")
	}
	return err
}

// A stillWeb has pages that do not change, and says so to who asks.
type stillWeb struct {
	mu     sync.Mutex
	robots map[string]int // requests for robots.txt, by host
	sent   int            // pages that were sent
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
	if n%3 != 0 { // of the others the server does not know when they change
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

// since is how many pages were sent since it was called last, and how often each host was
// asked for its robots.txt, ever.
func (w *stillWeb) since() (sent int, robots map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent, w.sent = w.sent, 0
	return sent, maps.Clone(w.robots)
}

// A crawl that knows the one before is killed again and again. In the end it has each page
// once more, with what became of it; its robots.txt copies are those of then; all its
// files say the same, and what they repeat is there.
func TestKillsOfASecondCrawlLoseNothing(t *testing.T) {
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("PERMESSO_SECOND_KILLS"), "12"))
	if err != nil {
		t.Fatal(err)
	}
	w := &stillWeb{robots: map[string]int{}}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listen) }()
	defer func() {
		server.Close()
		<-served
	}()
	root := t.TempDir()
	program := func(name string, lines int) {
		t.Helper()
		killedProgram(t, "PERMESSO_KILLED_SECOND="+filepath.Join(root, name)+"|"+listen.Addr().String(), lines)
	}
	program("first.crawl", -1)
	if sent, _ := w.since(); sent != secondSites*secondPages {
		t.Fatalf("the first crawl has %d pages", sent)
	}
	random := rand.New(rand.NewPCG(1, 9))
	second := filepath.Join(root, "second.crawl")
	for range kills {
		program("second.crawl", 1+random.IntN(8))
		if _, err := storage.Verify(second, func(err error) { t.Errorf("after a kill: %v", err) }); err != nil {
			t.Error(err)
		}
	}
	program("second.crawl", -1)
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
			t.Errorf("robots.txt of %s was asked for %d times", host, n)
		}
	}
	if _, err := storage.Verify(second, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
	if report, err := audit.Dir(second, audit.Options{}); err != nil || !report.Clean() {
		t.Errorf("the audit says %+v, %v", report, err)
	}
	for _, body := range []string{"s0.test/1s0.test/1", "s0.test/3s0.test/3"} {
		for _, path := range func() []string { files, _ := storage.ArchiveFiles(second); return files }() {
			if strings.Contains(string(unzipped(t, path)), body) {
				t.Errorf("%s has a body that the first crawl has", path)
			}
		}
	}
	t.Logf("%d pages after %d kills, %d of them sent", len(pages), kills, sent)
}
