package crawler_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/store"
)

const (
	hours = time.Hour
	days  = 24 * time.Hour
)

// weekly is a policy that fetches each page every 7 days.
var weekly = revisit.Fixed{Every: 7 * days}

// A crawl without an end fetches each page again when its policy requires it. If the archive has
// the page, the request has a condition. The handler learns how the page has changed.
func TestACrawlWithoutEndFetchesPagesAgain(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("in a directory %v", kept), func(t *testing.T) {
			inVirtualTime(t, kept, func(e *endless, shelf *shelf) {
				shelf.put("/", resource{body: filler + pages("/still", "/text", "/script", "/gone")})
				shelf.put("/still", resource{body: filler + "still", etag: `"1"`})
				shelf.put("/text", resource{body: filler + "old", etag: `"1"`})
				shelf.put("/script", resource{body: filler + "<script>1</script>"})
				shelf.put("/gone", resource{body: filler + "gone", etag: `"1"`})
				e.run(30*days, weekly, map[time.Duration]func(){
					8 * days: func() {
						shelf.put("/text", resource{body: filler + "new", etag: `"2"`})
						shelf.put("/script", resource{body: filler + "<script>2</script>"})
						shelf.put("/gone", resource{status: 410, body: "gone"})
						shelf.put("/", resource{body: filler + pages("/still", "/text", "/script", "/gone", "/new")})
						shelf.put("/new", resource{body: filler + "new"})
					},
					15 * days: func() { shelf.put("/gone", resource{body: filler + "gone", etag: `"1"`}) },
				})
				sameText := "same-text"
				if !kept { // only the digest of the page is known
					sameText = "modified"
				}
				e.expect("/", "0 200 new, 7 200 not-modified, 14 200 modified, 21 200 not-modified, 28 200 not-modified")
				e.expect("/still", "0 200 new, 7 200 not-modified, 14 200 not-modified, 21 200 not-modified, 28 200 not-modified")
				e.expect("/text", "0 200 new, 7 200 not-modified, 14 200 modified, 21 200 not-modified, 28 200 not-modified")
				e.expect("/script", "0 200 new, 7 200 not-modified, 14 200 "+sameText+", 21 200 not-modified, 28 200 not-modified")
				e.expect("/gone", "0 200 new, 7 200 not-modified, 14 410 , 21 200 new, 28 200 not-modified")
				e.expect("/new", "14 200 new, 21 200 not-modified, 28 200 not-modified")
				want := map[string]string{"/still": "-cccc", "/text": "-cccc", "/script": "-----", "/gone": "-cc--"}
				for target, requests := range want {
					if !kept {
						requests = "-----"
					}
					if got := shelf.requests(target); got != requests {
						t.Errorf("%s was requested as %s, want %s", target, got, requests)
					}
				}
				if e.sum.End != crawler.EndTime || e.sum.Pages != 27 || e.sum.Frontier.Spent.Pages != 6 || e.sum.Frontier.Again != 6 || len(e.sum.Left) != 0 || len(e.left) != 0 {
					t.Errorf("%s, %d pages, %d spent, left %v: %v", e.sum.End, e.sum.Pages, e.sum.Frontier.Spent.Pages, e.sum.Left, e.left)
				}
				if !kept {
					return
				}
				lines := 0
				for _, err := range store.ReadPages(t.Context(), e.dir) {
					if lines++; err != nil {
						t.Error(err)
					}
				}
				if lines != 28 {
					t.Errorf("%d lines in pages.jsonl, want one for each visit", lines)
				}
			})
		})
	}
}

