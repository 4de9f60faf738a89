package crawler_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// goldenWeb returns a web with an answer of every kind.
func goldenWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	a := w.Site("http://a.example").Latency(300 * time.Millisecond).
		Robots("User-agent: *\nCrawl-delay: 2\nDisallow: /private/\nAllow: /gz\n")
	a.Page("/", `<title>Home</title><meta name=robots content="noarchive, noindex"><a href=/gz>1</a><a href=/long>2</a><a href=/private/x>3</a><a href=/moved>6</a><a href=/copy>7</a><a href=/longer>8</a>`)
	text := "<title>The same</title>" + strings.Repeat("ä body that is said again, ", 20)
	for _, path := range []string{"/gz", "/copy"} {
		a.Func(path, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			rw.Header().Set("Content-Encoding", "gzip")
			// Without compression, because compressed bytes may depend on the version of Go.
			z, _ := gzip.NewWriterLevel(rw, gzip.NoCompression)
			fmt.Fprint(z, text)
			z.Close()
		})
	}
	for _, path := range []string{"/long", "/longer"} { // the bodies are cut, so it is unknown whether they are equal
		a.Func(path, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(rw, strings.Repeat("0123456789", 200))
		})
	}
	a.Redirect("/moved", "/gz")
	// The connection is closed after each request, so that no request fails on a reused connection.
	bad := w.Site("http://bad.example").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Connection", "close")
		rw.WriteHeader(http.StatusNotFound)
	})
	bad.Reset("/")
	tries := 0
	w.Site("http://once.example").Func("/", func(rw http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			rw.WriteHeader(http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "now it is there")
	})
	w.Site("http://down.example").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Retry-After", "7")
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	return w
}

func golden(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	crawl(t, goldenWeb(t), func(o *crawler.Options) {
		o.Dir, o.Concurrency, o.MaxSize, o.Patience = dir, 1, 1000, time.Hour
		o.Output = []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputLinks}
	}, "http://a.example/\tnews", "http://down.example/", "http://nowhere.example/", "http://bad.example/", "http://once.example/")
	return dir
}

// The times of retries are random, so they are replaced.
var (
	instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)
	starts   = regexp.MustCompile(` \d{17}\+`)
	chance   = regexp.MustCompile(`asked:[0-9.]+,clock:(back-off|retry|failures|robots)`)
)

// crawl.log has exactly these lines, at least one of each kind.
func TestGoldenLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, err := os.ReadFile(filepath.Join(golden(t), store.LogFile))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(raw)) {
			line = instants.ReplaceAllString(line, "T")
			line = starts.ReplaceAllString(line, " S+")
			lines = append(lines, chance.ReplaceAllString(line, "asked:R,clock:$1"))
		}
		slices.SortFunc(lines, func(a, b string) int {
			return cmp.Or(strings.Compare(strings.Fields(a)[3], strings.Fields(b)[3]), strings.Compare(a, b))
		})
		text := strings.Join(slices.Compact(lines), "")
		compareGolden(t, "golden.log", text)
	})
}

func compareGolden(t *testing.T, name, is string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil || is != string(want) {
		t.Errorf("%s is (%v)\n%s\nwant\n%s", name, err, is, want)
	}
}

// These parts of pages and records differ between runs, so they are replaced.
var (
	uuids    = regexp.MustCompile(`urn:uuid:[0-9a-f-]{36}`)
	placedAt = regexp.MustCompile(`"warc":"001-20000101000000-00000.warc.gz","offset":\d+,"length":\d+`)
	varied   = regexp.MustCompile(`(?m)^(WARC-Block-Digest|Content-Length|hostname|software|operator): .*\n`)
)

// pages.jsonl has exactly these lines. Answers after which the URL is requested again are not in
// it.
func TestGoldenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, err := os.ReadFile(filepath.Join(golden(t), store.PagesFile))
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(raw)) {
			lines = append(lines, placedAt.ReplaceAllString(instants.ReplaceAllString(line, "T"), `"warc":"W"`))
		}
		slices.Sort(lines)
		compareGolden(t, "golden.pages.jsonl", strings.Join(lines, ""))
	})
}

// The archive has exactly these records, with these fields in their blocks.
func TestGoldenArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, err := filepath.Glob(filepath.Join(golden(t), store.ArchiveDir, "*.warc.gz"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		raw, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		var records []string
		r := warc.NewReader(bytes.NewReader(raw))
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s %s\n", rec.TargetURI(), rec.Type)
			fields := rec.Header
			if rec.Header.Get(warc.FieldContentType) == "application/warc-fields" {
				more, err := rec.Fields()
				if err != nil {
					t.Fatal(err)
				}
				fields = slices.Concat(fields, more)
			}
			for _, f := range fields {
				fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Value)
			}
			text := varied.ReplaceAllString(uuids.ReplaceAllString(b.String(), "U"), "")
			text = strings.NewReplacer("001-20000101000000-00000", "NAME", crawler.Version, "V").Replace(text)
			records = append(records, instants.ReplaceAllString(text, "T")+"\n")
		}
		slices.Sort(records)
		compareGolden(t, "golden.warc", strings.Join(slices.Compact(records), ""))
	})
}
