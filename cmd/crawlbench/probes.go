package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

const quick = 15 * time.Second

// probes returns the probes of the table in docs/evidence/behaviour.md.
func probes() []probe {
	return slices.Concat(rulesProbes(), paceProbes(), shownProbes())
}

func noPage(v *visits) string { return v.yes(v.asked("/robots.txt") > 0, v.asked("/") == 0) }

// rulesProbes check how robots.txt is read.
func rulesProbes() []probe {
	link := func(to ...string) map[string]string {
		body := ""
		pages := map[string]string{}
		for _, t := range to {
			body += fmt.Sprintf(`<a href="%s">x</a>`, t)
			pages[t] = ""
		}
		pages["/"] = body
		return pages
	}
	return []probe{
		{name: "unavailable", says: "robots.txt answers 503: no page is fetched", wait: quick, judge: noPage, pages: link("/a"),
			serve: func(_ *visits, rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/robots.txt" {
					rw.WriteHeader(http.StatusServiceUnavailable)
				}
				return r.URL.Path == "/robots.txt"
			}},
		{name: "broken", says: "robots.txt breaks off: no page is fetched", wait: quick, judge: noPage, pages: link("/a"),
			serve: func(_ *visits, rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/robots.txt" {
					breakOff(rw, "User-agent: *\n")
				}
				return false
			}},
		{name: "moved", says: "robots.txt that is redirected to another host counts", wait: quick, judge: never("/no"), pages: link("/no", "/a"),
			serve: func(v *visits, rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/robots.txt" {
					return false
				}
				if other := fmt.Sprintf("%s:%d", hostAddr(1), v.port); r.Host != other {
					http.Redirect(rw, r, "http://"+other+"/robots.txt", http.StatusMovedPermanently)
				} else {
					io.WriteString(rw, "User-agent: *\nDisallow: /no\n")
				}
				return true
			}},
		{name: "redirect", says: "a redirect into what is forbidden is not followed", wait: quick, judge: never("/no/x"),
			rules: "User-agent: *\nDisallow: /no/\n", pages: link("/go", "/no/x"),
			serve: func(_ *visits, rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/go" {
					http.Redirect(rw, r, "/no/x", http.StatusFound)
				}
				return r.URL.Path == "/go"
			}},
		{name: "query", says: "a rule counts for the query", wait: quick, rules: "User-agent: *\nDisallow: /p?print\n", pages: link("/p?print=1", "/p"), judge: never("/p?print=1")},
		{name: "wildcard", says: "`*` and `$` count", wait: quick, rules: "User-agent: *\nDisallow: /*.pdf$\n", pages: link("/a/b.pdf", "/a"), judge: never("/a/b.pdf")},
		{name: "longest", says: "the longest rule counts, not the first", wait: quick, rules: "User-agent: *\nAllow: /\nDisallow: /no\n", pages: link("/no", "/a"), judge: never("/no")},
		{name: "escapes", says: "`/caf%C3%A9` forbids `/café`, `/%7Ejoe` forbids `/~joe`", wait: quick, rules: "User-agent: *\nDisallow: /caf%C3%A9\nDisallow: /%7Ejoe\n",
			pages: link("/café", "/~joe", "/a"), judge: never("/caf%C3%A9", "/café", "/~joe", "/%7Ejoe")},
		{name: "mark", says: "a byte order mark before the first line is skipped", wait: quick, rules: "\ufeffUser-agent: *\nDisallow: /no\n", pages: link("/no", "/a"), judge: never("/no")},
		{name: "lines", says: "lines may end in CR alone", wait: quick, rules: "User-agent: *\rDisallow: /no\r", pages: link("/no", "/a"), judge: never("/no")},
	}
}

