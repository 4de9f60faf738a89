package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/robots"
)

// An explanation is printed line by line.
func TestAWholeExplanation(t *testing.T) {
	at := time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC)
	url := func(text string) frontier.URL {
		u, err := frontier.ParseURL(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	x := &account.Explanation{
		Asked: url("http://a.test/index.html"), Known: true,
		Found: []account.Step{{URL: "http://a.test/", Hop: frontier.HopLink, Hops: "LL"}, {URL: "http://a.test/b", Hop: frontier.HopLink, Hops: "L"}, {URL: "http://a.test/c"}},
		Tries: []account.Try{
			{Line: crawllog.Line{Time: at, Status: -9998}},
			{Line: crawllog.Line{Time: at, Start: at, Status: -2, Size: -1, Annotations: []string{"error:connect", "took:10"}}},
			{Line: crawllog.Line{Time: at, Start: at.Add(time.Minute), Status: 200, Size: 0, Annotations: []string{"took:0.500", "asked:20.000", "clock:back-off"}}},
		},
	}
	x.URL, x.Code, x.Reason, x.Fate.Time = url("http://a.test/"), frontier.Fetched, "status 200", at.Add(time.Minute)
	const want = `url          http://a.test/index.html
queued as    http://a.test/
fate         fetched at 2026-07-01T03:01:00Z: status 200
found        by a link on http://a.test/b (L)
             by a link on http://a.test/c (L)
             which is a seed
robots.txt   was never requested
tries        2026-07-01T03:00:00Z ended without a request (-9998)
             2026-07-01T03:00:00Z failed (connect) in 10s
             2026-07-01T03:01:00Z status 200, 0 B in 0.5s; after a pause of at least 20s (back-off)
`
	var out bytes.Buffer
	if err := Explanation(&say.Lines{W: &out}, x, at); err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, &out, want)
	}
	x.Asked = x.URL
	if out.Reset(); Explanation(&say.Lines{W: &out}, x, at) != nil || bytes.Contains(out.Bytes(), []byte("queued as")) {
		t.Errorf("%s", &out)
	}
}

// Below the target of a redirect there is a line that says what became of it.
func TestWhatARedirectLeadsTo(t *testing.T) {
	from, to := frontier.URL{}, frontier.URL{}
	for text, u := range map[string]*frontier.URL{"http://a.test/": &from, "http://b.test/": &to} {
		var err error
		if *u, err = frontier.ParseURL(text); err != nil {
			t.Fatal(err)
		}
	}
	target := func(known bool, code frontier.Code, reason string) *account.Explanation {
		x := &account.Explanation{Asked: to, Known: known, Refusal: account.Refusal{Code: code, Detail: reason}}
		x.URL, x.Code, x.Reason = to, code, reason
		return x
	}
	for want, x := range map[string]account.Explanation{
		"nothing: it has no Location\n": {Astray: "it has no Location"},
		"http://b.test/\n             which is the URL itself: it is not requested again\n":  {LeadsTo: to, Listed: target(true, frontier.Fetched, "").Listed, Target: target(true, frontier.Fetched, "status 302")},
		"http://b.test/\n             fetched: status 200\n":                                 {LeadsTo: to, Target: target(true, frontier.Fetched, "status 200")},
		"http://b.test/\n             not in the crawl: it is out of scope (--scope host)\n": {LeadsTo: to, Target: target(false, frontier.OutOfScope, "scope host")},
		"http://b.test/\n             not in the crawl: it was redirected too often\n":       {LeadsTo: to, Target: target(false, frontier.TooManyRedirects, "")},
		"http://b.test/\n             not in the crawl\n":                                    {LeadsTo: to, Target: target(false, frontier.Unknown, "")},
	} {
		x.Asked, x.Known, x.Code, x.Reason = from, true, frontier.Fetched, "status 302"
		if x.URL.IsZero() {
			x.URL = from
		}
		var out bytes.Buffer
		if err := Explanation(&say.Lines{W: &out}, &x, time.Now()); err != nil || !strings.Contains(out.String(), "\nleads to     "+want) {
			t.Errorf("%v\n%s\nwant %s", err, &out, want)
		}
	}
}

// A robots.txt was requested, but is no page of the crawl, unless one links to it.
func TestARobotsTxtIsNoPage(t *testing.T) {
	u, err := frontier.ParseURL("http://a.test/robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	const text = "it is the robots.txt of its site, which is fetched for its rules, and not as a page"
	rules := &account.Rules{}
	for _, c := range []struct {
		x    account.Explanation
		want bool
	}{
		{account.Explanation{Listed: account.Listed{Code: frontier.Unknown}, Robots: rules}, true},
		{account.Explanation{Listed: account.Listed{Code: frontier.OutOfScope}, Robots: rules}, true},
		{account.Explanation{Listed: account.Listed{Code: frontier.Unknown}}, false},
		{account.Explanation{Listed: account.Listed{Code: frontier.Fetched}, Robots: rules, Known: true}, false},
	} {
		c.x.Asked = u
		if got := fateOf(&c.x, time.Now()); (got == "not in the crawl: "+text) != c.want {
			t.Errorf("%+v: %q", c.x, got)
		}
	}
}

// The audit of a site is printed request by request.
func TestAWholeAuditOfASite(t *testing.T) {
	at := time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC)
	pause := 12.25
	var out bytes.Buffer
	s := NewSite(&say.Lines{W: &out}, "a.test", false)
	for _, err := range []error{
		s.Request(audit.Request{Line: 2, Time: at, Status: 200, Bytes: 40, URL: "http://a.test/robots.txt", For: "robots"}),
		s.Copy(audit.Copy{Site: "http://a.test", Fetched: at, Status: 200, Bytes: 40, Delay: 12, SHA256: "ab"}),
		s.Copy(audit.Copy{Site: "https://a.test", Fetched: at, Failure: "dns", SHA256: "cd"}),
		s.Request(audit.Request{Line: 3, Time: at.Add(time.Minute), Status: 404, Bytes: 9, URL: "http://a.test/x", Kept: &pause, Clock: frontier.CrawlDelayClock, Asked: 12, Robots: "http://a.test", Rule: "Allow: /"}),
		s.End(&audit.Report{Token: "testbot", Contact: "a@example.org"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const want = `requests     line, time, status, bytes, seconds since the last answer (asked, by which clock), URL, rule
             2 2026-07-01T03:00:00.000Z 200 40 - http://a.test/robots.txt
robots.txt   of http://a.test at 2026-07-01T03:00:00Z: 200, 40 B, asks for 12s between two requests, sha256 ab
robots.txt   of https://a.test at 2026-07-01T03:00:00Z: dns, 0 B, sha256 cd
             3 2026-07-01T03:01:00.000Z 404 9 12.250 (12.000 crawl-delay) http://a.test/x robots.txt of http://a.test, Allow: /
asked        a.test as testbot (a@example.org): 2 requests, 1 of them for robots.txt, 49 B, from 2026-07-01T03:00:00Z to 2026-07-01T03:01:00Z
pauses       least 12.25s, median 12.25s, most 12.25s
result       no rule was broken
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
}

// What is printed of a robots.txt says whether it was cut.
func TestACutRobotsTxtIsSaidToBe(t *testing.T) {
	for _, cut := range []bool{false, true} {
		s := &robots.Snapshot{URL: "http://a.test/robots.txt", Status: 200, Body: []byte("user-agent: *\nallow: /\n"), Cut: cut}
		if out, _ := RobotsOf(s, robots.Policy{Token: "testbot"}); out.Cut != cut || out.Size != len(s.Body) {
			t.Errorf("%+v", out)
		}
	}
}
