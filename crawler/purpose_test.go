package crawler_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// logOf returns the lines of crawl.log for pages, by target.
func logOf(t *testing.T, dir string) map[string]*crawllog.Line {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, store.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*crawllog.Line{}
	for text := range strings.Lines(string(raw)) {
		l, err := crawllog.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, target, ok := strings.Cut(l.URL, ".example"); ok && !strings.HasSuffix(l.Hops, "P") {
			all[target] = l
		}
	}
	return all
}

// For site owners: "If the operator declares a purpose (`--purpose`), pages for which
// robots.txt refuses that purpose are not fetched."
func TestPagesThatRobotsTxtRefusesForThePurposeAreNotRequested(t *testing.T) {
	for _, c := range []struct {
		purpose robots.Purpose
		line    string
		refused bool
	}{
		{robots.PurposeAITrain, "Content-Signal: /p ai-train=no", true},
		{robots.PurposeAITrain, "Content-Usage: /p train-ai=n", true},
		{robots.PurposeAIInput, "Content-Usage: /p ai-use=n", true},
		{robots.PurposeSearch, "Content-Signal: /p search=no", true},
		{robots.PurposeSearch, "Noindex: /p", true},
		{robots.PurposeSearch, "Content-Signal: /p ai-train=no, ai-input=no", false},
		{robots.PurposeArchive, "Content-Usage: /p train-ai=n, search=n", false},
		{robots.PurposeLinkCheck, "Content-Usage: /p train-ai=n, search=n", false},
		{"", "Content-Usage: /p train-ai=n, search=n", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := crawltest.New(t)
			w.Site("http://a.example").Robots("User-agent: *\n"+c.line).Page("/", `<a href="/p">1</a><a href="/q">2</a>`).Page("/p", "").Page("/q", "")
			var mu sync.Mutex
			var skipped []string
			_, sum := crawl(t, w, func(o *crawler.Options) {
				o.Dir, o.Purpose = dir, c.purpose
				o.OnSkip = func(s crawler.Skip) {
					mu.Lock()
					defer mu.Unlock()
					skipped = append(skipped, fmt.Sprint(s.URL, " ", s.Code, ": ", s.Detail))
				}
			}, "http://a.example/")
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
			w.AssertFetched("http://a.example/robots.txt", "http://a.example/", "http://a.example/q")
			if !c.refused {
				w.AssertFetched("http://a.example/p")
				return
			}
			w.AssertNeverFetched("http://a.example/p")
			by := strings.ReplaceAll("line 2: "+c.line, ": /p ", ": ")
			if want := "http://a.example/p use: " + by; sum.SkippedURLs[frontier.UseRefused] != 1 || !slices.Equal(skipped, []string{want}) {
				t.Errorf("%s: %v, %q, want %q", c.line, sum.SkippedURLs, skipped, want)
			}
			l := logOf(t, dir)["/p"]
			if l == nil || l.Status != crawllog.UseRefused || !l.Start.IsZero() || len(l.Annotations) != 2 || l.Annotations[0] != "refused:"+strings.ReplaceAll(by, " ", "%20") {
				t.Errorf("%s: %+v", c.line, l)
			}
			if sum.Fetched != 2 || sum.Requests != 3+w.Fetched("http://a.example"+robots.TDMRepPath) || tableOf(t, dir)["/p"] != nil {
				t.Errorf("%s: %v", c.line, sum)
			}
		})
	}
}

