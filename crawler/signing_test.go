package crawler_test

import (
	"compress/gzip"
	"crypto/ed25519"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
)

// All requests of a crawl are signed, including those for sitemaps. The archive has the signatures
// like all other fields of a request.
func TestASignedCrawl(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nAllow: /\nSitemap: http://a.example/sitemap.xml").
			Page("/", "home").Page("/1", "one").
			File("/sitemap.xml", "application/xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a.example/1</loc></url></urlset>`)
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Dir: dir, Wire: crawler.Wire{
			Network: w, Signing: fetch.Signing{Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Agent: "https://example.org"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		w.AssertFetched("http://a.example/robots.txt", "http://a.example/sitemap.xml", "http://a.example/", "http://a.example/1")
		for _, r := range w.Log() {
			if r.Header.Get("Signature") == "" {
				t.Errorf("%s is not signed", r.URL())
			}
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	file, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if n := strings.Count(string(text), "\r\nSignature: sig1=:"); n != 4 || err != nil {
		t.Errorf("%d signatures in the archive, %v", n, err)
	}
}
