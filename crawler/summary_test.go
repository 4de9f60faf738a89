package crawler_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Summary.Waiting lists the sites in the order of their next requests, and then by name.
func TestWaitingSitesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds, want []string
		for i, delay := range []int{900, 500, 700, 500, 900, 500} {
			host := fmt.Sprintf("http://h%d.example", i)
			w.Site(host).Robots(fmt.Sprint("User-agent: *\nCrawl-delay: ", delay)).Page("/", "x")
			seeds = append(seeds, host+"/")
		}
		_, sum := crawl(t, w, nil, seeds...)
		var got []string
		for _, st := range sum.Waiting {
			got = append(got, string(st.Site))
		}
		for i := range sum.Waiting[1:] {
			if a, b := sum.Waiting[i], sum.Waiting[i+1]; b.Due.Before(a.Due) || a.Due.Equal(b.Due) && a.Site >= b.Site {
				t.Errorf("%s, due %v, is listed before %s, due %v", a.Site, a.Due, b.Site, b.Due)
			}
		}
		for _, i := range []int{1, 3, 5, 2, 0, 4} {
			want = append(want, strings.TrimSuffix(seeds[i], "/"))
		}
		slices.Sort(got[:3])
		slices.Sort(got[4:])
		if !slices.Equal(got, want) || sum.Sites != 6 || sum.Left[frontier.Waiting] != 6 {
			t.Errorf("waiting: %q; %d sites, left %v", got, sum.Sites, sum.Left)
		}
	})
	// Sites that were given up have no time for a next request.
	synctest.Test(t, func(t *testing.T) {
		_, sum := crawl(t, crawltest.New(t), nil, "http://c.none.example/", "http://a.none.example/", "http://d.none.example/", "http://b.none.example/")
		var text string
		for _, st := range sum.Waiting {
			text += string(st.Site)
		}
		if text != "http://a.none.examplehttp://b.none.examplehttp://c.none.examplehttp://d.none.example" {
			t.Errorf("waiting: %s", text)
		}
		// At most three sites are named.
		if want := "unasked: 0 answered in this run, 0 of them pages; 4 left: dead; http://a.none.example: dns; http://b.none.example: dns; http://c.none.example: dns"; sum.String() != want {
			t.Errorf("%s\nwant\n%s", sum, want)
		}
	})
}

// Before a run all figures are zero. During the run they grow, and Longest returns the site that
// the run waits for.
func TestFiguresOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for host, delay := range map[string]int{"http://a.example": 20, "http://b.example": 100, "http://c.example": 50} {
			w.Site(host).Robots(fmt.Sprint("User-agent: *\nCrawl-delay: ", delay)).Page("/", "<a href=/1>1</a>").Page("/1", "x")
		}
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/", "http://b.example/", "http://c.example/"}, Wire: crawler.Wire{Network: w},
		})
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := c.Longest(time.Now()); ok {
			t.Errorf("waits for %s before the run", st.Site)
		}
		if s := c.Summary(); s.End != "" || s.Sites != 0 || s.Frontier.Entries != 0 || s.Waiting != nil || s.Left != nil {
			t.Errorf("before the run: %+v", s)
		}
		ended := make(chan error)
		// This goroutine runs the crawl. It ends when all pages are fetched.
		go func() { ended <- c.Run(context.Background(), nil) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if st, ok := c.Longest(time.Now()); !ok || st.Site != "http://b.example" || st.By != frontier.CrawlDelayClock {
			t.Errorf("waits for %s, for its %s, %v", st.Site, st.By, ok)
		}
		if s := c.Stats(); s.Requests != 3 || s.Robots != 3 || s.Fetched != 0 || s.Frontier.Entries != 3 || s.Frontier.Sites != 3 {
			t.Errorf("after ten seconds: %+v", s)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if s := c.Summary(); s.Requests != 9 || s.Robots != 3 || s.Fetched != 6 || s.Pages != 6 || s.Status[200] != 9 || s.End != crawler.EndDone || s.Left != nil {
			t.Errorf("at the end: %+v", s)
		}
		before := c.Stats()
		before.Status[200] = 0 // no effect, because Status is a copy
		if s := c.Stats(); s.Status[200] != 9 {
			t.Errorf("%+v", s)
		}
	})
}