// A URL that was refused or has failed is requested again. A URL that was fetched once has the code
// fetched, and the time at which it will be fetched again.
func TestFailedURLsAreRequestedAgain(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		site := e.web.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\n")
		shelf.put("/", resource{body: filler + pages("/no", "/broken")})
		shelf.put("/no", resource{body: filler + "no"})
		shelf.put("/broken", resource{status: 500})
		e.run(10*days, weekly, map[time.Duration]func(){
			5 * days: func() {
				site.Robots("User-agent: *\nDisallow:\n")
				shelf.put("/broken", resource{body: filler + "mended"})
			},
		})
		e.expect("/", "0 200 new, 7 200 not-modified")
		e.expect("/no", "7 200 new")
		e.expect("/broken", "7 200 new")
		if n := e.sum.SkippedURLs; n[frontier.RobotsDisallowed] != 1 || n[frontier.Failed] != 1 {
			t.Errorf("%v", n)
		}
		for target, l := range listedIn(t, e.dir) {
			if left := time.Until(l.Again); l.Code != frontier.Fetched || left < 3*days || left > 5*days || !l.Again.Equal(l.Fate.Until) {
				t.Errorf("%s: %s, again after %v", target, l.Code, left)
			}
		}
	})
}

// A site that is down for days is requested once a day, and is crawled again when it is back.
func TestACrawlWithoutEndWaitsForASiteThatIsDown(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		site := e.web.Site("http://a.example")
		shelf.put("/", resource{body: filler + pages("/2"), etag: `"1"`})
		shelf.put("/2", resource{body: filler + "2", etag: `"1"`})
		e.run(30*days, revisit.Fixed{Every: days}, map[time.Duration]func(){
			10*days + hours: func() { site.Down(true) },
			16 * days:       func() { site.Down(false) },
		})
		before, after := 0, 0
		for _, visits := range e.seen {
			for _, v := range visits {
				var day int
				fmt.Sscan(v, &day)
				switch {
				case day <= 10:
					before++
				case day < 16:
					t.Errorf("a page of a site that is down: %s", v)
				default:
					after++
				}
			}
		}
		if before != 2*11 || after < 2*12 {
			t.Errorf("%d visits before, %d after", before, after)
		}
		if n := len(e.web.Log()); n > 30*3+30 {
			t.Errorf("%d requests", n)
		}
	})
}

// The budget of pages of a site does not limit fetches of pages that were fetched before.
func TestPagesAreFetchedAgainBeyondTheBudget(t *testing.T) {
	for name, bound := range map[string]func(*crawler.Options){
		"of the site": func(o *crawler.Options) { o.MaxHostPages = 2 }, "of the crawl": func(o *crawler.Options) { o.Limit = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, true, func(e *endless, shelf *shelf) {
				e.opts = bound
				shelf.put("/", resource{body: filler + pages("/1", "/2", "/3")})
				for _, target := range []string{"/1", "/2", "/3"} {
					shelf.put(target, resource{body: filler + target})
				}
				e.run(15*days, weekly, nil)
				e.expect("/", "0 200 new, 7 200 not-modified, 14 200 not-modified")
				e.expect("/1", "0 200 new, 7 200 not-modified, 14 200 not-modified")
				e.expect("/2", "")
				if len(e.left) != 2 {
					t.Errorf("left are %v", e.left)
				}
			})
		})
	}
}

// A later run without a policy requests no page before its time, and ends by its patience. It
// fetches each page whose time has come once more.
func TestARunWithoutRevisitGoesOnWithACrawlThatHadIt(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		shelf.put("/", resource{body: filler + pages("/2"), etag: `"1"`})
		shelf.put("/2", resource{body: filler + "2", etag: `"1"`})
		e.run(days, weekly, nil)
		e.run(0, nil, nil)
		e.expect("/", "0 200 new")
		if e.sum.End != crawler.EndPatience || e.sum.Requests != 0 || len(e.left) != 0 {
			t.Fatalf("%s, %d requests, left %v", e.sum.End, e.sum.Requests, e.left)
		}
		time.Sleep(7 * days)
		e.run(0, nil, nil)
		e.expect("/", "0 200 new, 0 200 not-modified")
		e.expect("/2", "0 200 new, 0 200 not-modified")
		if e.sum.End != crawler.EndDone || shelf.requests("/2") != "-c" {
			t.Errorf("%s, /2 was requested as %s", e.sum.End, shelf.requests("/2"))
		}
		for target, l := range listedIn(t, e.dir) {
			if l.Code != frontier.Fetched || !l.Again.IsZero() {
				t.Errorf("%s: %s, again at %v", target, l.Code, l.Again)
			}
		}
	})
}

