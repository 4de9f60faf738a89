package crawler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

var partsIdentity = Identity{Token: "benchbot", Contact: "https://example.org/benchbot"}

// A setting that the last run did not know is compared with its default.
func TestASettingThatTheLastRunDidNotKnow(t *testing.T) {
	o := Options{Pace: Pace{Delay: 3 * time.Second}, Keep: Keep{Rescan: true}}
	told := fmt.Sprint(storedRun{}.changes(&o))
	if told != "[delay: 1s -> 3s]" {
		t.Error(told)
	}
	if all := (storedRun{Settings: map[string]string{"delay": "3s", "depth": "7"}}).changes(&o); fmt.Sprint(all) != "[depth: 7 -> none]" || all[0].Way != setting.Wider || all[0].Effect != setting.SortsURLs {
		t.Errorf("%+v", all)
	}
}

// An answer of an FTP server is archived as a resource record, an answer of an HTTP server as a
// response record.
func TestWhatIsArchivedOfAnAnswer(t *testing.T) {
	u, err := frontier.ParseURL("http://a.example/x")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1e9, 0)
	x := &fetch.Exchange{URL: u, Proto: "ftp", Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("body"), Truncated: "time", Started: at, Ended: at.Add(1500 * time.Millisecond)}
	e := frontier.Entry{URL: u, Hops: "LL", Via: "http://a.example/\n", Tag: "t"}
	res := &fetch.Result{}
	w := archived(e, x, res)
	if w.File == nil || w.File.Type != "text/plain" || string(w.File.Body) != "body" || w.Response != nil || w.Request != nil || len(w.Protocol) != 0 || w.Truncated != "time" || w.URL != "http://a.example/x" {
		t.Errorf("%+v", w)
	}
	x.Proto, x.TLSVersion, x.RequestHead, x.Status = "http/1.1", "TLS 1.3", []byte("GET"), 200
	w = archived(e, x, res)
	if w.File != nil || w.Response == nil || string(w.Request.Head) != "GET" || strings.Join(w.Protocol, ",") != "http/1.1,tls/1.3" {
		t.Errorf("%+v", w)
	}
	x.Proto, x.TLSVersion = "", ""
	if w = archived(e, x, res); len(w.Protocol) != 0 {
		t.Errorf("%q", w.Protocol)
	}
	for _, c := range []struct {
		robots bool
		rules  *robots.Snapshot
		line   int
		want   string
	}{
		{false, nil, 3, "[{via http://a.example/%0A} {hopsFromSeed LL} {fetchTimeMs 1500} {seedTag t}]"},
		{false, &robots.Snapshot{Fetched: at}, 0, "[{via http://a.example/%0A} {hopsFromSeed LL} {fetchTimeMs 1500} {seedTag t} {robotsFetched 2001-09-09T01:46:40Z}]"},
		{false, &robots.Snapshot{Fetched: at}, 3, "[{via http://a.example/%0A} {hopsFromSeed LL} {fetchTimeMs 1500} {seedTag t} {robotsFetched 2001-09-09T01:46:40Z} {robotsRule line 3: Allow: /}]"},
		{true, &robots.Snapshot{Fetched: at}, 3, "[{via http://a.example/x} {hopsFromSeed LLP} {fetchTimeMs 1500} {seedTag t}]"},
	} {
		x.Robots, res.Snapshot, res.Verdict.Rule = c.robots, c.rules, robots.Rule{Line: c.line, Pattern: "/"}
		if got := fmt.Sprint(metadata(e, x, res)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	for s, want := range map[string]string{"": "", "é b": "é b", "\x1f\x7f\x00": "%1F%7F%00", "a\nb~ ": "a%0Ab~ "} {
		if got := printable(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for dir, want := range map[string]string{"/x/a.crawl": "a.crawl", "a\x01b\xff": "a_b_", "": "."} {
		if got := partOf(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}

// The line of a request in crawl.log has everything that is known about the request.
func TestTheLineOfARequest(t *testing.T) {
	u, err := frontier.ParseURL("http://a.example/x")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC)
	e := frontier.Entry{URL: u, Hops: "L", Via: "http://a.example/", Tag: "t"}
	broken := func(s fetch.Stage) *fetch.Error { return &fetch.Error{Stage: s} }
	var l exchangeLine // the same line is used for all rows
	for name, test := range map[string]struct {
		x     fetch.Exchange
		page  bool
		rules bool
		want  string
	}{
		"nothing but times": {fetch.Exchange{}, false, false,
			`0 -1 L http://a.example/ "" "" start:2001-02-03T04:05:06.000007Z took:1.500000`},
		"an answer": {fetch.Exchange{Status: 200, WireBytes: 7, Header: http.Header{"Content-Type": {"text/html; charset=x"}}, FirstByte: at.Add(time.Second), Proto: "h2",
			Addr: netip.MustParseAddrPort("192.0.2.1:80"), Asked: frontier.Pause{By: "delay", For: time.Second, Since: at}}, true, true,
			`200 7 L http://a.example/ "text/html" "sum" start:2001-02-03T04:05:06.000007Z ttfb:1.000000 took:1.500000 asked:1.000000 clock:delay since:2001-02-03T04:05:06.000007Z ` +
				`ip:192.0.2.1:80 proto:h2 robots:2001-02-03T04:05:06.000007Z`},
		"by a proxy, cut": {fetch.Exchange{Status: 200, Proxy: "http://p:1", Truncated: "length", Asked: frontier.Pause{By: "delay"}}, false, true,
			`200 0 L http://a.example/ "" "" start:2001-02-03T04:05:06.000007Z took:1.500000 asked:0.000000 clock:delay proxy:http://p:1 trunc:length robots:2001-02-03T04:05:06.000007Z`},
		"robots.txt": {fetch.Exchange{Status: 404, Robots: true}, false, true,
			`404 0 LP http://a.example/x "" "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ" start:2001-02-03T04:05:06.000007Z took:1.500000`},
		"lost": {fetch.Exchange{Err: broken(fetch.StageReset)}, false, false,
			`-3 -1 L http://a.example/ "" "" start:2001-02-03T04:05:06.000007Z took:1.500000 error:reset`},
		"lost within the body": {fetch.Exchange{Status: 200, WireBytes: 1, Err: broken(fetch.StageTruncated)}, false, false,
			`200 1 L http://a.example/ "" "" start:2001-02-03T04:05:06.000007Z took:1.500000 error:truncated`},
		"the last try, lost within the body": {fetch.Exchange{Status: 200, WireBytes: 1, Truncated: "disconnect"}, true, false,
			`200 1 L http://a.example/ "" "sum" start:2001-02-03T04:05:06.000007Z took:1.500000 trunc:disconnect`},
		"a challenge": {fetch.Exchange{Status: 403, Err: broken(fetch.StageChallenge)}, false, false,
			`403 0 L http://a.example/ "" "" start:2001-02-03T04:05:06.000007Z took:1.500000 error:challenge`},
	} {
		x := test.x
		x.URL, x.Started, x.Ended = u, at, at.Add(1500*time.Millisecond)
		res := &fetch.Result{Outcome: frontier.Outcome{Fate: frontier.Fate{Digest: "sum"}}}
		if test.page {
			res.Page = &x
		}
		if test.rules {
			res.Snapshot = &robots.Snapshot{Fetched: at}
		}
		l.of(3, e, &x, res, nil)
		if !l.Time.Equal(x.Ended) || l.Worker != 3 || l.Tag != "t" || !l.Start.Equal(at) || l.Duration != 1500*time.Millisecond || l.URL != u.String() {
			t.Errorf("%s: %+v", name, l.Line)
		}
		if got := fmt.Sprintf("%d %d %s %s %q %q %s", l.Status, l.Size, l.Hops, l.Via, l.Type, l.Digest, strings.Join(l.Annotations, " ")); got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
	for stage, want := range map[fetch.Stage]int{
		fetch.StageDNS: -1, fetch.StageDNSTimeout: -1, fetch.StageConnect: -2, fetch.StageTLS: -2, fetch.StageProxy: -2, fetch.StageStale: -3, fetch.StageCalm: -3,
		fetch.StageAnswerTimeout: -4, fetch.StageBodyTimeout: -4, fetch.StageTotalTimeout: -4, fetch.StageProtocol: -5, fetch.StageStopped: -5,
	} {
		if got := stageStatus(stage); got != want {
			t.Errorf("%s: %d, want %d", stage, got, want)
		}
	}
	for code, want := range map[frontier.Code]int{
		frontier.RobotsDisallowed: -9998, frontier.RobotsUnreachable: -61, frontier.SiteDead: -2, frontier.ScopeNarrowed: -5000, frontier.Failed: -5, frontier.UseRefused: -5002, frontier.OptedOut: -5001,
	} {
		if got := fateStatus(frontier.Fate{Code: code}); got != want {
			t.Errorf("%v: %d, want %d", code, got, want)
		}
	}
}

// When the time of a run is up, the timer ends the run once. If the limit was raised or removed
// before, the timer has no effect.
func TestTheClockOfARunStrikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			limit, after time.Duration
			stops        bool
		}{
			{0, time.Hour, false}, {time.Minute, time.Minute - 1, false}, {time.Minute, time.Minute, true}, {time.Minute, time.Hour, true},
		} {
			c, err := New(Options{Identity: partsIdentity, Seeds: []string{"http://a.example/"}, Budget: Budget{MaxTime: test.limit}})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex // needed because the timer's goroutine makes the last call
			var told []error
			why := func() []error {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(told)
			}
			c.began = time.Now()
			time.Sleep(test.after)
			strike := func() {
				c.timeUp(func(err error) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, err)
				})
			}
			strike()
			if test.stops {
				time.Sleep(timeGrace - 1)
				strike()
			}
			if c.stopped() != test.stops || len(why()) != 0 {
				t.Errorf("%v after %v: stopped %v, broken off %v", test.limit, test.after, !test.stops, why())
			}
			time.Sleep(time.Hour)
			if broken := len(why()) == 1 && why()[0] == errTime; broken != test.stops {
				t.Errorf("%v after %v: broken off %v", test.limit, test.after, why())
			}
		}
	})
}

