package serve_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/serve"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// ended makes a crawl that has ended.
func ended(t *testing.T, dir, previous string) {
	t.Helper()
	w := crawltest.New(t)
	w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\n").Page("/", "<title>Home</title><a href=/no>x</a>")
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "servebot", Contact: "https://example.org/servebot"},
		Seeds:    []string{"http://a.example/"}, Dir: dir, Keep: crawler.Keep{Previous: previous}, Wire: crawler.Wire{Network: w}, Pace: crawler.Pace{Delay: time.Millisecond},
	})
	if err == nil {
		err = c.Run(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get returns a page once it has a text.
func get(t *testing.T, at, path, text string) string {
	t.Helper()
	page := ""
	for range 1000 {
		page, _ = (&call{"GET", path, map[string]string{"Accept": "text/html"}, nil, 200, "<!doctype html>"}).make(t, at)
		if strings.Contains(page, text) {
			inert(t, page)
			return page
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not have %q:\n%s", path, text, page)
	return ""
}

// A series has its snapshots, what has changed, and what was missed. A snapshot has its report.
func TestASeriesHasItsSnapshots(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "weekly")
	first, second := filepath.Join(dir, "20260504T030000Z.crawl"), filepath.Join(dir, "20260511T030000Z.crawl")
	if err := os.MkdirAll(filepath.Join(dir, "20260518T030000Z.crawl"), 0o755); err != nil {
		t.Fatal(err)
	}
	ended(t, first, "")
	ended(t, second, first)
	for path, text := range map[string]string{
		filepath.Join(dir, "missed.jsonl"):     `{"due":"2026-05-25T03:00:00Z","why":"overlap","noted":"2026-05-25T04:00:00Z"}` + "\n",
		filepath.Join(second, "snapshot.json"): `{"version":1,"changed":{"since":"x","settings":[{"setting":"delay","was":"1s","is":"<b>2s</b>"}],"seeds_added":1}}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := served(t, serve.Options{Series: []string{dir}, Token: "secret", Temp: t.TempDir(), Due: func(of string, now time.Time) (next, missed []time.Time, err error) {
		if of != dir {
			t.Errorf("of %s", of)
		}
		return []time.Time{time.Date(2026, 6, 8, 3, 0, 0, 0, time.UTC)}, []time.Time{time.Date(2026, 6, 1, 3, 0, 0, 0, time.UTC)}, errors.New("<i>job</i>")
	}})
	page := get(t, at, "/series/weekly/", "Snapshots")
	last := -1
	for _, want := range []string{
		"3 snapshots", "&lt;i&gt;job&lt;/i&gt;", `<a href="20260518T030000Z.crawl/">`, ">made<", `<a href="20260511T030000Z.crawl/">`, "The job has changed: delay: 1s → &lt;b&gt;2s&lt;/b&gt;; 1 seed added.",
		">done<", `<a href="20260504T030000Z.crawl/">`, "2026-06-08T03:00:00Z", "Runs that were missed: 2", "2026-06-01T03:00:00Z", "2026-05-25T03:00:00Z", "the run before it was still running",
	} {
		i := strings.Index(page, want)
		if i <= last && want != "&lt;i&gt;job&lt;/i&gt;" || i < 0 {
			t.Fatalf("%q is at %d, after %d:\n%s", want, i, last, page)
		}
		last = max(last, i)
	}
	if strings.Contains(page, "2026-06-08T03:00:00Z") && strings.Count(page, "<tr>") != 2+3+2 {
		t.Errorf("%d rows:\n%s", strings.Count(page, "<tr>"), page)
	}
	page = get(t, at, "/series/weekly/20260511T030000Z.crawl/", "What has changed?")
	for _, want := range []string{`data-layout="ended"`, "Required delay and actual delay", `href="list?fate=refused"`, `<a href="explain?url=http%3A%2F%2Fa.example%2F">`, `<a href="#changes">`, `<a href="../">weekly</a>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the snapshot does not have %q", want)
		}
	}
	if strings.Contains(page, "<form") {
		t.Error("a crawl that has ended can be steered")
	}
	get(t, at, "/", `<a href="/series/weekly/">`)
	for _, path := range []string{"/series/weekly/x/", "/series/weekly/../weekly/missed.jsonl/", "/series/x/", "/series/weekly/20260601T030000Z.crawl/list"} {
		(&call{"GET", strings.ReplaceAll(path, "..", "%2e%2e"), nil, nil, 404, "There is no such"}).make(t, at)
	}
	report, _ := (&call{"GET", "/series/weekly/20260504T030000Z.crawl/report", nil, nil, 200, "report of a crawl</title>"}).make(t, at)
	if !strings.Contains(report, "<style>") {
		t.Error("the report is not one file")
	}
	(&call{"GET", "/series/weekly/20260518T030000Z.crawl/report", nil, nil, 409, "There is no report: there is no crawl in "}).make(t, at)
}

// Pages about a directory that is gone say so, and the others go on.
func TestACrawlThatIsGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a.crawl")
	ended(t, dir, "")
	other, _ := running(t, "b.crawl")
	at := served(t, serve.Options{Crawls: []string{dir, other}, Token: "secret", Temp: t.TempDir()})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	get(t, at, "/crawl/a.crawl/", "unknown")
	page := get(t, at, "/", ">running<")
	if !strings.Contains(page, ">unknown<") {
		t.Error(page)
	}
	(&call{"GET", "/crawl/a.crawl/report", nil, nil, 409, "There is no report"}).make(t, at)
	(&call{"POST", "/crawl/a.crawl/pause", nil, map[string][]string{"token": {"secret"}}, 409, "No process runs this crawl"}).make(t, at)
}
