package scheduler_test

import (
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// Weeks that differ from the others.
const (
	movedWeek     = 4  // from this week on a page redirects
	forbiddenWeek = 6  // b.example forbids a part of itself
	longWeek      = 8  // its process does not end before the run of the next week is due
	leftWeek      = 9  // from this week on no page links to /left
	offWeek       = 11 // the machine is off when the run falls due
	restWeek      = 13 // the last page of c.example has a Retry-After of an hour
	stoppedWeek   = 14 // SIGTERM stops the scheduler during a run
)

const oneHour = "3600"

// A resource is what a URL has in one week.
type resource struct {
	status   int
	text     string   // visible
	noise    string   // in a comment, not visible
	links    []string // targets
	location string
	noETag   bool   // it has no validator
	rest     string // Retry-After
}

func (l *resource) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>t</title><!-- %s --><p>%s", l.noise, strings.Repeat(html.EscapeString(l.text)+" ", 20))
	for _, target := range l.links {
		fmt.Fprintf(&b, "<a href=%q>%s</a>", target, target)
	}
	return b.String()
}

// resources returns the resources of a week, by URL. All weeks are alike except for what is
// said here.
func resources(week int) map[string]*resource {
	const a, b, c = "http://a.example", "http://b.example", "http://c.example"
	number := fmt.Sprint(week)
	links := []string{"/still", "/deaf", "/news", "/dated", "/hop", "/moved"}
	if week < leftWeek {
		links = append(links, "/left")
	}
	all := map[string]*resource{
		a + "/still": {text: "a page that does not change"},
		a + "/deaf":  {text: "another one, without an ETag", noETag: true},
		a + "/news":  {text: "news of week " + number},
		a + "/dated": {text: "the same", noise: "made in week " + number},
		a + "/hop":   {status: http.StatusFound, location: "/still"},
		a + "/moved": {text: "a page that moves"},
		a + "/left":  {text: "a page that nothing leads to"},
		b + "/":      {text: "b", links: []string{"/open", "/private/1", "/private/2", "/no"}},
		b + "/open":  {text: "open to all"},
		c + "/":      {text: "c", links: []string{"/1"}},
		c + "/1":     {text: "more of c", links: []string{"/2"}, noETag: true},
		c + "/2":     {text: "the end of c"},
	}
	for _, n := range []string{"1", "2"} {
		all[b+"/private/"+n] = &resource{text: "private " + n}
	}
	if week >= movedWeek {
		all[a+"/moved"] = &resource{status: http.StatusMovedPermanently, location: "/moved-here"}
		all[a+"/moved-here"] = &resource{text: "a page that moves"}
	}
	if week == restWeek {
		all[c+"/2"].rest = oneHour
	}
	// Each week has a page of its own, which is gone two weeks later, and not linked to then.
	for n := max(0, week-2); n <= week; n++ {
		target := fmt.Sprintf("/week/%d", n)
		links = append(links, target)
		all[a+target] = &resource{text: "this is week " + fmt.Sprint(n)}
		if n == week-2 {
			all[a+target].status = []int{http.StatusNotFound, http.StatusGone}[n%2]
		}
	}
	all[a+"/"] = &resource{text: "a", links: links}
	for _, l := range all {
		if l.status == 0 {
			l.status = http.StatusOK
		}
	}
	return all
}

// rules returns the robots.txt of a host.
func rules(host string, week int) string {
	text := "User-agent: *\nCrawl-delay: 2\nDisallow: /no\n"
	if host == "b.example" && week == forbiddenWeek {
		text += "Disallow: /private/\n"
	}
	return text
}

// forbids reports whether rules forbids a URL.
func forbids(url string, week int) bool {
	return strings.HasSuffix(url, "/no") || week == forbiddenWeek && strings.Contains(url, "/private/")
}

