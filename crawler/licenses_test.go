package crawler_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

const noTraining = `<rsl xmlns="https://rslstandard.org/rsl"><content url="/p"><license><prohibits type="usage">ai-train</prohibits></license></content>` +
	`<content url="/free"><license><permits type="usage">ai-train search</permits><payment type="free"/></license></content></rsl>`

// sells returns a handler that sends the license document doc.
func sells(doc string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/rsl+xml")
		io.WriteString(rw, doc)
	}
}

// licensed adds a site of three pages whose robots.txt names the given licenses.
func licensed(w *crawltest.Web, origin string, rules string, licenses ...string) *crawltest.Site {
	for _, l := range licenses {
		rules = "License: " + l + "\n" + rules
	}
	return w.Site(origin).Robots(rules).Page("/", `<a href=/p>1</a><a href=/free>2</a>`).Page("/p", "").Page("/free", "")
}

// wantProven fails the test unless the crawl in dir is complete, and its log proves that it was
// polite.
func wantProven(t *testing.T, dir string) {
	t.Helper()
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	r, err := audit.Dir(dir, audit.Options{Violation: func(v *audit.Violation) error {
		t.Errorf("%s: %s %s (%s)", v.Code, v.URL, v.Text, v.Rule)
		return nil
	}})
	if err != nil || r.Requests == 0 || r.UnprovenLines != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

const sold = "http://sold.example/terms.xml"

// For site owners: "If the operator declares a purpose, the license documents (RSL)
// that robots.txt names are fetched before any page, from any site whose robots.txt
// allows it; pages for which a license prohibits the purpose are not fetched."
//
// In all other cases pages are requested as if there were no license.
func TestWhatALicenseProhibitsIsNotAskedFor(t *testing.T) {
	huge := noTraining + strings.Repeat(" ", robots.MaxRSLBytes)
	for _, c := range []struct {
		name    string
		purpose robots.Purpose
		license string // URL of the license that a.example names
		web     func(own, other *crawltest.Site)
		asked   string // requests other than those for robots.txt and pages
		refused bool
	}{
		{"on the site", robots.PurposeAITrain, "/terms.xml", nil, "a/terms.xml", true},
		{"elsewhere", robots.PurposeAITrain, sold, nil, "sold/robots.txt sold/terms.xml", true},
		{"for another purpose", robots.PurposeSearch, sold, nil, "sold/robots.txt sold/terms.xml", false},
		{"where nothing is used", robots.PurposeLinkCheck, sold, nil, "", false},
		{"not declared", "", sold, nil, "", false},
		{"not of the web", robots.PurposeAITrain, "ftp://sold.example/terms.xml", nil, "", false},
		{"forbidden there", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) { other.Robots("User-agent: *\nDisallow: /terms") }, "sold/robots.txt", false},
		{"forbidden here", robots.PurposeAITrain, "/no/terms.xml", nil, "", false},
		{"of a site whose rules cannot be had", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) { other.Status("/robots.txt", 500) }, "sold/robots.txt", false},
		{"of a site that is down", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) { other.Down(true) }, "", false},
		{"of no site", robots.PurposeAITrain, "http://nowhere.example/terms.xml", nil, "", false},
		{"missing", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) { other.Status("/terms.xml", 404) }, "sold/robots.txt sold/terms.xml", false},
		{"for members", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) { other.Status("/terms.xml", 403) }, "sold/robots.txt sold/terms.xml", false},
		{"huge", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) { other.Func("/terms.xml", sells(huge)) }, "sold/robots.txt sold/terms.xml", false},
		{"no license", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) { other.Func("/terms.xml", sells("<html>")) }, "sold/robots.txt sold/terms.xml", false},
		{"moved", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) {
			other.Redirect("/terms.xml", "http://a.example/here.xml")
			own.Func("/here.xml", sells(noTraining))
		}, "sold/robots.txt sold/terms.xml a/here.xml", true},
		{"moved twice", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) {
			other.Redirect("/terms.xml", "/1").Redirect("/1", "/2").Func("/2", sells(noTraining))
		}, "sold/robots.txt sold/terms.xml sold/1 sold/2", true},
		{"moved too often", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) {
			other.Redirect("/terms.xml", "/1").Redirect("/1", "/2").Redirect("/2", "/3").Func("/3", sells(noTraining))
		}, "sold/robots.txt sold/terms.xml sold/1 sold/2", false},
		{"without an end", robots.PurposeAITrain, "http://sold.example/0\nLicense: http://sold.example/100\nLicense: http://sold.example/200", func(own, other *crawltest.Site) {
			other.Default(func(rw http.ResponseWriter, r *http.Request) {
				n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
				http.Redirect(rw, r, fmt.Sprint("/", n+1), http.StatusFound)
			}).Robots("")
		}, "sold/robots.txt sold/0 sold/1 sold/2 sold/100 sold/101 sold/102 sold/200 sold/201 sold/202", false},
		{"a circle", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) {
			other.Redirect("/terms.xml", "http://a.example/1")
			own.Redirect("/1", sold)
		}, "sold/robots.txt sold/terms.xml a/1", false},
		{"moved to where it is forbidden", robots.PurposeAITrain, sold, func(own, other *crawltest.Site) {
			other.Redirect("/terms.xml", "http://a.example/no/1")
			own.Func("/no/1", sells(noTraining))
		}, "sold/robots.txt sold/terms.xml", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := crawltest.New(t)
			own := licensed(w, "http://a.example", "User-agent: *\nDisallow: /no", c.license).Func("/terms.xml", sells(noTraining))
			other := w.Site("http://sold.example").Func("/terms.xml", sells(noTraining))
			if c.web != nil {
				c.web(own, other)
			}
			_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose = dir, c.purpose }, "http://a.example/")
			wantProven(t, dir)
			w.AssertPolite()
			w.AssertFetched("http://a.example/robots.txt", "http://a.example/", "http://a.example/free")
			if got := besides(w); got != c.asked {
				t.Errorf("%s: requested %q, want %q", c.name, got, c.asked)
			}
			if sum.Fetched != 3 && !c.refused || len(sum.Waiting) != 0 {
				t.Errorf("%s: %+v", c.name, sum)
			}
			if !c.refused {
				w.AssertFetched("http://a.example/p")
				return
			}
			w.AssertNeverFetched("http://a.example/p")
			by := "RSL: prohibits ai-train for /p (" + c.license + ")"
			if strings.HasPrefix(c.license, "/") {
				by = "RSL: prohibits ai-train for /p (http://a.example" + c.license + ")"
			}
			if l := logOf(t, dir)["/p"]; l == nil || l.Status != -5002 || !strings.Contains(strings.Join(l.Annotations, " "), "refused:"+strings.ReplaceAll(by, " ", "%20")) {
				t.Errorf("%s: %+v", c.name, l)
			}
			if free := tableOf(t, dir)["/free"]; free == nil || !strings.Contains(free.Usage, "; ai-train=y by RSL: permits ai-train for /free (") {
				t.Errorf("%s: %q", c.name, free.Usage)
			}
		})
	}
}

