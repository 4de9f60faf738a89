package crawler_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

const reserved = `[{"location": "/p", "tdm-reservation": 1, "tdm-policy": "https://a.example/terms"}, {"location": "/free", "tdm-reservation": 0}]`

// miningSite adds a site of three pages with a robots.txt and a tdmrep.json.
func miningSite(w *crawltest.Web, rules string, tdmrep http.HandlerFunc) {
	s := w.Site("http://a.example").Robots(rules).Page("/", `<a href=/p>1</a><a href=/free>2</a>`).Page("/p", "").Page("/free", "")
	if tdmrep != nil {
		s.Func(robots.TDMRepPath, tdmrep)
	}
}

// For site owners: "If that purpose is mining (research, ai-train, ai-input),
// `/.well-known/tdmrep.json` is fetched before any page, once a day, if robots.txt
// allows it; pages that it reserves are not fetched."
//
// With any other answer for tdmrep.json pages are requested as if it did not exist.
func TestPagesThatTDMRepReservesAreNotRequested(t *testing.T) {
	const file = "http://a.example" + robots.TDMRepPath
	serves := func(status int, body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			rw.WriteHeader(status)
			io.WriteString(rw, body)
		}
	}
	for _, c := range []struct {
		name    string
		purpose robots.Purpose
		rules   string
		tdmrep  http.HandlerFunc
		asked   int
		refused bool
	}{
		{"reserved", robots.PurposeAITrain, "", serves(200, reserved), 1, true},
		{"for research", robots.PurposeResearch, "", serves(200, reserved), 1, true},
		{"for answers", robots.PurposeAIInput, "", serves(200, reserved), 1, true},
		{"not mined", robots.PurposeSearch, "", serves(200, reserved), 0, false},
		{"not declared", "", "", serves(200, reserved), 0, false},
		{"forbidden by robots.txt", robots.PurposeAITrain, "User-agent: *\nDisallow: /.well-known/", serves(200, reserved), 0, false},
		{"missing", robots.PurposeAITrain, "", nil, 1, false},
		{"forbidden", robots.PurposeAITrain, "", serves(403, reserved), 1, false},
		{"no JSON", robots.PurposeAITrain, "", serves(200, "<html>"), 1, false},
		{"too long", robots.PurposeAITrain, "", serves(200, reserved+strings.Repeat(" ", robots.MaxTDMRepBytes)), 1, false},
		{"elsewhere", robots.PurposeAITrain, "", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://b.example"+robots.TDMRepPath, http.StatusFound)
		}, 1, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := crawltest.New(t)
			miningSite(w, c.rules, c.tdmrep)
			_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose = dir, c.purpose }, "http://a.example/")
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
			w.AssertPolite()
			w.AssertFetched("http://a.example/", "http://a.example/free")
			if n := w.Fetched(file); n != c.asked || sum.Counts.Robots != 1 {
				t.Errorf("%s: it was requested %d times, want %d; %d requests for robots.txt", c.name, n, c.asked, sum.Counts.Robots)
			}
			if log := w.Log(); c.asked > 0 && (log[0].Target != "/robots.txt" || log[1].Target != robots.TDMRepPath) {
				t.Errorf("%s: requested %s, then %s", c.name, log[0].Target, log[1].Target)
			}
			if !c.refused {
				w.AssertFetched("http://a.example/p")
				return
			}
			w.AssertNeverFetched("http://a.example/p")
			const by = "tdmrep.json: tdm-reservation 1 for /p"
			if l := logOf(t, dir)["/p"]; l == nil || l.Status != -5002 || !strings.Contains(strings.Join(l.Annotations, " "), "refused:"+strings.ReplaceAll(by, " ", "%20")) {
				t.Errorf("%s: %+v", c.name, l)
			}
			free := tableOf(t, dir)["/free"]
			if free == nil || free.UseTDM == nil || !*free.UseTDM || free.Usage != "tdm=y by tdmrep.json: tdm-reservation 0 for /free" {
				t.Errorf("%s: %+v", c.name, free)
			}
		})
	}
}

