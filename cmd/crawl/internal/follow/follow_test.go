package follow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/follow"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// crawled makes a crawl of a small web that has ended.
func crawled(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "news.crawl")
	again(t, dir, "http://a.example/")
	return dir
}

// again runs the crawl in dir with a seed.
func again(t *testing.T, dir, seed string) {
	t.Helper()
	w := crawltest.New(t)
	for _, site := range []string{"http://a.example", "http://b.example"} {
		w.Site(site).Robots("").Page("/", "<title>Home</title>")
	}
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "servebot", Contact: "https://example.org/servebot"},
		Seeds:    []string{seed}, Dir: dir, Wire: crawler.Wire{Network: w}, Pace: crawler.Pace{Delay: time.Millisecond},
		Keep: crawler.Keep{Output: []crawler.Output{}},
	})
	if err == nil {
		err = c.Run(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A crawl that has ended is read once, until its files change. The status comes first.
func TestAnEndedCrawlIsReadOnce(t *testing.T) {
	t.Parallel()
	dir := crawled(t)
	c := follow.Crawl{Dir: dir, Reports: follow.NewReports(t.TempDir())}
	first := c.Look(t.Context())
	if first.Running || first.Err != nil || first.Report != nil || first.Status.State != crawler.StateEnded || first.Status.Dir != dir || !c.Pending(first) {
		t.Fatalf("%+v", first)
	}
	second := c.Look(t.Context())
	if second.Err != nil || second.Report == nil || second.Report.Pages != 1 || c.Pending(second) {
		t.Fatalf("%+v", second)
	}
	for range 3 {
		if v := c.Look(t.Context()); v != second {
			t.Error("it was read again")
		}
	}
	other := follow.Crawl{Dir: dir, Reports: c.Reports}
	other.Look(t.Context())
	if v := other.Look(t.Context()); v.Report != second.Report {
		t.Error("the report was made again")
	}
	again(t, dir, "http://b.example/")
	if v := c.Look(t.Context()); v == second || v.Report != nil || v.Status.Crawl.Done != 2 {
		t.Errorf("after another run: %+v", v)
	}
	if v := c.Look(t.Context()); v.Report == nil || v.Report.Pages != 2 || v.Report.Runs != 2 {
		t.Errorf("after another run: %+v", v)
	}
	bare := follow.Crawl{Dir: dir}
	bare.Look(t.Context())
	if v := bare.Look(t.Context()); v.Report != nil || v.Err != nil || bare.Pending(v) {
		t.Errorf("without reports: %+v", v)
	}
}

// A running crawl is asked, and its state is not opened.
func TestARunningCrawlIsAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{}) // as a run has it
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := follow.Crawl{Dir: dir, Reports: follow.NewReports(t.TempDir())}
	if v := c.Look(t.Context()); v.Running || !errors.As(v.Err, new(*control.ShutError)) || c.Pending(v) {
		t.Errorf("without a socket: %+v", v)
	}
	asked := 0
	c.Ask(func(context.Context, string) (s crawler.Status, err error) {
		asked++
		s.State, s.Time = crawler.StateRunning, time.Now()
		return s, nil
	})
	for n := range 3 {
		if v := c.Look(t.Context()); !v.Running || v.Err != nil || v.Recent == nil || v.Report != nil || v.Status.Dir != dir || asked != n+1 {
			t.Errorf("%+v, asked %d times", v, asked)
		}
	}
}

func line(i int, site string) string {
	at := time.Date(2026, 5, 4, 10, 0, i, 0, time.UTC)
	return fmt.Sprintf("%s 200 7 http://%s/%d - - text/html #001 %s+100 - - start:%s,ttfb:0.05,took:0.1\n",
		at.Format("2006-01-02T15:04:05.000Z"), site, i, at.Format("20060102150405.000")[:14]+"000", at.Format("2006-01-02T15:04:05.000000Z"))
}

// The new lines of a log are read once each, whole, in any pieces; another log is read from its
// beginning, and of a long one only the end.
func TestALogIsFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, store.LogFile)
	c := follow.Crawl{Dir: dir}
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	c.Ask(func(context.Context, string) (s crawler.Status, err error) {
		s.State, s.Time = crawler.StateRunning, now
		return s, nil
	})
	look := func() *report.Recent {
		t.Helper()
		v := c.Look(t.Context())
		if v.Recent == nil {
			t.Fatalf("%+v", v)
		}
		return v.Recent
	}
	if r := look(); r.Requests != 0 {
		t.Errorf("without a log: %+v", r.Report)
	}
	text := ""
	for i := range 20 {
		text += line(i, "a.test")
	}
	for n := 0; ; n = min(n+100, len(text)) {
		if err := os.WriteFile(path, []byte(text[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, want := look(), strings.Count(text[:n], "\n"); r.Requests != int64(want) {
			t.Fatalf("after %d bytes: %d requests, want %d", n, r.Requests, want)
		}
		if n == len(text) {
			break
		}
	}
	if err := os.WriteFile(path+".new", []byte(text[:len(text)-len(line(19, "a.test"))]+line(0, "b.test")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if r := look(); r.Requests != 20 || r.SiteRows.All != 2 {
		t.Errorf("another log: %d requests of %d sites", r.Requests, r.SiteRows.All)
	}
	long := strings.Repeat(line(1, "early.test"), 80_000)
	if err := os.WriteFile(path, []byte(long+line(2, "late.test")), 0o600); err != nil {
		t.Fatal(err)
	}
	each := int64(len(line(1, "early.test")))
	if r := look(); r.SiteRows.All != 2 || r.Requests != (4<<20)/each && r.Requests != (4<<20)/each+1 || r.Others != 0 {
		t.Errorf("a long log: %d requests of %d sites, %d other lines", r.Requests, r.SiteRows.All, r.Others)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look()
}

// A report is of the last one to two hours.
func TestALiveReportIsOfTheLastHours(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, store.LogFile)
	c := follow.Crawl{Dir: dir}
	var now time.Time
	c.Ask(func(context.Context, string) (s crawler.Status, err error) {
		s.State, s.Time = crawler.StateRunning, now
		return s, nil
	})
	text := ""
	for i := range 24 * 60 {
		text += line(60*i, "a.test")
		now = time.Date(2026, 5, 4, 10, i, 1, 0, time.UTC)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := c.Look(t.Context()).Recent.Requests; n != int64(i+1) && (n < 59 || n > 122) {
			t.Fatalf("after %d minutes: %d requests", i, n)
		}
	}
}