// besides returns the requests other than those for robots.txt, tdmrep.json and the pages of
// a.example. A request has the form "sold/terms.xml".
func besides(w *crawltest.Web) string {
	var asked []string
	for _, r := range w.Log() {
		host := strings.TrimSuffix(r.Site.Host(), ".example")
		switch {
		case r.Target == robots.TDMRepPath:
		case host == "a" && (r.Target == "/robots.txt" || r.Target == "/" || r.Target == "/p" || r.Target == "/free"):
		default:
			asked = append(asked, host+r.Target)
		}
	}
	return strings.Join(asked, " ")
}

// One copy of a license is used for all sites that name it, in this run and in the next.
func TestALicenseThatManySitesNameIsRequestedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		var seeds []string
		for i := range 60 {
			site := fmt.Sprintf("http://s%d.example", i)
			licensed(w, site, "", sold)
			seeds = append(seeds, site+"/")
		}
		w.Site("http://sold.example").Robots("User-agent: *\nCrawl-delay: 5").Func("/terms.xml", sells(noTraining)).Latency(2*time.Second).Page("/", "")
		seeds = append(seeds, "http://sold.example/")
		run := func(seeds ...string) {
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.Seeds = dir, robots.PurposeAITrain, seeds }, seeds...)
		}
		begin := time.Now()
		run(seeds...)
		wantProven(t, dir)
		w.AssertPolite()
		w.AssertFetched(sold)
		for i := range 60 {
			w.AssertFetched(fmt.Sprintf("http://s%d.example/free", i))
			w.AssertNeverFetched(fmt.Sprintf("http://s%d.example/p", i))
		}
		// After the license has arrived, the sites do not wait for each other.
		if took := time.Since(begin); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
		licensed(w, "http://late.example", "", sold)
		run(append(seeds, "http://late.example/")...)
		w.AssertFetched(sold)
		w.AssertNeverFetched("http://late.example/p")
	})
}

