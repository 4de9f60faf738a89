package crawler_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A capture is a response or revisit record that was read from the archive.
type capture struct {
	Type    warc.Type
	Status  int
	Header  http.Header
	Body    string
	Refers  string
	Request bool // the archive also has the request record
	Via     string
}

// captures reads all WARC files of a crawl.
func captures(t *testing.T, dir string) map[string]capture {
	t.Helper()
	found := map[string]capture{}
	files, err := filepath.Glob(filepath.Join(dir, store.ArchiveDir, "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in := warc.NewReader(f)
		for {
			r, err := in.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			c := found[r.TargetURI()]
			switch r.Type {
			case warc.Response, warc.Revisit:
				resp, err := r.Response()
				if err != nil {
					t.Fatal(err)
				}
				body := []byte(nil)
				if r.Type == warc.Response { // a revisit record has no body, only the header
					if body, err = io.ReadAll(resp.Body); err != nil {
						t.Fatal(err)
					}
				}
				c.Type, c.Status, c.Header, c.Body, c.Refers = r.Type, resp.StatusCode, resp.Header, string(body), r.Header.Get(warc.FieldRefersToURI)
			case warc.Request:
				c.Request = true
			case warc.Metadata:
				fields, err := r.Fields()
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range fields {
					if f.Name == "via" {
						c.Via = f.Value
					}
				}
			}
			found[r.TargetURI()] = c
		}
	}
	return found
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.Bytes()
}

func archiveWeb(t *testing.T) *crawltest.Web {
	same := strings.Repeat("the same text on two pages; ", 10)
	w := crawltest.New(t)
	w.Site("http://a.example").
		Robots("User-agent: *\nDisallow: /no").
		Page("/", `<link rel=stylesheet href=/s.css><a href=/one>1</a><a href=/two>2</a><a href=/zip>z</a><a href=/gone>g</a><img src=http://cdn.example/i.png>`).
		Page("/one", same).Page("/two", same).
		Status("/gone", 404).
		Func("/s.css", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/css") }).
		Func("/zip", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(gzipped("<title>Packed</title>"))
		})
	w.Site("http://cdn.example").Func("/i.png", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Write([]byte{1, 2, 3})
	}).Page("/other", "")
	return w
}

func TestTheArchiveHoldsWhatServersSaid(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := archiveWeb(t)
		crawl(t, w, func(o *crawler.Options) {
			o.Dir, o.Requisites, o.Concurrency = dir, true, 1
			o.Output = []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputLinks}
		}, "http://a.example/")
		w.AssertFetched("http://cdn.example/i.png", "http://cdn.example/robots.txt", "http://a.example/s.css")
		w.AssertNeverFetched("http://cdn.example/other")
	})
	found := captures(t, dir)
	for url, want := range map[string]capture{
		"http://a.example/robots.txt": {Type: warc.Response, Status: 200, Body: "User-agent: *\nDisallow: /no", Via: "http://a.example/"},
		"http://a.example/gone":       {Type: warc.Response, Status: 404, Body: found["http://a.example/gone"].Body, Via: "http://a.example/"},
		"http://a.example/two":        {Type: warc.Revisit, Status: 200, Refers: "http://a.example/one", Via: "http://a.example/"},
		"http://a.example/zip":        {Type: warc.Response, Status: 200, Body: string(gzipped("<title>Packed</title>")), Via: "http://a.example/"},
		"http://cdn.example/i.png":    {Type: warc.Response, Status: 200, Body: "\x01\x02\x03", Via: "http://a.example/"},
	} {
		want.Request = true
		got := found[url]
		got.Header = nil
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", url, got, want)
		}
	}
	if h := found["http://a.example/zip"].Header; h.Get("Content-Encoding") != "gzip" {
		t.Errorf("the coding of a body that is kept as it was sent: %v", h)
	}

	// The index, pages.jsonl and the records have the same data.
	index := map[string]*cdxj.Entry{}
	raw, err := os.ReadFile(filepath.Join(dir, store.IndexFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(raw)))
	if !slices.IsSorted(lines) || len(lines) != len(found)-1 { // the index has all records except warcinfo, which has no URL
		t.Errorf("%d lines for %d captures, sorted: %v", len(lines), len(found)-1, slices.IsSorted(lines))
	}
	for _, line := range lines {
		e, err := cdxj.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		index[e.URL] = e
		f, err := os.Open(filepath.Join(dir, store.ArchiveDir, e.Filename))
		if err != nil {
			t.Fatal(err)
		}
		r, err := warc.ReadAt(f, e.Offset)
		if err != nil {
			t.Fatal(err)
		}
		again, err := cdxj.NewEntry(r, e.Filename)
		if err != nil || *again != *e {
			t.Errorf("read from the record:\n%+v, %v\nin the index:\n%+v", again, err, e)
		}
		f.Close()
	}
	for _, p := range records(t, dir) {
		e := index[p.URL]
		if e == nil || e.Filename != p.WARC || e.Offset != p.Offset || e.Length != p.Length || e.Status != p.Status {
			t.Errorf("page %+v\nindex %+v", p, e)
		}
	}
	if v, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil || v.Records < 3*len(lines) {
		t.Errorf("%+v, %v", v, err)
	}

	graph := map[string]string{}
	raw, err = os.ReadFile(filepath.Join(dir, store.LinksFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var l store.LinkRecord
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		graph[l.To] = l.Hop + " " + l.Where
	}
	if graph["http://a.example/s.css"] != "E link/href" || graph["http://a.example/one"] != "L a/href" || graph["http://cdn.example/i.png"] != "E img/src" {
		t.Errorf("link graph: %v", graph)
	}
}