// The history of a page is kept from run to run.
func TestHistoryOutlivesARun(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		shelf.put("/", resource{body: filler, etag: `"1"`})
		policy := revisit.Adaptive{Least: days, Most: 32 * days, Start: days, Later: 2}
		for range 16 {
			e.run(4*days, policy, nil)
		}
		// The page is fetched after 1, 2, 4, 8, 16 and 32 days.
		e.expect("/", "0 200 new, 1 200 not-modified, 3 200 not-modified, 3 200 not-modified, 3 200 not-modified, 3 200 not-modified, 3 200 not-modified")
		if got := shelf.requests("/"); got != "-cccccc" {
			t.Errorf("it was requested as %s", got)
		}
	})
}

// If many pages have the same body, each page counts once, however often it is fetched.
func TestARefetchedPageIsNotARepeat(t *testing.T) {
	inVirtualTime(t, false, func(e *endless, shelf *shelf) {
		shelf.put("/", resource{body: filler})
		e.run(150*days, revisit.Fixed{Every: days}, nil)
		if len(e.seen["/"]) != 150 || len(e.sum.Repeats) != 0 {
			t.Errorf("%d visits, %+v", len(e.seen["/"]), e.sum.Repeats)
		}
	})
}

// A loop over Pages gets each visit of a page exactly once.
func TestALoopOverPagesThatAreFetchedAgain(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		shelf := newShelf(w.Site("http://a.example"))
		shelf.put("/", resource{body: filler + pages("/2"), etag: `"1"`})
		shelf.put("/2", resource{body: filler + "2", etag: `"1"`})
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{MaxTime: 22 * days}, Revisit: weekly,
			Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
		})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for p, err := range c.Pages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			seen[p.URL.Target()] += string(p.Change()) + " "
			time.Sleep(time.Hour)
		}
		for _, target := range []string{"/", "/2"} {
			if seen[target] != "new not-modified not-modified not-modified " {
				t.Errorf("%s: %s", target, seen[target])
			}
		}
		w.AssertPolite()
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
			t.Error(err)
		}
	})
}

// A run with a patience fetches the pages whose time has come, and ends. The next run continues.
func TestRunsOfACrawlWithoutEndMayEnd(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		e.opts = func(o *crawler.Options) { o.Patience = 2 * time.Minute }
		shelf.put("/", resource{body: filler + pages("/2"), etag: `"1"`})
		shelf.put("/2", resource{body: filler + "2", etag: `"1"`})
		for range 5 { // after 0, 4, 8, 12 and 16 days
			e.run(0, weekly, nil)
			if e.sum.End != crawler.EndPatience || len(e.sum.Left) != 0 || e.sum.Frontier.Again != 2 || !strings.HasSuffix(e.sum.String(), "; 2 to be fetched again") {
				t.Errorf("%s, left %v", e.sum, e.sum.Left)
			}
			time.Sleep(4 * days)
		}
		if shelf.requests("/") != "-cc" || shelf.requests("/2") != "-cc" {
			t.Errorf("they were requested as %s and %s", shelf.requests("/"), shelf.requests("/2"))
		}
	})
}

// The first visit compares a page with the previous crawl. Later visits compare it with the crawl's
// own archive.
func TestACrawlWithoutEndThatKnowsTheOneBefore(t *testing.T) {
	before := t.TempDir()
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		shelf.put("/", resource{body: filler, etag: `"1"`})
		own := e.dir
		e.dir = before
		e.run(0, nil, nil)
		e.dir, e.seen = own, map[string][]string{}
		e.opts = func(o *crawler.Options) { o.Previous = before }
		e.run(22*days, weekly, map[time.Duration]func(){
			8 * days: func() { shelf.put("/", resource{body: filler + "new", etag: `"2"`}) },
		})
		e.expect("/", "0 200 not-modified, 7 200 not-modified, 14 200 modified, 21 200 not-modified")
		if got := shelf.requests("/"); got != "-c-cc" {
			t.Errorf("it was requested as %s", got)
		}
	})
}