// If many sites name licenses on one domain, the sites of that domain get only a limited number of
// requests for licenses. Pages with an unread license are refused, and the log gives the reason.
func TestLicensesDoNotAmplify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		victim := w.Site("http://victim.example")
		victim.Default(func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, r.URL.Path+"x", http.StatusFound)
		}).Robots("")
		var seeds []string
		for i := range 40 {
			var names []string
			for j := range 8 {
				names = append(names, fmt.Sprintf("http://victim.example/%d-%d", i, j))
			}
			site := fmt.Sprintf("http://s%d.example", i)
			licensed(w, site, "", names...)
			seeds = append(seeds, site+"/")
		}
		_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.Patience = dir, robots.PurposeAITrain, 10*time.Hour }, seeds...)
		asked := 0
		for _, r := range w.Log() {
			if r.Site.Host() == "victim.example" {
				asked++
			}
		}
		if asked != 64 || len(sum.Waiting) != 0 {
			t.Errorf("the site was sent %d requests; %+v", asked, sum.Waiting)
		}
		if l := logOf(t, dir)["/"]; l == nil || l.Status != -5002 || !strings.Contains(strings.Join(l.Annotations, " "), "refused:RSL:%20was%20not%20read%2C%20its%20site%20was%20sent%2064%20requests") {
			t.Errorf("%+v", l)
		}
		w.AssertPolite()
		wantProven(t, dir)
	})
}

// A copy of a license is valid for a day, or for the time in its header. After that the license is
// requested with a condition. If the request fails, the copy stays valid.
func TestACopyOfALicenseLivesForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		doc, status, there := "<rsl/>", 0, 0
		licensed(w, "http://a.example", "", sold)
		var answers []int
		w.Site("http://sold.example").Func("/terms.xml", func(rw http.ResponseWriter, r *http.Request) {
			code := status
			if code == 0 && r.Header.Get("If-None-Match") == fmt.Sprintf("%q", fmt.Sprint(len(doc))) {
				code = http.StatusNotModified
			}
			answers = append(answers, code)
			rw.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(len(doc))))
			rw.Header().Set("Location", "/there")
			if code != 0 {
				rw.WriteHeader(code)
				return
			}
			io.WriteString(rw, doc)
		}).Func("/there", func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(there) })
		n := 0
		run := func(asked, refused bool) {
			t.Helper()
			n++
			before := w.Fetched(sold)
			page := fmt.Sprint("http://a.example/p?", n)
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.MaxHostPages = dir, robots.PurposeAITrain, -1 }, page)
			if got := w.Fetched(sold) > before; got != asked {
				t.Errorf("run %d: asked %v, want %v", n, got, asked)
			}
			if got := w.Fetched(page) == 0; got != refused {
				t.Errorf("run %d: refused %v, want %v", n, got, refused)
			}
		}
		run(true, false)
		doc = noTraining
		time.Sleep(23 * time.Hour)
		run(false, false)
		time.Sleep(2 * time.Hour)
		run(true, true)
		time.Sleep(25 * time.Hour)
		run(true, true)
		status = http.StatusInternalServerError
		time.Sleep(25 * time.Hour)
		run(true, true)
		// A redirect takes effect only after its target has answered.
		status, there = http.StatusFound, http.StatusInternalServerError
		time.Sleep(25 * time.Hour)
		run(true, true)
		there = http.StatusNotFound
		time.Sleep(25 * time.Hour)
		run(true, false)
		status = 0
		time.Sleep(25 * time.Hour)
		run(true, true)
		status = http.StatusNotFound
		time.Sleep(25 * time.Hour)
		run(true, false)
		w.AssertPolite()
		if got, want := fmt.Sprint(answers[:4]), "[0 0 304 500]"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// If the pause between requests is longer than the copy of a license is valid, the crawl still
// makes progress.
func TestASlowSiteMakesProgressWithALicense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		licensed(w, "http://a.example", "User-agent: *\nCrawl-delay: 200000", "/terms.xml").Func("/terms.xml", sells("<rsl/>"))
		pages, _ := crawl(t, w, func(o *crawler.Options) {
			o.Purpose, o.Patience = robots.PurposeResearch, 1000*time.Hour
		}, "http://a.example/")
		wantPages(t, pages, "http://a.example/", "http://a.example/free", "http://a.example/p")
		w.AssertPolite()
	})
}

