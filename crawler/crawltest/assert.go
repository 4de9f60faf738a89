package crawltest

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Request is an entry in the log of a Web: one request to one of its sites.
type Request struct {
	Site      frontier.Site
	Method    string
	Target    string // path and query in the form in which they were received
	UserAgent string
	Header    http.Header
	// When the server got the request, and when it had answered; End is zero before that.
	Start, End time.Time
	Status     int // 0 if the connection was broken
	RetryAfter string
	Body       []byte // only of a robots.txt; otherwise nil
}

// URL returns the URL of the request.
func (r Request) URL() string { return string(r.Site) + r.Target }

// Log returns the requests so far, in the order in which they arrived.
func (w *Web) Log() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// Fetched returns the number of requests for a URL. Any form of the URL counts: HTTP://A.example is
// http://a.example/. Fetched fails the test if url is not a URL.
func (w *Web) Fetched(url string) int {
	w.t.Helper()
	u, err := frontier.ParseURL(url)
	if err != nil {
		w.t.Errorf("crawltest: %v", err)
		return 0
	}
	n := 0
	for _, r := range w.Log() {
		if r.URL() == url || r.URL() == u.String() {
			n++
		}
	}
	return n
}

// AssertFetched fails the test unless each URL was requested exactly once.
func (w *Web) AssertFetched(urls ...string) {
	w.t.Helper()
	for _, u := range urls {
		if n := w.Fetched(u); n != 1 {
			w.t.Errorf("%s was requested %d times, want once", u, n)
		}
	}
}

// AssertNeverFetched fails the test if one of the URLs was requested.
func (w *Web) AssertNeverFetched(urls ...string) {
	w.t.Helper()
	for _, u := range urls {
		if n := w.Fetched(u); n != 0 {
			w.t.Errorf("%s was requested %d times, want never", u, n)
		}
	}
}

// AssertDelay fails the test if a site got a request less than d after the end of its previous
// answer, or if it got no request at all. origin names the site, as in the method Site. If origin
// is empty, every site is checked.
func (w *Web) AssertDelay(origin string, d time.Duration) {
	w.t.Helper()
	sites := w.bySite()
	if origin != "" {
		site := w.origin(origin)
		sites = map[frontier.Site][]Request{site: sites[site]}
	}
	for site, reqs := range sites {
		if len(reqs) == 0 {
			w.t.Errorf("%s was never requested", site)
		}
		for i := 1; i < len(reqs); i++ {
			if gap := reqs[i].Start.Sub(reqs[i-1].End); gap < d {
				w.t.Errorf("%s came %v after the answer before, want at least %v", reqs[i].URL(), gap, d)
			}
		}
	}
}

// AssertPolite fails the test if a site's log shows one of these violations:
//
//   - a request for a page before robots.txt was requested, or for a page that the last
//     robots.txt forbids;
//   - two requests at once;
//   - less than the Crawl-delay between two requests, or a request before the
//     time that a Retry-After named;
//   - requests with different User-Agent fields.
//
// The sites of one host name, with different schemes or ports, share the pauses between requests if
// the name has public addresses. So AssertPolite also reports simultaneous requests to two such
// sites, and a request to one site that comes too early after a request to another.
func (w *Web) AssertPolite() {
	w.t.Helper()
	for _, violation := range w.violations() {
		w.t.Error(violation)
	}
}

func (w *Web) violations() []string {
	var found []string
	names := map[string]bool{}
	for _, reqs := range w.bySite() {
		for _, r := range reqs {
			names[r.UserAgent] = true
		}
		found = append(found, siteViolations(reqs)...)
	}
	for _, reqs := range w.byPublicHost() {
		found = append(found, hostViolations(reqs)...)
	}
	if len(names) > 1 {
		found = append(found, fmt.Sprintf("requests have %d different names", len(names)))
	}
	slices.Sort(found)
	return found
}

func siteViolations(reqs []Request) (found []string) {
	var group *robots.Group
	note := func(r Request, format string, args ...any) {
		found = append(found, r.violation(format, args...))
	}
	for i, r := range reqs {
		if i > 0 {
			found = append(found, early(r, reqs[i-1], group)...)
		}
		switch {
		case r.Target == "/robots.txt":
			group = rules(r, group)
		case group == nil:
			note(r, "came before robots.txt had an answer")
		case !group.Match(r.Target).Allowed():
			note(r, "is forbidden by robots.txt, line %d", group.Match(r.Target).Rule.Line)
		}
	}
	return found
}

// hostViolations returns the requests that came too early after a request to another site of the
// same host. reqs are all requests to that host.
func hostViolations(reqs []Request) (found []string) {
	groups := map[frontier.Site]*robots.Group{}
	for i, r := range reqs {
		if i > 0 && reqs[i-1].Site != r.Site {
			found = append(found, early(r, reqs[i-1], groups[reqs[i-1].Site])...)
		}
		if r.Target == "/robots.txt" {
			groups[r.Site] = rules(r, groups[r.Site])
		}
	}
	return found
}

// early returns the reasons why r came too early after prev. group has the rules of the site of
// prev, and may be nil.
func early(r, prev Request, group *robots.Group) (found []string) {
	if prev.End.IsZero() || r.Start.Before(prev.End) {
		found = append(found, r.violation("came while %s was being answered", prev.URL()))
	}
	if group != nil {
		if d, ok := group.CrawlDelay(); ok && r.Start.Sub(prev.End) < d {
			found = append(found, r.violation("came %v after the answer before; Crawl-delay is %v", r.Start.Sub(prev.End), d))
		}
	}
	if until := fetch.ParseRetryAfter(prev.RetryAfter, prev.End); r.Start.Before(until) {
		found = append(found, r.violation("came %v before the end of a Retry-After", until.Sub(r.Start)))
	}
	return found
}

func (r Request) violation(format string, args ...any) string {
	return r.Start.Format(time.TimeOnly) + " " + r.URL() + " " + fmt.Sprintf(format, args...)
}

// rules returns the rules that apply after r, a request for robots.txt with its answer. The rules
// before r are in old, and stay valid if r does not change them.
func rules(r Request, old *robots.Group) *robots.Group {
	token, _, _ := strings.Cut(r.UserAgent, " ")
	token, _, _ = strings.Cut(token, "/")
	switch {
	case r.Status/100 == 2:
		return robots.Parse(r.Body, robots.RFC9309).Group(token)
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		return robots.Parse([]byte("User-agent: *\nDisallow: /"), robots.RFC9309).Group(token)
	case r.Status/100 == 4 && r.Status != http.StatusTooManyRequests,
		// After a redirect the rules are in the log of another site, so everything is allowed here.
		r.Status/100 == 3 && r.Status != http.StatusNotModified:
		return robots.Parse(nil, robots.RFC9309).Group(token)
	}
	return old
}

func (w *Web) bySite() map[frontier.Site][]Request {
	sites := map[frontier.Site][]Request{}
	for _, r := range w.Log() {
		sites[r.Site] = append(sites[r.Site], r)
	}
	return sites
}

// byPublicHost returns the requests by host. It leaves out hosts at private addresses, because
// their ports may be different machines.
func (w *Web) byPublicHost() map[string][]Request {
	hosts := map[string][]Request{}
	for _, r := range w.Log() {
		hosts[r.Site.Host()] = append(hosts[r.Site.Host()], r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(hosts, func(host string, _ []Request) bool {
		return slices.ContainsFunc(w.addrs[host], func(a netip.Addr) bool { return a.IsPrivate() || !a.IsGlobalUnicast() })
	})
	return hosts
}