// A sitemap is fetched again, and new URLs in it are found.
func TestSitemapsAreFetchedAgain(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		plain := http.Header{"Content-Type": {"text/plain"}}
		e.web.Site("http://a.example").Robots("Sitemap: /list.txt\n")
		shelf.put("/", resource{body: filler})
		shelf.put("/list.txt", resource{body: "http://a.example/\n", header: plain})
		shelf.put("/new", resource{body: filler + "new"})
		e.run(8*days, weekly, map[time.Duration]func(){
			5 * days: func() {
				shelf.put("/list.txt", resource{body: "http://a.example/\nhttp://a.example/new\n", header: plain})
			},
		})
		e.expect("/new", "7 200 new")
	})
}

// If an archived answer is damaged, the page is requested without a condition, and no page is lost.
func TestAnOwnCaptureThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		e := &endless{t: t, web: crawltest.New(t), dir: dir, seen: map[string][]string{}}
		shelf := newShelf(e.web.Site("http://a.example"))
		shelf.put("/", resource{body: filler, etag: `"1"`})
		e.run(days, weekly, nil)
		files, err := store.ArchiveFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err == nil {
				err = os.WriteFile(file, make([]byte, info.Size()), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		e.run(8*days, weekly, map[time.Duration]func(){
			2 * days: func() { shelf.put("/", resource{body: filler + "2", etag: `"2"`}) },
		})
		e.expect("/", "0 200 new, 6 200 modified")
		if e.sum.Unread != 1 || shelf.requests("/") != "--" {
			t.Errorf("%d unread, it was requested as %s", e.sum.Unread, shelf.requests("/"))
		}
	})
}

// A page that was fetched with HEAD is fetched again with HEAD. It counts as changed only if its
// status changes.
func TestPagesFetchedWithHEADAreFetchedAgainWithHEAD(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		var changed []bool
		e.opts = func(o *crawler.Options) {
			o.Links = func(_ *crawler.Page, l *crawler.Link) bool { l.Head = true; return true }
		}
		shelf.put("/", resource{body: filler + pages("/2"), etag: `"1"`})
		shelf.put("/2", resource{body: filler + "2", etag: `"1"`})
		e.run(15*days, revisit.PolicyFunc(func(v revisit.Visit) time.Duration {
			changed = append(changed, v.Changed)
			return 7 * days
		}), map[time.Duration]func(){
			8 * days: func() { shelf.put("/2", resource{status: 404}) },
		})
		e.expect("/2", "0 200 , 7 200 , 14 404 ")
		if shelf.requests("/2") != "---" || !slices.Equal(changed, []bool{false, false, false, false, false, true}) {
			t.Errorf("it was requested as %s; changed: %v", shelf.requests("/2"), changed)
		}
	})
}

// The archived answer of each visit is in the index and in exports. The body of the last answer is
// found even if that answer is a revisit record and there is no index.
func TestEachVisitHasItsCapture(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		shelf.put("/", resource{body: filler + pages("/2"), etag: `"1"`})
		shelf.put("/2", resource{body: filler + "2"})
		e.run(29*days, weekly, map[time.Duration]func(){
			8 * days: func() { shelf.put("/", resource{body: filler + "new" + pages("/2"), etag: `"2"`}) },
		})
		from, err := export.Open(e.dir)
		if err != nil {
			t.Fatal(err)
		}
		rows, revisits := map[string]int{}, 0
		for row, err := range from.Rows(e.t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			rows[row.URL]++
			if row.WARCType == "revisit" {
				revisits++
			}
		}
		if rows["http://a.example/"] != 5 || rows["http://a.example/2"] != 5 || revisits != 7 {
			t.Errorf("rows: %v, %d of revisits", rows, revisits)
		}
		index, err := os.ReadFile(filepath.Join(e.dir, store.IndexFile))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(index), `"url":"http://a.example/2"`); n != 5 {
			t.Errorf("%d lines of the index\n%s", n, index)
		}
		if err := os.Rename(filepath.Join(e.dir, store.IndexFile), filepath.Join(e.dir, "aside")); err != nil {
			t.Fatal(err)
		}
		defer os.Rename(filepath.Join(e.dir, "aside"), filepath.Join(e.dir, store.IndexFile))
		r, err := store.OpenReader(e.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		a, err := account.New(&r.Records, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for url, want := range map[string]string{"http://a.example/": "new", "http://a.example/2": filler + "2"} {
			resp, err := a.Answer(mustURL(t, url))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !strings.Contains(string(body), want) {
				t.Errorf("%s: %q, %v", url, body, err)
			}
		}
	})
}