// The slot that has been free for longest is used next. If all slots are in use, a new one is made.
func TestSlotsAreTakenInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := slots{most: 2}
		oldest := func(want frontier.Site) {
			t.Helper()
			if site, since, ok := d.oldest(); site != want || ok != (want != "") || ok && time.Since(since) < time.Second {
				t.Errorf("the oldest is %q since %v, want %q", site, since, want)
			}
		}
		take := func(site frontier.Site, want int) *slot {
			t.Helper()
			one := d.take(site)
			if one.number != want {
				t.Errorf("%s has slot %d, want %d", site, one.number, want)
			}
			time.Sleep(time.Second)
			return one
		}
		oldest("")
		a := take("a", 0)
		d.release(a)
		oldest("")
		b := take("b", 1)
		oldest("b")
		a = take("c", 0)
		third := take("d", 2)
		oldest("b")
		for n, want := range []string{"", "b", "b c", "b c d", "b c d"} {
			var got []string
			for _, one := range d.running(n) {
				got = append(got, string(one.site))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("the %d oldest are %q, want %s", n, got, want)
			}
		}
		d.release(b)
		oldest("c")
		d.release(a)
		d.release(third)
		for i, want := range []int{1, 0, 2, 1, 0, 2} {
			d.release(take(frontier.Site(fmt.Sprint(i)), want))
		}
		oldest("")
	})
}

