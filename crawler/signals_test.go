package crawler_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// says adds a page to s: HTML with header fields, each as "Name: value".
func says(s *crawltest.Site, target, html string, fields ...string) {
	s.Func(target, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			w.Header().Add(name, value)
		}
		io.WriteString(w, html)
	})
}

// signalsWeb returns a web with a site that makes statements about use in every way.
func signalsWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	s := w.Site("http://a.example").Robots("License: https://a.example/license.xml\nUser-agent: *\nContent-Signal: /said/ ai-train=no, search=yes\n")
	says(s, "/", `<a href="/header">1</a><a href="/meta">2</a><a href="/said/robots">3</a><a href="/broken">4</a>`)
	says(s, "/header", "", "Content-Usage: train-ai=n", "X-Robots-Tag: benchbot: noarchive", "Tdm-Reservation: 1", "Tdm-Policy: https://a.example/p")
	says(s, "/meta", `<meta name=robots content="noai"><meta name=tdm-reservation content=1>`)
	says(s, "/said/robots", "", "Content-Usage: search=n")
	says(s, "/broken", "", "Content-Usage: train-ai=n, Search=y")
	return w
}

// A page has all statements about its use, with their sources. If they contradict each other, the
// most restrictive one decides.
func TestSignalsOfAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := signalsWeb(t)
		var mu sync.Mutex
		got, copies := map[string]string{}, map[time.Time]bool{}
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			mu.Lock()
			defer mu.Unlock()
			s := p.Signals()
			got[p.URL.Target()] = fmt.Sprint(s.Deciding(), s.Licenses, s.Policies)
			copies[s.Copied] = true
			if again := p.Signals(); fmt.Sprint(again) != fmt.Sprint(s) {
				t.Errorf("%v, then %v", s, again)
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for target, want := range map[string]string{
			"/":            "[] [https://a.example/license.xml] []",
			"/header":      "[Content-Usage: train-ai=n tdm-reservation: 1 X-Robots-Tag: noarchive] [https://a.example/license.xml] [https://a.example/p]",
			"/meta":        "[meta robots: noai meta robots: noai meta tdm-reservation: 1] [https://a.example/license.xml] []",
			"/said/robots": "[Content-Usage: search=n line 3: Content-Signal: ai-train=no] [https://a.example/license.xml] []",
			"/broken":      "[] [https://a.example/license.xml] []",
		} {
			if got[target] != want {
				t.Errorf("%s: %s, want %s", target, got[target], want)
			}
		}
		asked := w.Log()[0]
		if asked.Target != "/robots.txt" || len(copies) != 1 || !copies[asked.End] {
			t.Errorf("copies of %v, robots.txt came at %v", copies, asked.End)
		}
	})
}

// If robots.txt cannot be fetched any more, the statements of the valid copy apply, with its time.
// A site without statements has none.
func TestSignalsAreThoseOfTheCopyInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		begin := time.Now()
		s := w.Site("http://a.example").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
			if time.Since(begin) > time.Hour {
				rw.WriteHeader(http.StatusInternalServerError)
			}
			io.WriteString(rw, "User-agent: *\nContent-Usage: train-ai=n\nCrawl-delay: 100000")
		})
		s.Page("/", `<a href="/1">1</a>`).Page("/1", "")
		w.Site("http://quiet.example").Page("/", `<meta name=robots content=nofollow>`)
		var mu sync.Mutex
		got := map[string]robots.Signals{}
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/", "http://quiet.example/"}, Wire: crawler.Wire{Network: w}, Budget: crawler.Budget{Patience: 100 * time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			mu.Lock()
			defer mu.Unlock()
			got[p.URL.String()] = p.Signals()
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		first, second := got["http://a.example/"], got["http://a.example/1"]
		if first.Copied.IsZero() || !second.Copied.Equal(first.Copied) || fmt.Sprint(second.Deciding()) != "[line 2: Content-Usage: train-ai=n]" || w.Fetched("http://a.example/robots.txt") < 2 {
			t.Errorf("%v, then %v", first, second)
		}
		if quiet := got["http://quiet.example/"]; !quiet.IsZero() || !quiet.Copied.IsZero() {
			t.Errorf("%v", quiet)
		}
	})
}

// tableOf returns the rows of the exported table of a crawl, by target.
func tableOf(t *testing.T, dir string) map[string]*export.Row {
	t.Helper()
	source, err := export.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*export.Row{}
	for r, err := range source.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		_, target, _ := strings.Cut(r.URL, "example/")
		all["/"+target] = r
	}
	return all
}

