package crawler_test

import (
	"bytes"
	"compress/gzip"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// oddWeb returns a web with a page of each kind whose line in pages.jsonl has special fields.
func oddWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	a := w.Site("http://a.example").Robots("User-agent: *\nAllow: /said\nDisallow: /no\nContent-Signal: search=yes, ai-train=no\nLicense: http://a.example/terms\nSitemap: http://a.example/map.xml\n")
	a.Page("/", `<html lang=en><title> A  title </title><base href=/><a href=/said hreflang=fr>said &amp; done</a><a href=/gone>gone</a><a href=/go>go</a>`+
		`<a href=/coded rel="nofollow x">coded</a><a href=/same>one</a><a href=/same2>two</a><a href=/latin>l</a><a href=/file>f</a><a href=/busy>b</a><a href=/no>no</a><img src=/i.png>`)
	a.Page("/said", `<title>said</title><meta name=robots content="noindex, noai"><link rel=canonical href=/Said><meta property=og:url content=http://a.example/shared>`)
	a.Func("/coded", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Content-Encoding", "gzip")
		rw.Header().Set("X-Robots-Tag", "noarchive")
		rw.Header().Set("Link", `</terms2>; rel=license, </next>; rel=next`)
		z := gzip.NewWriter(rw)
		z.Write([]byte("<title>coded</title><a href=/said>again</a>"))
		z.Close()
	})
	a.Page("/same", strings.Repeat("<p>the same", 40)).Page("/same2", strings.Repeat("<p>the same", 40))
	a.File("/latin", "text/html; charset=iso-8859-1", "<title>caf\xe9</title><a href=/said?q=\xe9>\xe9</a>").File("/file", "", "%PDF-1.4 \x00\xff").File("/i.png", "image/png", "\x89PNG")
	a.File("/plain", "text/plain", "plain text").File("/map.xml", "application/xml", `<urlset><url><loc>http://a.example/plain</loc></url></urlset>`)
	a.Redirect("/go", "/said").Status("/gone", http.StatusGone).Flaky("/busy", "busy", "", http.StatusServiceUnavailable)
	return w
}

// Lost lines of pages.jsonl and links.jsonl are rebuilt from the archive byte for byte, whatever
// the settings of the crawl.
func TestLinesAreMadeAgainOfTheArchive(t *testing.T) {
	daily, err := revisit.Parse("fixed:1d")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set  func(*crawler.Options)
		next bool // there is a second crawl, with the first as its previous crawl
	}{
		"as usual":    {set: func(*crawler.Options) {}},
		"bodies":      {set: func(o *crawler.Options) { o.Output = append(o.Output, crawler.OutputBodies) }},
		"text":        {set: func(o *crawler.Options) { o.TextDigest = true }},
		"requisites":  {set: func(o *crawler.Options) { o.Requisites, o.Forms = true, true }},
		"a purpose":   {set: func(o *crawler.Options) { o.Purpose = robots.PurposeLinkCheck }},
		"a cut":       {set: func(o *crawler.Options) { o.MaxSize = 400 }},
		"again":       {set: func(o *crawler.Options) { o.Revisit, o.MaxTime = daily, 60*time.Hour }},
		"next":        {set: func(*crawler.Options) {}, next: true},
		"next, text":  {set: func(o *crawler.Options) { o.TextDigest = true }, next: true},
		"a small one": {set: func(o *crawler.Options) { o.MaxArchive = 2 << 10 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := oddWeb(t)
				crawl := func(set func(*crawler.Options)) string {
					o := crawler.Options{
						Identity: testIdentity, Wire: crawler.Wire{Network: w}, Dir: filepath.Join(t.TempDir(), "crawl"), Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
						Seeds: []string{"http://a.example/\tone"}, Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputLinks}},
					}
					set(&o)
					c, err := crawler.New(o)
					if err != nil {
						t.Fatal(err)
					}
					if err := c.Run(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
					return o.Dir
				}
				dir := crawl(c.set)
				if c.next {
					first := dir
					dir = crawl(func(o *crawler.Options) { c.set(o); o.Previous = first })
				}
				was := readDir(t, dir)
				if n := bytes.Count(was[store.PagesFile], []byte("\n")); n < 8 || bytes.Count(was[store.LinksFile], []byte("\n")) < 9 {
					t.Fatalf("%d pages", n)
				}
				for _, file := range []string{store.PagesFile, store.LinksFile} {
					if err := os.Remove(filepath.Join(dir, file)); err != nil {
						t.Fatal(err)
					}
				}
				r, err := store.NewRepair(t.Context(), dir, store.RepairOptions{Writer: crawler.ArchiveWriter})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Commit(); err != nil {
					t.Fatal(err)
				}
				is := readDir(t, dir)
				for file, raw := range was {
					if !bytes.Equal(is[file], raw) {
						t.Errorf("%s is not as it was: %q; %q", file, r.Mended, r.Lost)
					}
				}
			})
		})
	}
}

// A redirect to a URL that Rewrite turns into the URL of the page is not followed: the server would
// redirect for ever.
func TestARedirectThatIsRewrittenToThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "/?utm_source=1")
		crawl(t, w, func(o *crawler.Options) { o.Rewrite = crawler.StripTracking }, "http://a.example/")
		if n := w.Fetched("http://a.example/"); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}