// The line of a summary says how the run ended, and names at most three sites.
func TestASummaryInALine(t *testing.T) {
	s := Summary{End: EndPatience, Stats: Stats{Counts: Counts{Fetched: 5, Pages: 4, SkippedURLs: map[frontier.Code]int{frontier.RobotsDisallowed: 3}, SkippedLinks: map[frontier.Code]int{frontier.TooDeep: 2}}}, Left: map[frontier.Code]int{frontier.Waiting: 7, frontier.BudgetSpent: 1}}
	for i, detail := range []string{"", "b down", "c down", "", "e down", "f down"} {
		s.Waiting = append(s.Waiting, frontier.SiteStatus{Site: frontier.Site(fmt.Sprintf("http://%c.example", 'a'+i)), Given: frontier.Fate{Detail: detail}})
	}
	const want = "patience: 5 answered in this run, 4 of them pages; 7 left: waiting; 1 left: budget; " +
		"http://b.example: b down; http://c.example: c down; http://e.example: e down; URLs not fetched, refused: 3; links not followed, depth: 2"
	if got := s.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A contact must be an address or a page at which site owners can reach the operator.
func TestContacts(t *testing.T) {
	for contact, want := range map[string]struct{ agent, from string }{
		"https://example.org/~me!":       {"https://example.org/~me!", ""},
		"http://example.org":             {"http://example.org", ""},
		"me@example.org":                 {"mailto:me@example.org", "me@example.org"},
		"mailto:me@example.org":          {"mailto:me@example.org", "me@example.org"},
		"":                               {},
		"http://":                        {},
		"https:example.org":              {},
		"ftp://example.org/":             {},
		"example.org":                    {},
		"https://example.org/ x":         {},
		"https://example.org/\x7f":       {},
		"https://example.org/é":          {},
		"https://example.org/(x":         {},
		"https://example.org/x)":         {},
		"Me <me@example.org>":            {},
		"https://example.org/\r\nX-Y: z": {},
	} {
		id := Identity{Token: "benchbot", Contact: contact}
		err := id.Check()
		if (err == nil) != (want.agent != "") {
			t.Errorf("%q: %v", contact, err)
		}
		if err == nil && (id.UserAgent() != "benchbot (+"+want.agent+") permesso/"+Version || id.From() != want.from) {
			t.Errorf("%q: %s, %s", contact, id.UserAgent(), id.From())
		}
		id = Identity{Token: "benchbot", Contact: "https://example.org/", Mail: contact}
		if err := id.Check(); (err == nil) != (contact == "" || want.from != "") || err == nil && id.From() != want.from {
			t.Errorf("mail %q: %v, %q", contact, err, id.From())
		}
	}
}

// If the files of a crawl are closed, every function that reads or writes them returns an error.
func TestErrorsOfClosedFilesAreReturned(t *testing.T) {
	c, err := New(Options{Identity: partsIdentity, Seeds: []string{"http://a.example/"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if c.db, err = store.Open(c.opts.Dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	resume := func() error { _, err := c.resume(); return err }
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	if err := c.db.Close(); err != nil {
		t.Fatal(err)
	}
	if c.db, err = store.Open(c.opts.Dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	c.db.Log().Close()
	if err := errors.Join(c.logStart(Start{}), resume()); err != nil {
		t.Errorf("nothing has changed: %v", err)
	}
	c.opts.Delay = 3 * time.Second
	for name, f := range map[string]func() error{
		"begin": c.logBegin, "changes": func() error { return c.logStart(Start{Changes: []Change{{Setting: "delay"}}}) },
		"requeued": func() error { return c.logStart(Start{Requeued: 1}) }, "resume": resume,
	} {
		if err := f(); err == nil {
			t.Errorf("%s, with a closed log: no error", name)
		}
	}
	c.db.Close()
	for name, f := range map[string]func() error{
		"resume": resume, "widen": func() error { _, err := c.widen(); return err }, "plant": func() error { return c.plant(c.seeds) },
	} {
		if err := f(); err == nil {
			t.Errorf("%s, with all files closed: no error", name)
		}
	}
}

// Limits.patience returns the time for which a run waits for entries that may not be requested yet.
func TestPatience(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, -1: 0, -time.Hour: 0, 1: 1, time.Hour: time.Hour, frontier.Forever: frontier.Forever} {
		if got := (&Limits{Patience: given}).patience(); got != want {
			t.Errorf("%v: %v, want %v", given, got, want)
		}
	}
}

// If the decision to queue a link depends only on its site, a decision that is reused has the same
// result as a decision for each link.
func TestLinksOfOneSiteAreJudgedAsEachAlone(t *testing.T) {
	seed, _ := frontier.ParseURL("http://a.example/dir/page")
	elsewhere := []string{"/x", "http://a.example:81/y", "http://b.a.example/", "https://a.example/z", "http://b.example/", "ftp://a.example/f", "http://c.example/?q"}
	random := rand.New(rand.NewPCG(3, 4))
	for _, o := range []Options{
		{}, {Follow: Follow{Depth: 2}}, {Scope: SameDomain()}, {Scope: Both(SameHost(), SameDomain())}, {Scope: Anywhere(), Follow: Follow{Requisites: true, Depth: 2}},
		{Scope: SameDomain(), Follow: Follow{Requisites: true}}, {Follow: Follow{Sitemaps: SitemapsNone}}, {Follow: Follow{Sitemaps: SitemapsOnly}, Scope: SameHost()},
	} {
		o.Identity, o.Seeds = Identity{Token: "testbot", Contact: "https://example.org/"}, []string{seed.String()}
		j, err := NewJob(o, nil, jobDeps{})
		if err != nil {
			t.Fatal(err)
		}
		if !j.bySite {
			t.Errorf("%+v: not only the site counts", o)
		}
		for range 100 {
			p := &Page{URL: seed, Type: "text/html", Entry: frontier.Entry{URL: seed, Hops: []string{"", "L", "LL", "LE", "R", "M", "PM"}[random.IntN(7)]}}
			p.Entry.Depth = strings.Count(p.Entry.Hops, "L")
			if random.IntN(4) == 0 {
				p.redirect, p.Location = true, p.URL
			}
			p.html.Sitemap = p.Entry.Sitemap()
			for range random.IntN(30) {
				u, err := seed.Resolve(elsewhere[random.IntN(len(elsewhere))] + strconv.Itoa(random.IntN(9)))
				if err != nil {
					t.Fatal(err)
				}
				hop := []frontier.Hop{frontier.HopLink, frontier.HopLink, frontier.HopEmbed, frontier.HopManifest}[random.IntN(4)]
				p.html.Links = append(p.html.Links, extract.Link{URL: u, Hop: hop, Where: []string{"a/href", "iframe/src"}[random.IntN(2)]})
			}
			var got [2]string
			for i, alike := range []bool{true, false} {
				j.bySite = alike
				said := ""
				entries := j.wantedOf(p, newFindings(), func(s Skip) { said += fmt.Sprintf("%+v\n", s) })
				got[i] = fmt.Sprintf("%+v\n%s", entries, said)
			}
			if j.bySite = true; got[0] != got[1] {
				t.Fatalf("%+v:\n%s\neach alone:\n%s", o, got[0], got[1])
			}
		}
		j.Close()
	}
}

func TestNotOnlyTheSiteOfALinkCounts(t *testing.T) {
	all := regexp.MustCompile(".")
	for name, o := range map[string]Options{
		"OptOut": {OptOut: func(frontier.URL) string { return "" }}, "Exclude": {Follow: Follow{Exclude: all}}, "Include": {Follow: Follow{Include: all}},
		"Site": {Site: func(frontier.Site) SiteOptions { return SiteOptions{} }}, "list": {Scope: SeedsOnly()}, "prefix": {Scope: SamePrefix()},
		"own": {Scope: ScopeFunc(func(frontier.Entry) bool { return true })}, "both": {Scope: Both(SameHost(), SamePrefix())},
	} {
		if o.Scope == nil {
			o.Scope = SameHost()
		}
		if o.bySite() {
			t.Errorf("%s: more counts than the site", name)
		}
	}
}

func TestMemoryOfUnseenPagesIsReused(t *testing.T) {
	u, _ := frontier.ParseURL("http://a.example/")
	links := func(n int) []extract.Link {
		return slices.Repeat([]extract.Link{{URL: u, Where: "a/href"}}, n)
	}
	d := scratch{found: newFindings()}
	first := d.page(false)
	first.URL, first.html.Links = u, links(3)
	d.clear()
	second := d.page(false)
	if second != first || !second.URL.IsZero() || len(second.html.Links) != 0 || cap(second.html.Links) < 3 || !second.html.Links[:3][2].URL.IsZero() {
		t.Errorf("%+v", second)
	}
	second.html.Links = nil // a page without links
	d.clear()
	if third := d.page(false); cap(third.html.Links) < 3 {
		t.Error("the room for links is lost")
	} else {
		third.html.Links = links(maxScratch + 1)
		d.clear()
	}
	if n := cap(d.page(false).html.Links); n > maxScratch {
		t.Errorf("room for %d links is kept", n)
	}
	mine := d.page(true)
	mine.URL, mine.html.Links = u, links(1)
	d.clear()
	if d.page(true) == mine || mine.URL != u || len(mine.html.Links) != 1 || mine.html.Links[0].URL != u {
		t.Errorf("a page that a program has seen was used again: %+v", mine)
	}
}