// With the smallest caches, a slow disk and several sites no page is lost, and no request is too
// early.
func TestACrawlWithoutEndWithTheSmallestBounds(t *testing.T) {
	inVirtualTime(t, true, func(e *endless, shelf *shelf) {
		const sites, perSite = 4, 6
		e.opts = func(o *crawler.Options) {
			crawler.SetSmallestBounds(o, 50*time.Millisecond)
			for s := range sites {
				o.Seeds = append(o.Seeds, fmt.Sprintf("http://s%d.example/0", s))
			}
		}
		shelf.put("/", resource{body: filler})
		for s := range sites {
			site := newShelf(e.web.Site(fmt.Sprintf("http://s%d.example", s)))
			for n := range perSite {
				r := resource{body: fmt.Sprint(filler, s, n) + pages(fmt.Sprintf("/%d", n+1), fmt.Sprintf("/%d", n/2))}
				if n%2 == 0 {
					r.etag = `"1"`
				}
				site.put(fmt.Sprintf("/%d", n), r)
			}
		}
		e.run(61*hours, revisit.Fixed{Every: 12 * hours}, nil)
		for n := range perSite {
			if visits := e.seen[fmt.Sprintf("/%d", n)]; len(visits) != sites*6 {
				t.Errorf("/%d: %d visits", n, len(visits))
			}
		}
		if e.sum.Changes[crawler.ChangeNew] != sites*perSite+1 || e.sum.Changes[crawler.ChangeModified] != 0 || e.sum.Unread != 0 {
			t.Errorf("%v, %d unread", e.sum.Changes, e.sum.Unread)
		}
	})
}

// An endless space of URLs is recognized even if the page that leads into it is fetched again.
func TestEndlessSpacesAreKnownForRefetchedPages(t *testing.T) {
	inVirtualTime(t, false, func(e *endless, shelf *shelf) {
		e.web.Site("http://a.example").Default(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, filler+`<a href="a/">x</a> <a href="b/">x</a>`)
		})
		e.opts = func(o *crawler.Options) { o.MaxHostPages = 200 }
		e.run(days, revisit.Fixed{Every: 10 * days}, nil)
		once := len(e.seen)
		e.seen = map[string][]string{}
		e.run(25*days, revisit.Fixed{Every: 10 * days}, nil)
		if len(e.seen) != once || once > 20 {
			t.Errorf("%d pages of it, want the %d that there are if each is fetched once", len(e.seen), once)
		}
	})
}

// Limits of bytes and of time count every answer, including those of pages that are fetched again.
func TestBytesAndTimeCountEachTime(t *testing.T) {
	for name, row := range map[string]struct {
		bound func(*crawler.Options)
		end   crawler.End
	}{
		"bytes of the site":  {func(o *crawler.Options) { o.MaxHostBytes = 1000 }, crawler.EndUnasked},
		"bytes of the crawl": {func(o *crawler.Options) { o.MaxBytes = 1000 }, crawler.EndLimit},
		"time of the site":   {func(o *crawler.Options) { o.MaxHostTime = 7 * time.Second }, crawler.EndUnasked},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, true, func(e *endless, shelf *shelf) {
				e.web.Site("http://a.example").Latency(time.Second)
				e.opts = row.bound
				shelf.put("/", resource{body: filler})
				e.run(100*days, weekly, nil)
				if n := len(e.seen["/"]); n < 3 || n > 6 || e.sum.End != row.end {
					t.Errorf("%d visits, %s", n, e.sum.End)
				}
			})
		})
	}
}