// Every request is counted by its result.
func TestCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\n").
			Page("/", "<a href=/1>1</a><a href=/gone>2</a><a href=/moved>3</a><a href=/no>4</a><a href=/cut>5</a><a href=http://b.example/>6</a><img src=/i.gif><img src=/lost.gif>").
			Page("/1", "12345").Status("/gone", 410).Redirect("/moved", "/1").Page("/i.gif", "GIF").
			Func("/cut", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Length", "1000")
				rw.Write(make([]byte, 10))
				http.NewResponseController(rw).Flush()
				panic(http.ErrAbortHandler)
			})
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Requisites, o.Patience = true, time.Hour }, "http://a.example/")
		tries := w.Fetched("http://a.example/cut")
		if want := map[int]int{200: 4 + tries, 302: 1, 404: 1, 410: 1}; !maps.Equal(sum.Status, want) {
			t.Errorf("answers %v, want %v", sum.Status, want)
		}
		urls, links := map[frontier.Code]int{frontier.RobotsDisallowed: 1}, map[frontier.Code]int{frontier.OutOfScope: 1}
		if !maps.Equal(sum.SkippedURLs, urls) || !maps.Equal(sum.SkippedLinks, links) {
			t.Errorf("URLs %v, want %v; links %v, want %v", sum.SkippedURLs, urls, sum.SkippedLinks, links)
		}
		if want := map[string]int{"truncated": tries - 1}; !maps.Equal(sum.Errors, want) || tries < 2 || sum.Retries != tries-1 {
			t.Errorf("errors %v, want %v; %d retries", sum.Errors, want, sum.Retries)
		}
		if sum.Requests != 7+tries || sum.Robots != 1 || sum.Fetched != 7 || sum.Pages != 3 || sum.Bytes < 200 {
			t.Errorf("%+v", sum.Counts)
		}
	})
}

// lastLines runs a crawl of seeds and returns the last line of crawl.log for each URL.
func lastLines(t *testing.T, w *crawltest.Web, change func(*crawler.Options), seeds ...string) map[string]*crawllog.Line {
	t.Helper()
	dir := t.TempDir()
	crawl(t, w, func(o *crawler.Options) { o.Dir = dir; change(o) }, seeds...)
	lines := map[string]*crawllog.Line{}
	for _, l := range logLines(t, dir) {
		lines[l.URL] = l
	}
	return lines
}