// For site owners: "A page that refuses the purpose in its own header or meta elements
// is neither stored nor passed on, and its links are not followed."
func TestAPageThatRefusesThePurposeIsNotKept(t *testing.T) {
	for _, c := range []struct {
		purpose      robots.Purpose
		header, meta string
		// by is the statement that refuses; unrefused is a purpose that no statement refuses
		by, unrefused string
	}{
		{robots.PurposeAITrain, "X-Robots-Tag: noai", "", "X-Robots-Tag: noai", "search"},
		{robots.PurposeAITrain, "X-Robots-Tag: benchbot: noai", "", "X-Robots-Tag: noai", "search"},
		{robots.PurposeAITrain, "Content-Usage: train-ai=n", "", "Content-Usage: train-ai=n", "search"},
		{robots.PurposeAIInput, "X-Robots-Tag: nosnippet", "", "X-Robots-Tag: nosnippet", "research"},
		{robots.PurposeSearch, "", "<meta name=robots content=noindex>", "meta robots: noindex", "archive"},
		{robots.PurposeArchive, "", "<meta name=benchbot content=noarchive>", "meta robots: noarchive", "search"},
		{robots.PurposeResearch, "Tdm-Reservation: 1", "", "tdm-reservation: 1", "linkcheck"},
		{robots.PurposeResearch, "", "<meta name=tdm-reservation content=1>", "meta tdm-reservation: 1", "archive"},
	} {
		for _, purpose := range []robots.Purpose{c.purpose, robots.Purpose(c.unrefused), ""} {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				w := crawltest.New(t)
				s := w.Site("http://a.example").Page("/", `<a href="/p">1</a>`).Page("/below", "")
				says(s, "/p", "<title>Secret</title>"+c.meta+`<a href="/below">1</a>`, c.header)
				pages, sum := crawl(t, w, func(o *crawler.Options) {
					o.Dir, o.Purpose = dir, purpose
					o.Output = []crawler.Output{crawler.OutputWARC, crawler.OutputBodies, crawler.OutputLinks}
				}, "http://a.example/")
				if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
					t.Fatal(err)
				}
				w.AssertFetched("http://a.example/p")
				r := tableOf(t, dir)["/p"]
				if r == nil {
					t.Fatalf("%s%s: no row", c.header, c.meta)
				}
				if purpose != c.purpose {
					w.AssertFetched("http://a.example/below")
					if r.Fate != "fetched" || r.Title != "Secret" || r.WARCFile == "" || r.Usage == "" || r.Refused != "" || sum.SkippedURLs[frontier.UseRefused] != 0 {
						t.Errorf("%s%s, for %q: %+v", c.header, c.meta, purpose, r)
					}
					return
				}
				wantPages(t, pages, "http://a.example/")
				w.AssertNeverFetched("http://a.example/below")
				if r.Fate != "refused" || r.Refused != c.by || r.Title != "" || r.Digest != "" || r.WARCFile != "" || *r.Links != 0 || r.Status != 200 || !strings.Contains(r.Usage, "=n by "+c.by) {
					t.Errorf("%s%s: %+v", c.header, c.meta, r)
				}
				if sum.SkippedURLs[frontier.UseRefused] != 1 || sum.Pages != 1 || sum.Fetched != 1 {
					t.Errorf("%s%s: %v", c.header, c.meta, sum)
				}
				for _, name := range []string{store.PagesFile, store.LinksFile} {
					if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(raw), "Secret") || strings.Contains(string(raw), "below") {
						t.Errorf("%s: %s, %v", name, raw, err)
					}
				}
				l := logOf(t, dir)["/p"]
				if by, _ := l.Annotation("refused"); l.Status != 200 || by != strings.ReplaceAll(c.by, " ", "%20") || l.Digest != "" || l.Start.IsZero() {
					t.Errorf("%s%s: %+v", c.header, c.meta, l)
				}
			})
		}
	}
}

// For site owners: "The most restrictive statement counts; a statement that cannot be
// parsed is ignored."
func TestTheMostRestrictiveStatementCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Robots("User-agent: *\nContent-Usage: train-ai=y\nContent-Usage: /no train-ai=n\nContent-Usage: /no train-ai=y\nContent-Usage: /unclear train-ai=n,,\nContent-Signal: /unclear ai-train=perhaps")
		says(s, "/header", "", "Content-Usage: train-ai=n")
		says(s, "/no", "", "Content-Usage: train-ai=y")
		says(s, "/unclear", "", "Content-Usage: train-ai=n, Search", "Tdm-Reservation: perhaps")
		says(s, "/meta", `<meta name=robots content=noai>`, "Content-Usage: train-ai=y", "Tdm-Reservation: 0")
		pages, _ := crawl(t, w, func(o *crawler.Options) { o.Purpose = robots.PurposeAITrain },
			"http://a.example/header", "http://a.example/no", "http://a.example/unclear", "http://a.example/meta")
		wantPages(t, pages, "http://a.example/unclear")
		w.AssertNeverFetched("http://a.example/no")
	})
}