// paceProbes check how fast a site is crawled, and how its answers are handled.
func paceProbes() []probe {
	three := map[string]string{"/": `<a href="/1">x</a><a href="/2">x</a>`, "/1": "", "/2": ""}
	return []probe{
		{name: "delay", says: "Crawl-delay: 3 is kept", wait: 25 * time.Second, rules: "User-agent: *\nCrawl-delay: 3\n", pages: three,
			judge: func(v *visits) string {
				return v.yes(v.asked("/1")+v.asked("/2") > 0, v.gap() >= 2900*time.Millisecond)
			}},
		{name: "retry-after", says: "a 429 with Retry-After: 5 is obeyed", wait: 25 * time.Second, pages: map[string]string{
			"/": `<a href="/busy">x</a><a href="/busy?2">x</a><a href="/busy?3">x</a>`}, serve: busyFirst, judge: afterBusy},
		{name: "cut", says: "a page whose body ends early is fetched again", wait: 45 * time.Second, pages: map[string]string{"/": `<a href="/cut">x</a>`},
			serve: func(v *visits, rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/cut" {
					rw.Header().Set("Content-Type", "text/html")
					breakOff(rw, "<p>half")
				}
				return false
			}, judge: func(v *visits) string { return v.yes(v.asked("/cut") > 0, v.asked("/cut") > 1) }},
		{name: "base", says: "links are resolved against the base element", wait: quick, pages: map[string]string{"/": `<base href="/deep/"><a href="x">x</a>`, "/deep/x": ""}, judge: found("/deep/x")},
		{name: "nofollow", says: "a link with rel=nofollow is not followed", wait: quick, pages: map[string]string{"/": `<a rel="nofollow" href="/no">x</a><a href="/a">x</a>`, "/a": "", "/no": ""}, judge: never("/no")},
		{name: "sitemap", says: "the sitemap that robots.txt names is read", wait: quick, rules: "User-agent: *\nDisallow:\nSitemap: /map.txt\n", pages: map[string]string{"/": ""},
			serve: func(v *visits, rw http.ResponseWriter, r *http.Request) bool {
				switch r.URL.Path {
				case "/robots.txt":
					fmt.Fprintf(rw, "User-agent: *\nDisallow:\nSitemap: http://%s/map.txt\n", r.Host)
				case "/map.txt":
					rw.Header().Set("Content-Type", "text/plain")
					fmt.Fprintf(rw, "http://%s/mapped\n", r.Host)
				default:
					return false
				}
				return true
			}, judge: found("/mapped")},
		{name: "bomb", says: "a page of 1 GiB in 1 MB of gzip takes less than 100 MiB of memory", wait: 60 * time.Second, pages: map[string]string{"/": `<a href="/bomb">x</a>`},
			serve: bomb, judge: func(v *visits) string {
				if v.asked("/bomb") == 0 {
					return "-"
				}
				return fmt.Sprintf("%s (%d MiB)", v.yes(true, v.most < 100<<20), v.most>>20)
			}},
	}
}

// shownProbes check requests for embedded resources.
func shownProbes() []probe {
	return []probe{
		{name: "srcset", says: "each image of a srcset is fetched", shown: true, wait: 2 * quick, pages: map[string]string{
			"/": `<img src="/1.png" srcset="/2.png 2x, /3.png 3x"><picture><source srcset="/4.png 640w"></picture>`},
			judge: foundAll("/1.png", "/2.png", "/3.png", "/4.png")},
		{name: "comma", says: "a comma in a URL of a srcset does not end it", shown: true, wait: 2 * quick, pages: map[string]string{
			"/": `<img srcset="/w_9,h_9/a.png 2x, /b.png">`}, judge: foundAll("/w_9,h_9/a.png", "/b.png")},
		{name: "css", says: "style sheets and images that a style sheet names are fetched", shown: true, wait: 2 * quick, pages: map[string]string{
			"/": `<link rel="stylesheet" href="/1.css">`}, serve: sheets, judge: foundAll("/1.css", "/2.css", "/1.png", "/2.png")},
	}
}

// sheets answers with two style sheets. The first imports the second.
func sheets(_ *visits, rw http.ResponseWriter, r *http.Request) bool {
	sheet, ok := map[string]string{
		"/1.css": `@import "2.css"; p { background: url(1.png) }`,
		"/2.css": `p::before { content: url("2.png") }`,
	}[r.URL.Path]
	if ok {
		rw.Header().Set("Content-Type", "text/css")
		io.WriteString(rw, sheet)
	}
	return ok
}

// breakOff sends the beginning of a body with a larger Content-Length, and closes the
// connection.
func breakOff(rw http.ResponseWriter, beginning string) {
	rw.Header().Set("Content-Length", "1000")
	io.WriteString(rw, beginning)
	http.NewResponseController(rw).Flush()
	panic(http.ErrAbortHandler)
}

// gap returns the least time from the end of a page to the next request.
func (v *visits) gap() time.Duration {
	least := time.Hour
	for i := 1; i < len(v.all); i++ {
		if v.all[i-1].target != "/robots.txt" {
			least = min(least, v.all[i].begin.Sub(v.all[i-1].end))
		}
	}
	return least
}

const restFor = 5 * time.Second

// busyFirst answers the first request for /busy with a 429.
func busyFirst(v *visits, rw http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/busy" {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for _, one := range v.all {
		if len(one.target) >= 5 && one.target[:5] == "/busy" {
			n++
		}
	}
	if n == 1 {
		rw.Header().Set("Retry-After", "5")
		rw.WriteHeader(http.StatusTooManyRequests)
	}
	return n == 1
}

// afterBusy judges whether there was no request before the time that the 429 required.
func afterBusy(v *visits) string {
	for i, one := range v.all {
		if len(one.target) < 5 || one.target[:5] != "/busy" {
			continue
		}
		for _, later := range v.all[i+1:] {
			if later.begin.Before(one.end.Add(restFor)) {
				return "no"
			}
		}
		return v.yes(i+1 < len(v.all), true)
	}
	return "-"
}

func bomb(_ *visits, rw http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/bomb" {
		return false
	}
	rw.Header().Set("Content-Type", "text/html")
	rw.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(rw)
	defer z.Close()
	blanks := make([]byte, 1<<20)
	for i := range blanks {
		blanks[i] = ' '
	}
	for range 1024 {
		if _, err := z.Write(blanks); err != nil {
			break
		}
	}
	return true
}