// If there are too many licenses, only the first ones are read. The most restrictive of them
// applies.
func TestOfManyLicensesTheFirstAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := crawltest.New(t)
		var names []string
		rules := ""
		for i := range 10 {
			names = append(names, fmt.Sprintf("/%d.xml", i))
			rules += "License: " + names[i] + "\n"
		}
		s := licensed(w, "http://a.example", rules)
		for i, name := range names {
			doc := `<rsl><content url="/"><license><permits type="usage">all</permits></license></content></rsl>`
			if i == robots.MaxLicensesRead-1 {
				doc = noTraining
			}
			s.Func(name, sells(doc))
		}
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose = dir, robots.PurposeAITrain }, "http://a.example/")
		for i, name := range names {
			if i < robots.MaxLicensesRead {
				w.AssertFetched("http://a.example" + name)
			} else {
				w.AssertNeverFetched("http://a.example" + name)
			}
		}
		w.AssertNeverFetched("http://a.example/p")
		w.AssertFetched("http://a.example/free")
		w.AssertPolite()
		wantProven(t, dir)
	})
}

// Pages wait for a license only if it can be fetched soon. They do not wait if the license's site
// requires a rest, has a long Crawl-delay, or does not answer in time.
func TestPagesDoNotWaitLongForALicense(t *testing.T) {
	for _, c := range []struct {
		name    string
		other   func(s *crawltest.Site)
		refused bool
		within  time.Duration
	}{
		{"a pause of minutes", func(s *crawltest.Site) { s.Robots("User-agent: *\nCrawl-delay: 600") }, true, 15 * time.Minute},
		{"a pause of days", func(s *crawltest.Site) { s.Robots("User-agent: *\nCrawl-delay: 200000") }, false, time.Minute},
		{"rest for a day", func(s *crawltest.Site) { s.Flaky("/terms.xml", noTraining, "86400", 503) }, false, time.Minute},
		{"rest for robots.txt", func(s *crawltest.Site) { s.Flaky("/robots.txt", "", "86400", 503) }, false, time.Minute},
		{"a visit time", func(s *crawltest.Site) { s.Robots("User-agent: *\nVisit-time: 0200-0300") }, false, time.Minute},
		{"no answer", func(s *crawltest.Site) { s.Latency(10 * time.Hour) }, false, 10 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := crawltest.New(t)
			licensed(w, "http://a.example", "", sold)
			c.other(w.Site("http://sold.example").Func("/terms.xml", sells(noTraining)))
			begin := time.Now()
			_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.Patience = dir, robots.PurposeAITrain, 100*time.Hour }, "http://a.example/")
			took := time.Since(begin)
			time.Sleep(24 * time.Hour) // after that the slow server has answered
			if got := w.Fetched("http://a.example/p") == 0; got != c.refused || len(sum.Waiting) != 0 {
				t.Errorf("%s: refused %v; %+v", c.name, got, sum)
			}
			w.AssertFetched("http://a.example/", "http://a.example/free")
			if took > c.within {
				t.Errorf("%s: it took %v", c.name, took)
			}
			w.AssertPolite()
			wantProven(t, dir)
		})
	}
}

// If the last request for a license failed, pages wait for it a minute and not an hour, because the
// next request may fail, too.
func TestPagesWaitAMinuteForALicenseThatFailed(t *testing.T) {
	for _, c := range []struct {
		pause   string // pause of the license's site in seconds; that of the pages is 100
		refused bool
		within  time.Duration
	}{
		{"130", true, 700 * time.Second},
		{"600", false, 1100 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := crawltest.New(t)
			licensed(w, "http://a.example", "User-agent: *\nCrawl-delay: 100", sold)
			w.Site("http://sold.example").Robots("User-agent: *\nCrawl-delay: "+c.pause).Flaky("/terms.xml", noTraining, "", 500)
			begin := time.Now()
			_, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Purpose, o.Patience = dir, robots.PurposeAITrain, 100*time.Hour }, "http://a.example/")
			if took := time.Since(begin); took > c.within {
				t.Errorf("a pause of %s s: it took %v", c.pause, took)
			}
			if refused := w.Fetched("http://a.example/p") == 0; refused != c.refused || len(sum.Waiting) != 0 {
				t.Errorf("a pause of %s s: refused %v; %+v", c.pause, refused, sum)
			}
			w.AssertPolite()
			wantProven(t, dir)
		})
	}
}
