package crawler_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// The handler gets the canonical URL of a page. pages.jsonl and the archive have it, too, even for
// redirects and for pages other than HTML. A page whose owner forbids to store it has none.
func TestCanonicalURLsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		s := w.Site("http://a.example")
		says(s, "/", `<base href=/base/><link rel=canonical href=home><meta property=og:url content="https://b.example/o">
			<a href=/differ>1</a><a href=/header>2</a><a href=/text>3</a><a href=/missing>4</a><a href=/refused>5</a>`)
		says(s, "/differ", `<link rel=canonical href=/x>`, "Link: </y>; rel=canonical")
		says(s, "/header", `<meta property=og:url content="/o">`, "Link: </y>; rel=canonical")
		s.Func("/text", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			rw.Header().Set("Link", "</t>; rel=canonical")
			io.WriteString(rw, "no markup")
		})
		says(s, "/refused", `<link rel=canonical href=/r><meta property=og:url content="/o"><meta name=robots content=noarchive>`)
		want := map[string][2]string{
			"/":       {"http://a.example/base/home", "https://b.example/o"},
			"/differ": {}, "/robots.txt": {}, "/refused": {}, "/missing": {},
			"/header": {"http://a.example/y", "http://a.example/o"},
			"/text":   {"http://a.example/t"},
		}
		var mu sync.Mutex
		got := map[string][2]string{}
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Robots: crawler.Robots{Purpose: robots.PurposeArchive},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			mu.Lock()
			defer mu.Unlock()
			got[p.URL.Target()] = [2]string{p.Canonical().String(), p.OpenGraphURL().String()}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"/", "/differ", "/header", "/text", "/missing"} {
			if names, told := got[target]; !told || names != want[target] {
				t.Errorf("%s: %q, %v, want %q", target, names, told, want[target])
			}
		}
		for _, kept := range []string{"both", "archive"} {
			if kept == "archive" {
				if err := os.Remove(filepath.Join(dir, store.PagesFile)); err != nil {
					t.Fatal(err)
				}
			}
			all := tableOf(t, dir)
			for target, names := range want {
				r := all[target]
				if r == nil && kept == "archive" && target == "/refused" {
					continue
				}
				if r == nil || r.Canonical != names[0] || r.OpenGraph != names[1] {
					t.Errorf("%s: %s: %+v, want %q", kept, target, r, names)
				}
			}
		}
	})
}