// For site owners: "No statement about use allows what robots.txt forbids, or shortens
// a pause."
func TestStatementsAboutUseLoosenNothing(t *testing.T) {
	for _, purpose := range append(robots.Purposes(), "") {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			const all = "search=y, train-ai=y, ai-use=y"
			s := w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\nCrawl-delay: 7\nContent-Usage: /no " + all + "\nContent-Usage: " + all + "\nContent-Signal: search=yes, ai-train=yes, ai-input=yes\nLicense: https://a.example/l")
			says(s, "/", `<a href="/no">1</a><a href="/1">2</a><a href="/2" rel=nofollow>3</a>`, "Content-Usage: "+all, "Tdm-Reservation: 0")
			s.Page("/1", "").Page("/2", "").Page("/no", "")
			w.Site("http://closed.example").Status("/robots.txt", 403).Page("/", "")
			pages, sum := crawl(t, w, func(o *crawler.Options) { o.Purpose = purpose }, "http://a.example/", "http://closed.example/")
			wantPages(t, pages, "http://a.example/", "http://a.example/1")
			if sum.SkippedURLs[frontier.RobotsDisallowed] != 2 || sum.SkippedURLs[frontier.UseRefused] != 0 {
				t.Errorf("%q: %v", purpose, sum.SkippedURLs)
			}
			for _, r := range w.Log() {
				if r.Site.Host() == "a.example" && r.Target == "/1" && r.Start.Sub(w.Log()[0].End).Seconds() < 14 {
					t.Errorf("%q: %v", purpose, r)
				}
			}
		})
	}
}

// A redirect whose answer refuses the purpose is not stored, and its target is judged separately. A
// page that refuses counts as requested for the limits of its site.
func TestRefusedRedirectsAndBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/there", `<a href="/1">1</a><a href="/2">2</a><a href="/3">3</a><a href="/4">4</a>`)
		s.Func("/", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("X-Robots-Tag", "noai")
			http.Redirect(rw, r, "/there", http.StatusFound)
		})
		for i := range 4 {
			says(s, fmt.Sprintf("/%d", i+1), "", "X-Robots-Tag: noai")
		}
		pages, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.MaxHostPages = dir, robots.PurposeAITrain, 3 }, "http://a.example/")
		wantPages(t, pages, "http://a.example/there")
		if r := tableOf(t, dir)["/"]; r.Fate != "refused" || r.Location != "http://a.example/there" || r.WARCFile != "" {
			t.Errorf("%+v", r)
		}
		if sum.Left[frontier.BudgetSpent] != 2 || sum.Frontier.Spent.Pages != 3 || sum.Pages != 1 || len(sum.Repeats) != 0 {
			t.Errorf("%v", sum)
		}
	})
}

// If a later run declares a purpose, it applies to queued URLs, and to links of archived pages.
func TestAPurposeThatIsDeclaredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/open", "").Page("/below", "")
		says(s, "/", `<a href="/open">1</a>`)
		says(s, "/closed", `<a href="/below">1</a>`, "X-Robots-Tag: noarchive")
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Scope = dir, crawler.SeedsOnly() }, "http://a.example/", "http://a.example/closed")
		var changes []string
		crawl(t, w, func(o *crawler.Options) {
			o.Dir, o.Rescan, o.Purpose = dir, true, robots.PurposeArchive
			o.OnStart = func(s crawler.Start) {
				for _, c := range s.Changes {
					changes = append(changes, c.String())
				}
			}
		}, "http://a.example/", "http://a.example/closed")
		w.AssertFetched("http://a.example/open")
		w.AssertNeverFetched("http://a.example/below")
		if !slices.Contains(changes, "purpose: none -> archive") {
			t.Errorf("%q", changes)
		}
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
	})
}

// An answer that refuses the purpose is not archived, even if the URL will be requested again.
func TestRefusedAnswersBeforeARetryAreNotKept(t *testing.T) {
	for _, purpose := range []robots.Purpose{robots.PurposeArchive, robots.PurposeSearch} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := crawltest.New(t)
			s := w.Site("http://a.example").Page("/", "")
			s.Func("/late", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("X-Robots-Tag", "noarchive")
				rw.WriteHeader(http.StatusInternalServerError)
			})
			s.Func("/cut", func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", "text/html")
				rw.Header().Set("Content-Length", "1000")
				fmt.Fprint(rw, "<meta name=robots content=noarchive>")
			})
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.Patience = dir, purpose, 24*time.Hour }, "http://a.example/", "http://a.example/late", "http://a.example/cut")
			all := tableOf(t, dir)
			for _, target := range []string{"/late", "/cut"} {
				if n := w.Fetched("http://a.example" + target); n < 3 {
					t.Errorf("%s was requested %d times", target, n)
				}
				if kept := all[target] != nil && all[target].WARCFile != ""; kept != (purpose == robots.PurposeSearch) {
					t.Errorf("%s: %s is kept: %v", purpose, target, kept)
				}
			}
			if all["/"] == nil || all["/robots.txt"] == nil {
				t.Errorf("%s: %v", purpose, all)
			}
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
				t.Fatal(err)
			}
		})
	}
}
