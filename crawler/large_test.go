package crawler_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// A large crawl requests each page once. At its end it needs no more memory than after a tenth of
// it, even with all functions that a program may set. $PERMESSO_PAGES is the number of pages. Each
// page has links from many others, under several URLs.
func TestALargeCrawlAsksForEachPageOnceInFlatMemory(t *testing.T) {
	pages := 4000
	if n, err := strconv.Atoi(os.Getenv("PERMESSO_PAGES")); err == nil {
		pages = n
	}
	var moved atomic.Int64
	watchdog(t, &moved)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &largeWeb{sites: 200, pages: pages, asked: make([]atomic.Int32, pages), moved: &moved}
		var handled, skipped atomic.Int64
		var early, late, started uint64
		o := w.options()
		o.Dir = dir
		o.OnSkip = func(crawler.Skip) { skipped.Add(1) }
		o.OnStart = func(crawler.Start) { started++ }
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			switch handled.Add(1) {
			case int64(pages / 10):
				early = heapInUse()
			case int64(pages - 10):
				late = heapInUse()
			}
			if strings.HasSuffix(p.URL.Target(), "00") {
				return errors.New("for OnError")
			}
			return nil
		}))
		sum := c.Summary()
		if err != nil || sum.End != crawler.EndDone || sum.Fetched != pages || handled.Load() != int64(pages) || started != 1 || skipped.Load() == 0 {
			t.Errorf("%v, %v; %d pages handled, %d links skipped", err, sum, handled.Load(), skipped.Load())
		}
		for i := range w.asked {
			if n := w.asked[i].Load(); n != 1 {
				t.Fatalf("%s was requested %d times", w.url(i), n)
			}
		}
		t.Logf("heap in use %d KiB after a tenth, %d KiB at the end; requests %d", early>>10, late>>10, sum.Requests)
		if late > early+early/2+(4<<20) {
			t.Errorf("heap in use: %d KiB after a tenth of the pages, %d KiB at the end", early>>10, late>>10)
		}
	})
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // the second call also frees objects in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// A largeWeb is a fetch.Network with pages that are generated on request. It records only the
// number of requests for each page.
type largeWeb struct {
	sites, pages int
	asked        []atomic.Int32
	moved        *atomic.Int64
}

func (w *largeWeb) url(i int) string {
	return fmt.Sprintf("http://h%d.large.example/page/%d", i%w.sites, i)
}

// options returns options in which every function is set, except functions that count.
func (w *largeWeb) options() crawler.Options {
	var seeds []string
	for i := range w.sites { // all sites and their pages begin at once, so that there are few commits
		seeds = append(seeds, w.url(i))
	}
	return crawler.Options{
		Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w}, Pace: crawler.Pace{Concurrency: 32},
		Budget: crawler.Budget{Patience: frontier.Forever}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler), OnError: func(*crawler.Page, error) {}},
		Scope:  crawler.ScopeFunc(func(e frontier.Entry) bool { return strings.HasSuffix(e.URL.Host(), ".large.example") }),
		Follow: crawler.Follow{Rewrite: crawler.StripTracking, Links: func(_ *crawler.Page, l *crawler.Link) bool { l.Rank = uint8(len(l.URL.Target())); return true }},
		OptOut: func(frontier.URL) string { return "" },
	}
}

func (w *largeWeb) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(host, "h"), ".large.example"))
	return []netip.Addr{netip.AddrFrom4([4]byte{16, 1, byte(n >> 8), byte(n)})}, err
}

func (w *largeWeb) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	// Ends with the connection.
	go w.serve(server)
	return client, nil
}

func (w *largeWeb) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	var body strings.Builder
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body.Reset()
		status := "200 OK"
		if n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/page/")); err == nil && n < w.pages {
			w.moved.Add(1)
			w.asked[n].Add(1)
			w.page(&body, n)
		} else {
			status = "404 Not Found"
		}
		_, err = fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", status, body.Len(), body.String())
		if err != nil {
			return
		}
	}
}

// page writes links to two pages that no earlier page links to, to some pages that others link to,
// and to one page out of scope.
func (w *largeWeb) page(b *strings.Builder, n int) {
	fmt.Fprintf(b, "<title>Page %d</title><a href=http://elsewhere.example/%d>x</a>", n, n)
	for _, to := range []int{2*n + 1, 2*n + 2, n / 2, n * 7 % w.pages, n * 31 % w.pages, n * 101 % w.pages} {
		if to < w.pages {
			fmt.Fprintf(b, "<a href=%s>x</a><a href=%s?utm_source=%d>x</a>", w.url(to), w.url(to), n)
		}
	}
}