// An archive file is finished when it is full. After a kill the next run finishes it.
func TestArchiveFilesAreCutAtWhatCounts(t *testing.T) {
	dir := t.TempDir()
	killed := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := archiveWeb(t)
		n := 0
		opts := crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Keep: crawler.Keep{MaxArchive: 2000}, Pace: crawler.Pace{Concurrency: 1},
		}
		c, err := crawler.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ contextT, p *crawler.Page) error {
			if n++; n == 4 {
				if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
					return err
				}
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{dir, killed} {
			open, err := filepath.Glob(filepath.Join(d, store.ArchiveDir, "*.open"))
			if err != nil || len(open) > 0 != (d == killed) {
				t.Errorf("%s: still open: %v, %v", d, open, err)
			}
		}
		// The file ends with bytes that were never committed.
		open, _ := filepath.Glob(filepath.Join(killed, store.ArchiveDir, "*.open"))
		f, err := os.OpenFile(open[len(open)-1], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString("\x1f\x8btorn")
		f.Close()
		crawl(t, w, func(o *crawler.Options) { o.Dir = killed }, "http://a.example/")
	})
	files, err := filepath.Glob(filepath.Join(dir, store.ArchiveDir, "*.warc.gz"))
	if err != nil || len(files) < 3 {
		t.Errorf("files of at most 2,000 bytes: %v, %v", files, err)
	}
	for _, d := range []string{dir, killed} {
		if len(captures(t, d)) < 6 {
			t.Errorf("%s holds %v", d, captures(t, d))
		}
		if _, err := store.Verify(t.Context(), d, func(err error) { t.Error(err) }); err != nil {
			t.Error(err)
		}
	}
}

// A crawl continues after any answer of a server.
func TestNoAnswerEndsTheCrawl(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nAllow: /\x01\nAllow: /*\x7f").
			Page("/", "<a href=/%01>1</a><a href=/long>2</a><a href=/%7f>3</a>").
			Page("/%01", "one").Page("/%7f", "two").
			Func("/long", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", strings.Repeat("x", 70_000)+"/html")
			})
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
		if sum.Fetched != 4 {
			t.Errorf("%d fetched", sum.Fetched)
		}
	})
	raw, err := os.ReadFile(filepath.Join(dir, store.IndexFile))
	if lines := strings.Count(string(raw), "\n"); err != nil || lines != 5 {
		t.Errorf("%d lines in the index, %v", lines, err)
	}
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
		t.Error(err)
	}
}

// The name of a crawl's directory may contain any characters.
func TestAnyNameOfACrawl(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a\x1b[31m\n\xff.crawl")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err) // some systems have no such names
	}
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{crawler.OutputWARC} }, "http://a.example/")
		wantPages(t, pages, "http://a.example/")
	})
}