// The line of a failed request in crawl.log has a status for the kind of failure, and the error.
func TestEachFailureHasItsLine(t *testing.T) {
	const site = "http://a.example"
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, test := range []struct {
		name   string
		change func(*crawltest.Web, *crawltest.Site, *crawler.Options)
		url    string
		status int
		error  string
	}{
		{"no answer", func(_ *crawltest.Web, s *crawltest.Site, _ *crawler.Options) { s.Func("/", hang) }, site + "/", crawllog.TimedOut, "answer-timeout"},
		{"no end", func(_ *crawltest.Web, s *crawltest.Site, _ *crawler.Options) {
			s.Func("/", func(rw http.ResponseWriter, r *http.Request) {
				rw.Write([]byte("x"))
				http.NewResponseController(rw).Flush()
				hang(rw, r)
			})
		}, site + "/", 200, "body-timeout"},
		{"refused", func(_ *crawltest.Web, s *crawltest.Site, _ *crawler.Options) { s.Down(true) }, site + "/robots.txt", crawllog.ConnectFailed, "connect"},
		{"no certificate", func(w *crawltest.Web, _ *crawltest.Site, o *crawler.Options) {
			w.Site("https://s.example").Page("/", "x")
			o.Seeds, o.RootCAs = []string{"https://s.example/"}, nil
		}, "https://s.example/robots.txt", crawllog.ConnectFailed, "tls-timeout"},
		{"reset", func(_ *crawltest.Web, s *crawltest.Site, _ *crawler.Options) { s.Reset("/") }, site + "/", crawllog.ConnectionLost, "reset"},
		{"no name", func(_ *crawltest.Web, _ *crawltest.Site, o *crawler.Options) {
			o.Seeds = []string{"http://none.example/"}
		}, "http://none.example/robots.txt", crawllog.DNSFailed, "dns"},
		{"broken coding", func(_ *crawltest.Web, s *crawltest.Site, _ *crawler.Options) {
			s.Func("/", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Encoding", "gzip")
				rw.Write([]byte("x"))
			})
		}, site + "/", 200, "truncated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				s := w.Site(site).Page("/", "x")
				lines := lastLines(t, w, func(o *crawler.Options) { o.MaxTime = 70 * time.Second; test.change(w, s, o) }, site+"/")
				l := lines[test.url]
				if l == nil {
					t.Fatalf("%v", lines)
				}
				if e, _ := l.Annotation("error"); l.Status != test.status || e != test.error || l.Start.IsZero() || !l.Time.Equal(l.Start.Add(l.Duration)) {
					t.Errorf("%+v, want status %d, error %q", l, test.status, test.error)
				}
			})
		})
	}
}

// If a narrower scope takes a URL out of the queue, its line in crawl.log names the setting.
func TestURLsPutAsideHaveALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
		dir := t.TempDir()
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Limit = dir, 1 }, "http://a.example/\tnews")
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Scope = dir, crawler.SeedsOnly() }, "http://a.example/\tnews")
		lines := logLines(t, dir)
		l := lines[len(lines)-1]
		if e, _ := l.Annotation("error"); l.URL != "http://a.example/1" || l.Status != crawllog.OutOfScope || e != "outside" ||
			l.Size != -1 || !l.Start.IsZero() || l.Hops != "L" || l.Via != "http://a.example/" || l.Tag != "news" {
			t.Errorf("last line: %+v", l)
		}
		w.AssertNeverFetched("http://a.example/1")
		// When the URL is queued again, this has a line in crawl.log, too.
		crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/\tnews")
		var said []string
		for _, l := range logLines(t, dir) {
			if l.URL == crawllog.RunURL {
				said = append(said, l.Annotations...)
				if l.Size != -1 || l.Status != 0 || !l.Start.IsZero() || l.Time.IsZero() {
					t.Errorf("%+v", l)
				}
			}
		}
		want := []string{"begin:clean", "records:2", "begin:clean", "records:2", "changed:scope:host->list", "changed:limit:1->none", "begin:clean", "records:2", "changed:scope:list->host", "requeued:1"}
		if !slices.Equal(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
		w.AssertFetched("http://a.example/1")
	})
}

// Every line of crawl.log names the worker slot and the protocol.
func TestLinesNameWorkerAndProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").Page("/", "x")
		w.Site("https://b.example").Page("/", "x")
		lines := lastLines(t, w, func(o *crawler.Options) { o.Concurrency = 2 }, "https://a.example/", "https://b.example/")
		workers := map[int]bool{}
		for _, url := range []string{"https://a.example/", "https://b.example/"} {
			l := lines[url]
			workers[l.Worker] = true
			proto, _ := l.Annotation("proto")
			proxy, has := l.Annotation("proxy")
			ip, _ := l.Annotation("ip")
			if proto == "" || has || !strings.HasSuffix(ip, ":443") || l.Status != 200 {
				t.Errorf("%+v: proxy %q", l, proxy)
			}
		}
		if !maps.Equal(workers, map[int]bool{0: true, 1: true}) {
			t.Errorf("workers: %v", workers)
		}
	})
}

