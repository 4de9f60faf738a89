package crawler_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// pagesIn returns the last line of pages.jsonl for each URL.
func pagesIn(t *testing.T, dir string) map[string]store.PageRecord {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, store.PagesFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pages := map[string]store.PageRecord{}
	lines := bufio.NewScanner(f)
	for lines.Buffer(nil, 64<<20); lines.Scan(); {
		var p store.PageRecord
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		pages[p.URL] = p
	}
	return pages
}

// With Options.TextDigest the line in pages.jsonl, the archive, and the page that the handler gets
// all have the digest of the text.
func TestTextDigestsAreKeptWithPages(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", `<title>t</title><p>a</p><a href="/gone">b</a><a href="/plain">c</a>`).
			Status("/gone", http.StatusNotFound).Func("/plain", sent("text/plain", "a  b\n"))
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Keep: crawler.Keep{TextDigest: true}}
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			if (p.TextDigest() != "") != (p.Status == http.StatusOK) {
				t.Errorf("%s: %q with status %d", p.URL, p.TextDigest(), p.Status)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	})
	want := map[string]string{
		"http://a.example/":      extract.TextDigest([]byte("a bc"), "text/plain"),
		"http://a.example/plain": extract.TextDigest([]byte("a b"), "text/plain"),
		"http://a.example/gone":  "",
	}
	archived := textDigests(t, dir)
	for url, p := range pagesIn(t, dir) {
		if p.TextDigest != want[url] || archived[url] != want[url] || p.Change != "" {
			t.Errorf("%s: %s, in the archive %s, want %s", url, p.TextDigest, archived[url], want[url])
		}
		delete(want, url)
	}
	if len(want) > 0 {
		t.Errorf("no lines of %v", want)
	}
}

// textDigests returns the text digests in the metadata records of the archive, by URL.
func textDigests(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := store.ArchiveFiles(dir)
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
		for rec, err := in.Next(); err == nil; rec, err = in.Next() {
			if rec.Type != warc.Metadata {
				continue
			}
			fields, err := rec.Fields()
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range fields {
				if strings.EqualFold(field.Name, "textDigest") {
					all[rec.TargetURI()] = field.Value
				}
			}
		}
	}
	return all
}