// serve answers a request as in the given week.
func serve(w http.ResponseWriter, req *http.Request, week int) {
	l := resources(week)["http://"+req.Host+req.URL.Path]
	body, tag := "", ""
	switch {
	case req.URL.Path == "/robots.txt":
		body = rules(req.Host, week)
		w.Header().Set("Content-Type", "text/plain")
	case l == nil:
		http.NotFound(w, req)
		return
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if body = l.body(); l.location != "" {
			w.Header().Set("Location", l.location)
		}
		if l.rest != "" {
			w.Header().Set("Retry-After", l.rest)
		}
	}
	if l == nil || l.status == http.StatusOK && !l.noETag {
		sum := fnv.New64a()
		io.WriteString(sum, body)
		tag = fmt.Sprintf(`"%x"`, sum.Sum64())
		w.Header().Set("ETag", tag)
	}
	if tag != "" && req.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if l != nil {
		w.WriteHeader(l.status)
	}
	io.WriteString(w, body)
}

// weekSeeds are the seeds of each snapshot.
var weekSeeds = []string{"http://a.example/", "http://b.example/", "http://c.example/"}

// The state of a URL in a snapshot, if it is not a status.
const (
	refused = -1 // by robots.txt
	unknown = 0  // no page links to it
)

// reached returns the state of each URL that a crawl of a week comes to know.
func reached(week int) map[string]int {
	all, known := resources(week), map[string]int{}
	for queue := slices.Clone(weekSeeds); len(queue) > 0; queue = queue[1:] {
		url := queue[0]
		if known[url] != unknown {
			continue
		}
		if forbids(url, week) {
			known[url] = refused
			continue
		}
		l := all[url]
		known[url] = l.status
		origin := url[:len("http://a.example")]
		switch {
		case l.location != "":
			queue = append(queue, origin+l.location)
		case l.status == http.StatusOK:
			for _, target := range l.links {
				queue = append(queue, origin+target)
			}
		}
	}
	return known
}

// class computes the change class of a page from the web alone.
func class(url string, was, is int) crawler.ChangeClass {
	switch before, now := resources(was)[url], resources(is)[url]; {
	case reached(is)[url] != http.StatusOK:
		return ""
	case reached(was)[url] != http.StatusOK:
		return crawler.ChangeNew
	case before.text != now.text || !slices.Equal(before.links, now.links):
		return crawler.ChangeModified
	case before.noise != now.noise:
		return crawler.ChangeSameText
	}
	return crawler.ChangeNotModified
}

// kind computes how a URL differs between two snapshots from the web alone.
func kind(url string, was, is int) diff.Kind {
	before, now := reached(was)[url], reached(is)[url]
	there := func(status int) bool { return status > 0 && status < 400 }
	switch {
	case there(before) && there(now) && now == http.StatusOK:
		if before != http.StatusOK {
			return diff.Modified
		}
		return diff.Kind(class(url, was, is))
	case there(before) && there(now) && before != now:
		return diff.Moved
	case there(before) && there(now):
		return diff.NotModified
	case there(now) && before == refused:
		return diff.Allowed
	case there(now) && before != unknown:
		return diff.Recovered
	case there(now):
		return diff.New
	case there(before) && now == refused:
		return diff.Refused
	case there(before) && now == unknown:
		return diff.LeftOut
	case there(before):
		return diff.Gone
	case now > 0 && before == unknown:
		return diff.Failing
	}
	return diff.Other
}

// kindsOf returns the kind of each URL that either snapshot knows, and the URLs that
// robots.txt has come to forbid (false) or allow (true).
func kindsOf(was, is int) (kinds map[string]diff.Kind, effects map[string]bool) {
	kinds, effects = map[string]diff.Kind{}, map[string]bool{}
	known := reached(is)
	maps.Copy(known, reached(was))
	for url := range known {
		kinds[url] = kind(url, was, is)
		if forbids(url, was) != forbids(url, is) {
			effects[url] = forbids(url, was)
		}
	}
	return kinds, effects
}