// If a request goes through a proxy, its line in crawl.log names the proxy.
func TestLinesNameTheProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		w.Site("http://proxy.example")
		lines := lastLines(t, w, func(o *crawler.Options) {
			o.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://proxy.example") }
		}, "http://a.example/")
		l := lines["http://a.example/"]
		if proxy, _ := l.Annotation("proxy"); l.Status != 200 || !strings.Contains(proxy, "proxy.example") || w.Dials("a.example") != 0 {
			t.Errorf("%+v: %d dials past the proxy", l, w.Dials("a.example"))
		}
	})
}

// The line for the beginning of a run says whether the previous run was killed, and whether its log
// is complete.
func TestTheBeginLineDescribesTheRunBefore(t *testing.T) {
	dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "killed")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "<a href=/2>2</a>").Page("/2", "x")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			if p.URL.Target() == "/1" {
				time.Sleep(time.Second) // until the earlier records are committed
				return os.CopyFS(killed, os.DirFS(dir))
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		run := func() {
			crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.Logger = killed, slog.New(slog.NewJSONHandler(&said, nil))
			}, "http://a.example/")
		}
		run()
		run()
		if text := said.String(); strings.Contains(text, "removed or cut") {
			t.Errorf("logged %s", text)
		}
		path := filepath.Join(killed, store.LogFile)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.LastIndexByte(raw[:len(raw)-1], '\n') + 1
		if err := os.Truncate(path, int64(at)); err != nil {
			t.Fatal(err)
		}
		run()
		lost := len(raw) - at
		if text := said.String(); strings.Count(text, "removed or cut") != 1 || !strings.Contains(text, `"bytes lost":`+strconv.Itoa(lost)) || !strings.Contains(text, strconv.Quote(path)) {
			t.Errorf("logged %s", text)
		}
		var begins []string
		for _, l := range logLines(t, killed) {
			if l.URL == crawllog.RunURL {
				begins = append(begins, regexp.MustCompile(`committed:[^,]+`).ReplaceAllString(strings.Join(l.Annotations, ","), "committed"))
			}
		}
		// The line for the beginning of the second run was cut off.
		if want := []string{"begin:clean,records:2", "begin:unclean,records:2,committed", "begin:clean,records:2,lost:" + strconv.Itoa(lost)}; !slices.Equal(begins, want) {
			t.Errorf("%q, want %q", begins, want)
		}
	})
}

// The loop over Left may be left at any time. Then nothing stays open. Errors of reading are
// yielded.
func TestLeftAfterARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 10)
		dir := t.TempDir()
		opts := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0", "http://a.example/1", "http://a.example/2"}, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{Limit: 1}}
		for limit := range 3 {
			opts.Limit = limit + 1
			c, err := crawler.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			for s, err := range c.Left() { // leave the loop at the first URL
				if err != nil || s.URL.Host() != "a.example" || s.Code != frontier.LimitReached {
					t.Errorf("%+v, %v", s, err)
				}
				break
			}
			all := map[string]string{}
			for s, err := range c.Left() {
				if err != nil {
					t.Error(err)
				}
				all[s.URL.Target()] = s.Via
			}
			if sum := c.Summary(); len(all) != sum.Left[frontier.LimitReached] || len(all) < 2 || all["/2"] != "" || limit == 2 && all["/7"] == "" && all["/3"] == "" {
				t.Errorf("%v are left; %s", all, sum)
			}
			if limit < 2 {
				continue // the next run can open the directory
			}
			if err := os.Remove(filepath.Join(dir, store.StateFile)); err != nil {
				t.Fatal(err)
			}
			n := 0
			for s, err := range c.Left() {
				if n++; err == nil || s != (crawler.Skip{}) {
					t.Errorf("%+v, %v", s, err)
				}
			}
			if n != 1 {
				t.Errorf("%d errors", n)
			}
		}
	})
}