// Redirects of tdmrep.json are followed within the site, at most five, if robots.txt allows it. If
// the redirect fails, the file states nothing, and is not requested again for each page.
func TestATDMRepMayRedirectWithinItsSite(t *testing.T) {
	serves := func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, reserved) }
	for _, c := range []struct {
		name, rules string
		site        func(s *crawltest.Site)
		asked       string // requests other than those for robots.txt and pages
		refused     bool
	}{
		{"at another place", "", func(s *crawltest.Site) { s.Redirect(robots.TDMRepPath, "/tdm").Func("/tdm", serves) }, "/tdm", true},
		{"at the fifth", "", func(s *crawltest.Site) {
			s.Redirect(robots.TDMRepPath, "/1").Redirect("/1", "/2").Redirect("/2", "/3").Redirect("/3", "/4").Redirect("/4", "/5").Func("/5", serves)
		}, "/1 /2 /3 /4 /5", true},
		{"at the sixth", "", func(s *crawltest.Site) {
			s.Redirect(robots.TDMRepPath, "/1").Redirect("/1", "/2").Redirect("/2", "/3").Redirect("/3", "/4").Redirect("/4", "/5").Redirect("/5", "/6").Func("/6", serves)
		}, "/1 /2 /3 /4 /5", false},
		{"in a circle", "", func(s *crawltest.Site) { s.Redirect(robots.TDMRepPath, "/1").Redirect("/1", robots.TDMRepPath) }, "/1", false},
		{"where it is forbidden", "User-agent: *\nDisallow: /tdm", func(s *crawltest.Site) { s.Redirect(robots.TDMRepPath, "/tdm").Func("/tdm", serves) }, "", false},
		{"beyond", "", func(s *crawltest.Site) { s.Redirect(robots.TDMRepPath, "/1").Redirect("/1", "http://b.example/tdm") }, "/1", false},
		{"where nothing is", "", func(s *crawltest.Site) { s.Redirect(robots.TDMRepPath, "/1") }, "/1", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := crawltest.New(t)
			miningSite(w, c.rules, nil)
			c.site(w.Site("http://a.example"))
			w.Site("http://b.example").Func("/tdm", serves)
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose = dir, robots.PurposeAITrain }, "http://a.example/")
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
			w.AssertPolite()
			w.AssertNeverFetched("http://b.example/tdm")
			var asked []string
			for _, r := range w.Log() {
				switch r.Target {
				case "/robots.txt", robots.TDMRepPath, "/", "/p", "/free":
				default:
					asked = append(asked, r.Target)
				}
			}
			if got := strings.Join(asked, " "); got != c.asked {
				t.Errorf("%s: requested %q, want %q", c.name, got, c.asked)
			}
			w.AssertFetched("http://a.example/", "http://a.example/free")
			if n := w.Fetched("http://a.example/p"); c.refused != (n == 0) {
				t.Errorf("%s: what it reserves was requested %d times", c.name, n)
			}
			if n := w.Fetched("http://a.example" + robots.TDMRepPath); n != 1 {
				t.Errorf("%s: requested %d times", c.name, n)
			}
		})
	}
}

// If tdmrep.json redirects, its copy is renewed with a conditional request to the target.
func TestARedirectedTDMRepIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		miningSite(w, "", func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			http.Redirect(rw, r, "/tdm", http.StatusFound)
		})
		w.Site("http://a.example").Func("/tdm", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") == `"1"` {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(rw, reserved)
		})
		for run := range 3 {
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose = dir, robots.PurposeResearch }, fmt.Sprint("http://a.example/free?", run), fmt.Sprint("http://a.example/p?", run))
			if n := w.Fetched("http://a.example/tdm"); n != run+1 {
				t.Errorf("run %d: it was requested %d times", run, n)
			}
			w.AssertNeverFetched(fmt.Sprint("http://a.example/p?", run))
			time.Sleep(25 * time.Hour)
		}
		for i, status := range []int{200, 304, 304} {
			var got []int
			for _, r := range w.Log() {
				if r.Target == "/tdm" {
					got = append(got, r.Status)
				}
			}
			if got[i] != status {
				t.Errorf("answers %v", got)
			}
		}
		w.AssertPolite()
	})
}

// If tdmrep.json fails, the pages of the site are still requested, with the same pauses as after
// any failure.
func TestATDMRepThatFailsClosesNoSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		miningSite(w, "", func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) })
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Purpose = robots.PurposeResearch }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/free", "http://a.example/p")
		w.AssertPolite()
	})
}

// A copy of tdmrep.json is valid for a day, even in a later run. Then it is requested again. If
// that fails, the old copy still applies. If the pause between requests is longer than a day, the
// crawl still makes progress.
func TestACopyOfTDMRepLivesForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		open, fails := true, false
		miningSite(w, "", func(rw http.ResponseWriter, r *http.Request) {
			if fails {
				rw.WriteHeader(http.StatusInternalServerError)
			} else if open {
				io.WriteString(rw, "[]")
			} else {
				io.WriteString(rw, reserved)
			}
		})
		const file = "http://a.example" + robots.TDMRepPath
		run := func(seeds ...string) {
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.MaxHostPages = dir, robots.PurposeResearch, -1 }, seeds...)
		}
		run("http://a.example/free")
		open = false
		time.Sleep(23 * time.Hour)
		run("http://a.example/free", "http://a.example/free?2")
		if n := w.Fetched(file); n != 1 {
			t.Errorf("within a day it was requested %d times", n)
		}
		time.Sleep(2 * time.Hour)
		run("http://a.example/free", "http://a.example/p")
		if n := w.Fetched(file); n != 2 {
			t.Errorf("after a day it was requested %d times", n)
		}
		w.AssertNeverFetched("http://a.example/p")
		fails = true
		time.Sleep(25 * time.Hour)
		run("http://a.example/free", "http://a.example/p?2")
		if n := w.Fetched(file); n < 3 {
			t.Errorf("after two days it was requested %d times", n)
		}
		w.AssertNeverFetched("http://a.example/p?2")
	})
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		miningSite(w, "User-agent: *\nCrawl-delay: 200000", func(rw http.ResponseWriter, r *http.Request) { io.WriteString(rw, "[]") })
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Purpose, o.Patience = robots.PurposeResearch, 1000*time.Hour }, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/free", "http://a.example/p")
		w.AssertPolite()
	})
}