// For site owners: "A page that requires a license (401 or 402 with `WWW-Authenticate:
// License`) is not fetched again, and only the address of the license is stored."
//
// Other answers with these statuses are pages.
func TestPagesThatRequireALicenseAreNotRequestedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		s := w.Site("http://a.example").Robots("License: /all.xml\n").
			Page("/", `<a href=/paid>1</a><a href=/own>2</a><a href=/login>3</a><a href=/shop>4</a><a href=/open>5</a>`)
		answer := func(target string, status int, fields ...string) {
			s.Func(target, func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Retry-After", "5")
				for _, f := range fields {
					name, value, _ := strings.Cut(f, ": ")
					rw.Header().Add(name, value)
				}
				rw.WriteHeader(status)
				io.WriteString(rw, "<title>T</title>buy one")
			})
		}
		answer("/paid", http.StatusPaymentRequired, "WWW-Authenticate: License")
		answer("/own", http.StatusUnauthorized, "WWW-Authenticate: Basic realm=x", `WWW-Authenticate: License error="invalid_request"`, "Link: </own.xml>; rel=license")
		answer("/login", http.StatusUnauthorized, "WWW-Authenticate: Basic realm=x")
		answer("/shop", http.StatusPaymentRequired, "Link: </own.xml>; rel=license")
		answer("/open", http.StatusOK, "WWW-Authenticate: License")
		var mu sync.Mutex
		skipped := map[string]string{}
		pages, _ := crawl(t, w, func(o *crawler.Options) {
			o.Dir = dir
			o.OnSkip = func(s crawler.Skip) {
				mu.Lock()
				defer mu.Unlock()
				skipped[s.URL.Target()] = s.Code.String() + ": " + s.Detail
			}
		}, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/login", "http://a.example/shop", "http://a.example/open")
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"/paid": "WWW-Authenticate: License (/all.xml)",
			"/own":  "WWW-Authenticate: License error=invalid_request (http://a.example/own.xml)",
		}
		all := tableOf(t, dir)
		for target, by := range want {
			r := all[target]
			if skipped[target] != "use: "+by || w.Fetched("http://a.example"+target) != 1 {
				t.Errorf("%s: skipped %q, want %q; requested %d times", target, skipped[target], by, w.Fetched("http://a.example"+target))
			}
			if r == nil || r.Refused != by || r.Fate != export.Refused || r.WARCFile != "" || r.Title != "" || r.Digest != "" {
				t.Errorf("%s: %+v", target, r)
			}
		}
		if all["/own"].License != "/all.xml http://a.example/own.xml" || all["/shop"].License != "/all.xml http://a.example/own.xml" || len(skipped) != len(want) {
			t.Errorf("%+v\n%+v\n%v", all["/own"], all["/shop"], skipped)
		}
		again, _ := crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
		if len(again) != 0 || w.Fetched("http://a.example/paid") != 1 {
			t.Errorf("another run asks for %q", again)
		}
	})
}

// For site owners: "What robots.txt, the header and the meta elements of a page say
// about its use is stored with the page: Content-Usage, Content-Signal, License,
// X-Robots-Tag, TDMRep."
//
// The statements are in pages.jsonl and in the archive. A page without a statement has none.
// The crawl verifies.
func TestSignalsAreKeptWithEachCapture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := signalsWeb(t)
		s := w.Site("http://late.example").Func("/robots.txt", func(rw http.ResponseWriter, r *http.Request) {
			if w.Fetched("http://late.example/robots.txt") > 1 {
				rw.WriteHeader(http.StatusInternalServerError)
			}
			rw.Header().Set("Cache-Control", "max-age=300")
			io.WriteString(rw, "User-agent: *\nContent-Usage: train-ai=n\nCrawl-delay: 1000")
		})
		s.Page("/late", `<a href="/later">1</a>`).Page("/later", `<a href="/last">2</a>`).Page("/last", "")
		w.Site("http://quiet.example").Page("/quiet", "")
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Patience = dir, time.Hour }, "http://a.example/", "http://quiet.example/quiet", "http://late.example/late")
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"/": "", "/broken": "", "/quiet": "", "/robots.txt": "",
			"/header":      "ai-train=n by Content-Usage: train-ai=n; tdm=n by tdm-reservation: 1; archive=n by X-Robots-Tag: noarchive",
			"/meta":        "ai-train=n by meta robots: noai; ai-input=n by meta robots: noai; tdm=n by meta tdm-reservation: 1",
			"/said/robots": "search=n by Content-Usage: search=n; ai-train=n by line 3: Content-Signal: ai-train=no",
			"/late":        "ai-train=n by line 2: Content-Usage: train-ai=n",
		}
		for _, kept := range []string{"both", "archive"} {
			if kept == "archive" {
				if err := os.Remove(filepath.Join(dir, store.PagesFile)); err != nil {
					t.Fatal(err)
				}
			}
			all := tableOf(t, dir)
			for target, usage := range want {
				r := all[target]
				if r == nil || r.Usage != usage {
					t.Errorf("%s: %s: %+v, want %s", kept, target, r, usage)
				}
			}
			if r := all["/header"]; r.License != "https://a.example/license.xml" || r.TDMPolicy != "https://a.example/p" || r.UseAITrain == nil || *r.UseAITrain || r.UseSearch != nil {
				t.Errorf("%s: %+v", kept, r)
			}
			// The copy that has the statement is older than the last attempt to fetch robots.txt.
			if r := all["/last"]; !strings.HasPrefix(r.Usage, "ai-train=n by line 2: Content-Usage: train-ai=n (copy of 2000-01-01T00:00:0") {
				t.Errorf("%s: %+v", kept, r)
			}
		}
	})
}
