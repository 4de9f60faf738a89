package crawler_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/internal/wacz"
)

// All functions that write the index of a crawl write the same bytes.
func TestOneIndex(t *testing.T) {
	types := []string{
		"Text/HTML; charset=utf-8", "html", "text/html, text/html", "text/html;;", "text/html; a=1; a=2", "", ";", "text/", "a b/c",
		"text/html;charset", `text/"html"`, "text/hté", "APPLICATION/PDF ; x",
	}
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example")
		links := ""
		for i, ct := range types {
			links += fmt.Sprintf("<a href=/%d>x</a>", i)
			s.Func(fmt.Sprintf("/%d", i), func(rw http.ResponseWriter, r *http.Request) {
				rw.Header()["Content-Type"] = []string{ct, "text/css"}
				fmt.Fprint(rw, "the same body, so that all but one are revisits, of sixty-four bytes at least")
			})
		}
		s.Page("/", links)
		dir := t.TempDir()
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, store.IndexFile))
		if err != nil || bytes.Count(want, []byte("\n")) != len(types)+2 {
			t.Fatalf("%v\n%s", err, want)
		}
		source, err := export.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		var exported, packed bytes.Buffer
		if _, err := source.WriteCDXJ(t.Context(), &exported); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(exported.Bytes(), want) {
			t.Errorf("index.cdxj is\n%s\nand exported\n%s", want, exported.Bytes())
		}
		if _, err := source.WriteWACZ(t.Context(), &packed, wacz.Package{Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
		if err != nil {
			t.Fatal(err)
		}
		f, err := z.Open("indexes/index.cdx")
		if err != nil {
			t.Fatal(err)
		}
		if inside, err := io.ReadAll(f); err != nil || !bytes.Equal(inside, want) {
			t.Errorf("index.cdxj is\n%s\nand in the WACZ %v\n%s", want, err, inside)
		}
	})
}
