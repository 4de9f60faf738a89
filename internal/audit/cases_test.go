package audit_test

import (
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/robots"
)

// Each log has one special feature. The audit reports exactly the expected violations.
func TestCasesOfLogs(t *testing.T) {
	const all = "User-agent: *\nDisallow: /no\n"
	var whole strings.Builder
	for _, tc := range []struct {
		name   string
		write  func(w *written)
		want   []string // expected violations, each as its code and its line
		open   []int64  // expected lines that prove nothing
		remark string
	}{
		{"a log of nothing", func(w *written) {}, nil, nil, ""},
		{"a delay of the site's own", func(w *written) {
			w.run(0, "begin:clean")
			w.run(0.5, "site:http://a.example", "own:delay=3s", "reason:slow")
			w.copy(1, 200, all)
			w.ask(4.1, "/", 200)
			w.ask(6.2, "/1", 200) // too early for the pause of the site
		}, []string{"gap 5"}, nil, ""},
		{"a delay that a site has in the run before", func(w *written) {
			w.run(0, "begin:clean")
			w.run(0.5, "site:http://a.example", "own:delay=3s")
			w.copy(1, 200, all)
			w.run(8, "begin:clean")
			w.run(8.1, "site:http://a.example")
			w.ask(8.2, "/", 200)
			w.ask(9.3, "/1", 200)
		}, nil, nil, ""},
		{"a robots.txt that is forbidden, and permitted for the site", func(w *written) {
			w.run(0, "begin:clean")
			w.run(0.5, "site:http://a.example", "allows:robots-forbidden=allow", "reason:ours")
			w.copy(1, 403, "")
			w.ask(2.1, "/", 200)
			w.run(8, "begin:clean")
			w.ask(9, "/1", 200) // the run before had a setting that allows it; this run has none
		}, []string{"disallowed 6"}, nil, ""},
		{"polite", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			w.ask(3.2, "/1", 200)
		}, nil, nil, ""},
		{"by the delay of each run", func(w *written) {
			w.settings = map[string]string{"delay": "3s"}
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			w.run(5, "begin:clean")
			w.run(5, "changed:delay:1s->3s")
			w.ask(5.2, "/1", 200)
			w.ask(7.3, "/2", 200)
			w.ask(10.4, "/3", 200)
		}, []string{"gap 7"}, nil, ""},
		{"no delay at all", func(w *written) {
			w.settings = map[string]string{"delay": "2s"}
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(1.1, "/", 200)
			w.run(5, "begin:clean", "changed:delay:none->2s")
			w.ask(6, "/1", 200)
			w.ask(8, "/2", 200)
		}, []string{"gap 6"}, nil, ""},
		{"by the dialect of the run", func(w *written) {
			w.settings = map[string]string{"dialect": "koster1996", "alias": "oldbot otherbot"}
			w.run(0, "begin:clean")
			w.copy(1, 200, "User-agent: otherbot\nAllow: /a\nDisallow: /a/b\n")
			w.ask(2.1, "/a/b", 200) // allowed by the first rule
			w.run(5, "begin:clean", "changed:dialect:rfc9309->koster1996", "changed:alias:none->oldbot otherbot")
			w.ask(6, "/a/b", 200)
		}, nil, nil, ""},
		{"by the longest rule", func(w *written) {
			w.settings = map[string]string{"alias": "oldbot otherbot"}
			w.run(0, "begin:clean")
			w.copy(1, 200, "User-agent: otherbot\nAllow: /a\nDisallow: /a/b\n")
			w.ask(2.1, "/a/b", 200)
		}, []string{"disallowed 3"}, nil, ""},
		{"closed by 403, unless that is allowed", func(w *written) {
			w.settings = map[string]string{"robots-forbidden": "allow"}
			w.run(0, "begin:clean")
			w.copy(1, 403, "")
			w.ask(2.1, "/", 200)
			w.run(3, "begin:clean", "changed:robots-forbidden:deny->allow")
			w.ask(4, "/1", 200)
		}, []string{"disallowed 3"}, nil, ""},
		{"carried over by a run after one that was killed", func(w *written) {
			w.copy(-10, 200, all)
			w.lines = nil
			w.run(0, "begin:clean")
			w.run(1, "begin:unclean")
			w.run(1.1, "carried:1")
			w.ask(2.1, "/", 200)
		}, nil, nil, "fetched by the crawl before"},
		{"carried over after a request", func(w *written) {
			w.copy(-10, 200, all)
			w.lines = nil
			w.run(0, "begin:clean")
			w.ask(1, "/", 200)
			w.run(2, "begin:unclean")
			w.run(2.1, "carried:1")
			w.ask(4.1, "/1", 200)
		}, []string{"evidence 0", "no-robots 2", "no-robots 5"}, nil, ""},
		{"a clock that was set back", func(w *written) {
			w.run(1000, "begin:clean")
			w.copy(1001, 200, all)
			w.ask(1003, "/", 200)
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/1", 200)
			w.copies["http://a.example"] = []*robots.Snapshot{w.copies["http://a.example"][1], w.copies["http://a.example"][0]}
		}, nil, nil, ""},
		{"a copy that a kill has taken", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			delete(w.copies, "http://a.example")
			w.run(3, "begin:unclean")
			w.copy(4, 200, all)
			w.ask(5.1, "/", 200)
		}, nil, []int64{3}, "1 of 2 runs did not end by themselves"},
		{"copies of the crawl before", func(w *written) {
			w.copy(1, 200, all)
			w.copies["http://b.example"] = []*robots.Snapshot{{URL: "http://b.example/robots.txt", Status: 200, Fetched: w.robots}}
			w.lines = nil
			w.run(10, "begin:clean", "carried:2")
			w.ask(12.1, "/", 200)
			w.hop(14, "http://b.example/robots.txt", "10.0.0.1")
			w.copies["http://b.example"] = append(w.copies["http://b.example"], &robots.Snapshot{URL: "http://b.example/robots.txt", Status: 200, Fetched: w.end(2)})
		}, nil, nil, "2 copies of robots.txt were fetched by the crawl before"},
		{"a copy that was lost without a kill", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			delete(w.copies, "http://a.example")
			w.run(3, "begin:clean")
			w.copy(4, 200, all)
			w.ask(5.1, "/", 200)
		}, []string{"no-robots 3"}, nil, ""},
		{"a copy that was lost long before a kill", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			delete(w.copies, "http://a.example")
			w.ask(20, "/1", 200)
			w.run(23, "begin:unclean")
		}, []string{"no-robots 3", "no-robots 4"}, nil, ""},
		{"a copy that a full disk has taken, at the end of the log", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			delete(w.copies, "http://a.example")
			w.killed = true
		}, nil, []int64{3}, "1 of 1 runs did not end by themselves"},
		{"a copy that was lost long before a full disk", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			delete(w.copies, "http://a.example")
			w.ask(20, "/1", 200)
			w.killed, w.committed = true, day.Add(19*time.Second)
		}, []string{"no-robots 3", "no-robots 4"}, nil, ""},
		{"copies that a slow disk had not taken before a kill", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			delete(w.copies, "http://a.example")
			w.ask(20, "/1", 200)
			w.run(23, "begin:unclean", "committed:2026-05-04T00:00:00.500000Z")
		}, nil, []int64{3, 4}, ""},
		{"a rest that a kill has taken", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 429)
			w.run(3, "begin:unclean")
			w.ask(4, "/", 200)
		}, nil, []int64{5}, ""},
		{"a rest that no kill has taken", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(2.1, "/", 429)
			w.run(3, "begin:clean")
			w.ask(4, "/", 200)
		}, []string{"back-off 5"}, nil, ""},
		{"a Retry-After of a robots.txt", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all).Header.RetryAfter = day.Add(20 * time.Second)
			w.ask(15, "/", 200)
			w.ask(17, "/1", 200)
		}, []string{"retry-after 3"}, nil, ""},
		{"a Retry-After of three years", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all).Header.RetryAfter = day.AddDate(3, 0, 0)
			w.ask(366*86400, "/", 200)
		}, nil, nil, ""},
		{"a slow site", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			for i, ttfb := range []int{2, 40} {
				line := w.ask(3+3*float64(i), fmt.Sprint("/", i), 200)
				w.set(line, "ttfb", strconv.Itoa(ttfb))
				w.last(line, w.start(line).Add(time.Duration(ttfb)*time.Second))
			}
			w.ask(46+60, "/2", 200)
		}, []string{"gap 4"}, nil, ""},
		{"a robots.txt that cannot be had, and another site that leads to it", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 500, "")
			w.hop(30, "http://a.example/robots.txt", "10.0.0.1")
			w.lines[2].Via = "http://b.example/"
			w.hop(40, "http://a.example/robots.txt", "10.0.0.1")
		}, nil, nil, ""},
		{"a robots.txt that is requested again too soon", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 500, "")
			w.copy(30, 200, all)
			w.ask(32, "/1", 200)
		}, []string{"back-off 3"}, nil, ""},
		{"a robots.txt that fails, and a copy to go by", func(w *written) {
			w.run(0, "begin:clean")
			old := w.copy(1, 200, all)
			s := w.copy(100_000, 500, "")
			*s = *s.After(old)
			w.ask(100_002, "/1", 200)
			w.ask(100_004, "/no", 200)
		}, []string{"disallowed 5"}, nil, ""},
		{"a copy of the day before, for the first page after it only", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(90_000, "/", 200)
			w.ask(90_002, "/1", 200)
		}, []string{"stale-robots 4"}, nil, ""},
		{"a pause that counts from a line that is not there", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.run(3, "begin:clean")
			w.ask(4, "/", 200, "asked:9", "clock:own")
		}, nil, []int64{4}, ""},
		{"a domain that was asked too soon", func(w *written) {
			w.settings = map[string]string{"domain-delay": "5s"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "10.0.0.1")
			w.hop(3, "http://www.a.example/robots.txt", "10.0.0.2")
			w.hop(4, "http://b.example/robots.txt", "10.0.0.2")
			w.hop(8.2, "http://m.a.example/robots.txt", "10.0.0.2")
		}, []string{"gap 3"}, nil, ""},
		{"a domain that was asked twice at once", func(w *written) {
			w.settings = map[string]string{"domain-delay": "5s"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "10.0.0.1")
			w.hop(1.05, "http://www.a.example/robots.txt", "10.0.0.2")
		}, []string{"concurrent 3"}, nil, ""},
		{"a domain, before it had a delay", func(w *written) {
			w.settings = map[string]string{"domain-delay": "5s"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "10.0.0.1")
			w.run(2, "begin:clean", "changed:domain-delay:none->5s")
			w.hop(3, "http://www.a.example/robots.txt", "10.0.0.2")
		}, nil, nil, ""},
		{"an address that was asked too soon", func(w *written) {
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "16.0.0.1")
			w.hop(1.15, "http://b.example/robots.txt", "16.0.0.1")
			w.hop(1.2, "http://c.example/robots.txt", "16.0.0.2")
			w.hop(1.36, "http://d.example/robots.txt", "16.0.0.1") // 0.21 s after the last request to the address: less than 0.25 s, but within jitter
		}, []string{"gap 3"}, nil, ""},
		{"an address without a pause, or that is not public", func(w *written) {
			w.settings = map[string]string{"ip-delay": "0"}
			w.run(0, "begin:clean")
			for i, host := range []string{"a", "b", "c", "d"} {
				w.hop(1, "http://"+host+".example/robots.txt", "16.0.0.1")
				w.hop(1, "http://"+host+host+".example/robots.txt", fmt.Sprintf("10.0.0.%d", i))
			}
		}, nil, nil, ""},
		{"another port of a host", func(w *written) {
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "16.0.0.1")
			w.hop(1.6, "http://a.example:8080/robots.txt", "16.0.0.1")
			w.hop(1.65, "https://a.example/robots.txt", "16.0.0.1")
		}, []string{"gap 4", "gap 3", "concurrent 4"}, nil, ""},
		{"another port of a host that is not public", func(w *written) {
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "10.0.0.1")
			w.hop(1, "http://a.example:8080/robots.txt", "10.0.0.1")
		}, nil, nil, ""},
		{"another port of a host behind a proxy", func(w *written) {
			w.run(0, "begin:clean")
			for i, h := range []struct {
				at  float64
				url string
			}{{1, "http://a.example/robots.txt"}, {1.15, "http://a.example:8080/robots.txt"}, {1.15, "http://b.example/robots.txt"}, {1.2, "http://c.example/robots.txt"}} {
				w.hop(h.at, h.url, "10.0.0.1")
				w.set(i+1, "ip", "")
				w.set(i+1, "proxy", "http://127.0.0.1:3128")
			}
		}, []string{"gap 3"}, nil, ""},
		{"a robots.txt that leads to what another site forbids", func(w *written) {
			w.run(0, "begin:clean")
			w.hop(0, "http://b.example/robots.txt", "10.0.0.1")
			w.copies["http://b.example"] = []*robots.Snapshot{{URL: "http://b.example/robots.txt", Status: 200, Body: []byte(all), Fetched: w.end(1)}}
			w.hop(1.5, "http://b.example/yes", "10.0.0.1")
			w.hop(3, "http://b.example/no", "10.0.0.1")
			w.hop(5, "http://b.example/robots.txt", "10.0.0.1")
			w.hop(7, "http://c.example/yes", "10.0.0.1")
			w.hop(9, "http://a.example/no", "10.0.0.1") // no violation, because a.example requests it as its own robots.txt
		}, []string{"disallowed 4", "no-robots 6"}, nil, ""},
		{"copies that are not what their lines say", func(w *written) {
			w.run(0, "begin:clean", crawllog.Records)
			digest := func(body string) { // sets the digest of the last line
				sum := sha1.Sum([]byte(body))
				w.lines[len(w.lines)-1].Digest = "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
			}
			w.copy(10, 200, all)
			digest(all)
			w.copy(20, 200, all)
			digest("other")
			w.copy(30, 200, all) // a copy whose line has no digest
			w.copy(40, 200, "new")
			digest("new")
			w.lines[len(w.lines)-1].Status = 404
			w.copy(50, 200, "new")
			w.lines[len(w.lines)-1].Status = 304
			w.copy(60, 200, "newer")
			w.lines[len(w.lines)-1].Status = 304
			old := w.copy(70, 200, all)
			digest(all)
			w.ask(72, "/", 200, "kept:x")
			*w.copy(80, 500, "") = *(&robots.Snapshot{URL: "http://a.example/robots.txt", Status: 500, Fetched: w.end(len(w.lines) - 1)}).After(old)
			digest("")
			stale := w.copy(700, 500, "") // a failed copy that falls back to another copy than the last one
			digest("")
			*stale = *stale.After(&robots.Snapshot{Status: 200, Body: []byte("first"), Fetched: day})
			w.copy(7000, 200, all).Fetched = day.Add(7001 * time.Second) // a copy that no line has fetched
			digest(all)
			refused := w.copy(8000, 0, "")
			refused.Failure = "redirect"
			w.ask(8002, "/1", 200)
			lost := w.copy(9000, 0, "")
			lost.Failure = "dns"
			w.lines[len(w.lines)-1].Status = -2
			w.set(len(w.lines)-1, "error", "dns")
			w.ask(9010, "/2", 200)
		}, []string{"evidence 3", "evidence 4", "evidence 5", "evidence 7", "evidence 0", "evidence 0", "no-robots 14", "no-robots 14", "back-off 14", "no-robots 16", "back-off 16"}, nil, ""},
		{"a start that is not that of field 9", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			for i, by := range []time.Duration{-3 * time.Microsecond, -4 * time.Microsecond, 1002 * time.Microsecond, 1003 * time.Microsecond} {
				line := w.ask(float64(3+2*i), "/", 200)
				w.set(line, "start", w.lines[line].Start.Add(by).Format(crawllog.MicroForm))
			}
		}, []string{"evidence 4", "evidence 6"}, nil, ""},
		{"a duration that is not that of field 9", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.lines[w.ask(3, "/", 200)].Duration -= 2 * time.Millisecond
		}, []string{"evidence 3"}, nil, ""},
		{"an answer that began after its end", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.set(w.ask(3, "/", 200), "ttfb", "0.100003")
			w.set(w.ask(5, "/", 200), "ttfb", "0.100004")
		}, []string{"evidence 4"}, nil, ""},
		{"an end that is not that of field 1", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			line := w.ask(3, "/", 200)
			w.lines[line].Time = w.lines[line].Time.Add(time.Second)
		}, nil, []int64{3}, ""},
		{"a robots.txt that leads on and on", func(w *written) {
			w.run(0, "begin:clean")
			for range 2 {
				for i := range 14 {
					n := len(w.lines)
					w.hop(float64(2*n), fmt.Sprintf("http://a.example/%d", i), "10.0.0.1")
					if i == 0 {
						w.hop(float64(2*n), "http://a.example/robots.txt", "10.0.0.1")
						w.lines = slices.Delete(w.lines, n, n+1)
					}
					w.lines[n].Status = 302
				}
			}
			w.hop(100, "http://a.example/robots.txt", "10.0.0.1")
			w.copies["http://a.example"] = []*robots.Snapshot{{URL: "http://a.example/robots.txt", Status: 200, Fetched: day}}
		}, []string{"redirects 13", "redirects 27", "evidence 0"}, nil, ""},
		{"a robots.txt that many sites share", func(w *written) {
			w.run(0, "begin:clean")
			for i := range 70 {
				w.hop(float64(2*i+2), "http://b.example/robots.txt", "10.0.0.1")
			}
			for _, i := range []int{6, 7, 70} { // the first of these arrivals is forgotten
				w.copies["http://a.example"] = append(w.copies["http://a.example"], &robots.Snapshot{URL: "http://a.example/robots.txt", Status: 200, Fetched: w.end(i)})
			}
		}, []string{"evidence 0"}, nil, ""},
		{"copies that the lines of pages name", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			first := w.robots
			w.copy(3, 200, all)
			w.robots = first
			w.ask(5, "/", 200)
			w.robots = day.Add(10 * time.Second)
			w.ask(7, "/1", 200)
			w.robots = day.Add(6 * time.Second)
			w.ask(9, "/2", 200)
			w.run(10, "begin:unclean")
			w.robots = day.Add(8 * time.Second)
			w.ask(11, "/3", 200)
		}, []string{"stale-robots 4", "no-robots 5", "no-robots 8"}, []int64{6}, ""},
		{"what a kill has taken", func(w *written) {
			w.killed = true
			w.settings = map[string]string{"domain-delay": "5s"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "16.0.0.1")
			w.run(1.3, "begin:unclean")
			w.hop(1.2, "http://www.a.example/robots.txt", "16.0.0.1")
			w.hop(20, "http://b.example/robots.txt", "16.0.0.1")
			w.copies["http://a.example"] = []*robots.Snapshot{{URL: "http://a.example/robots.txt", Status: 200, Fetched: day.Add(30 * time.Second)}}
			w.robots = day.Add(30 * time.Second)
			w.ask(31, "/", 200)
			w.robots = day.Add(29 * time.Second)
			w.ask(33, "/", 200)
		}, []string{"gap 7"}, []int64{4, 0, 6, 7}, ""},
		{"an address and a domain before the clock was set back", func(w *written) {
			w.settings = map[string]string{"domain-delay": "5s"}
			w.run(0, "begin:clean")
			w.hop(10, "http://a.example/robots.txt", "16.0.0.1")
			w.run(5, "begin:clean")
			w.hop(6, "http://www.a.example/robots.txt", "16.0.0.1")
		}, nil, nil, ""},
		{"a setting that is not written as it is", func(w *written) {
			w.settings = map[string]string{"alias": "newbot"}
			w.run(0, "begin:clean", "changed:alias:none->new%62ot")
			w.copy(1, 200, "User-agent: newbot\nDisallow: /\n")
			w.ask(3, "/", 200)
		}, []string{"disallowed 3"}, nil, ""},
		{"clocks of lines", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			for i, clock := range []frontier.Clock{frontier.RetryAfterClock, frontier.BackOffClock, frontier.FailuresClock, frontier.RobotsClock, frontier.VisitTimeClock, frontier.OwnClock, frontier.CrawlDelayClock} {
				w.ask(float64(3+2*i), "/", 200, "asked:5", "clock:"+string(clock))
			}
			w.ask(20, "/", 200, "asked:3.100004", "clock:own", "since:"+day.Add(16900*time.Millisecond).Format(crawllog.MicroForm))
		}, []string{"retry-after 3", "back-off 4", "back-off 5", "back-off 6", "visit-time 7", "gap 8", "gap 9", "gap 10"}, nil, ""},
		{"rests after a challenge and after a reset", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(3, "/1", 403, "error:challenge")
			w.ask(5, "/2", -4, "error:reset")
			w.ask(7, "/3", 503)
			w.ask(9, "/4", 200)
		}, []string{"back-off 4", "back-off 5", "back-off 6"}, nil, ""},
		{"long rules", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, "User-agent: *\nDisallow: /"+strings.Repeat("x", 199)+"$\nDisallow: /"+strings.Repeat("y", 199)+"\n")
			w.ask(3, "/"+strings.Repeat("x", 199), 200)
			w.ask(5, "/"+strings.Repeat("y", 199), 200)
		}, []string{"disallowed 3", "disallowed 4"}, nil, ""},
		{"another port of a host after a run with a longer delay", func(w *written) {
			w.settings = map[string]string{"delay": "1s"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "16.0.0.1")
			w.run(2, "begin:clean", "changed:delay:3s->1s")
			w.hop(2.5, "http://a.example:8080/robots.txt", "16.0.0.1")
		}, nil, nil, ""},
		{"a site after a run with a longer delay", func(w *written) {
			w.settings = map[string]string{"delay": "1s"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "16.0.0.1")
			w.run(2, "begin:clean", "changed:delay:3s->1s")
			w.hop(2.5, "http://a.example/robots.txt", "16.0.0.1")
		}, []string{"gap 4"}, nil, ""},
		{"an address after a run with a shorter pause", func(w *written) {
			w.settings = map[string]string{"ip-delay": "5s"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "16.0.0.1")
			w.run(2, "begin:clean", "changed:ip-delay:1s->5s")
			w.hop(3, "http://b.example/robots.txt", "16.0.0.1") // no violation, because the pause of the run before applies
			w.hop(5, "http://c.example/robots.txt", "16.0.0.1")
		}, []string{"gap 5"}, nil, ""},
		{"a domain after a run with a shorter pause", func(w *written) {
			w.settings = map[string]string{"domain-delay": "5s", "ip-delay": "0"}
			w.run(0, "begin:clean")
			w.hop(1, "http://a.example/robots.txt", "16.0.0.1")
			w.run(2, "begin:clean", "changed:domain-delay:1s->5s")
			w.hop(3, "http://www.a.example/robots.txt", "16.0.0.1")
			w.hop(5, "http://a.example/robots.txt", "16.0.0.1")
		}, []string{"gap 5"}, nil, ""},
		{"a robots.txt that cannot be had, for another site, without a delay", func(w *written) {
			w.settings = map[string]string{"delay": "0"}
			w.run(0, "begin:clean")
			w.copy(1, 500, "")
			w.hop(1.2, "http://a.example/robots.txt", "10.0.0.1")
			w.lines[2].Via = "http://b.example/"
		}, nil, nil, ""},
		{"copies that came with other files", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, all)
			w.ask(3, "/", 200)
			w.hop(5, "http://a.example/terms", "10.0.0.1")
			w.set(3, "for", "use")
			for _, line := range []int{2, 3} {
				w.copies["http://a.example"] = append(w.copies["http://a.example"], &robots.Snapshot{URL: "http://a.example/robots.txt", Status: 200, Body: []byte(all), Fetched: w.end(line)})
			}
		}, []string{"evidence 0", "evidence 0"}, nil, ""},
		{"a clock that passes 1970", func(w *written) {
			begin := float64(-day.Unix())
			w.run(begin-5, "begin:clean")
			w.copy(begin-4, 200, all)
			w.ask(begin-2, "/", 200)
			w.ask(begin+1, "/1", 200)
		}, nil, nil, ""},
		{"a pause of nothing", func(w *written) {
			w.run(0, "begin:clean")
			w.copy(1, 200, "User-agent: *\nCrawl-delay: 0\n")
			w.ask(3, "/", 200)
		}, nil, nil, ""},
		{"other names", func(w *written) { w.agents = []string{"one", "other"} }, []string{"identity 0", "identity 0"}, nil, ""},
		{"a log that was cut", func(w *written) {
			w.run(0, "begin:clean", "lost:77")
		}, nil, nil, "77 bytes of the log were removed or cut"},
		{"a log without its beginning", func(w *written) {
			w.copy(1, 200, all)
			w.ask(2.1, "/", 200)
			w.run(3, "begin:clean")
		}, nil, nil, "the beginning of the log is missing"},
		{"nothing says who asked", func(w *written) { w.agents = nil }, nil, nil, "no WARC file says under which name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent()}}}
			tc.write(w)
			r := w.audit(t)
			fmt.Fprintf(&whole, "%s\n%s", tc.name, brief(r))
			var got []string
			for _, v := range r.Violations {
				line := int64(0)
				if len(v.Lines) > 0 {
					line = v.Lines[0]
				}
				got = append(got, string(v.Code)+" "+strconv.FormatInt(line, 10))
			}
			var open []int64
			for _, u := range r.Unproven {
				open = append(open, u.Line)
			}
			if !slices.Equal(got, tc.want) || !slices.Equal(open, tc.open) {
				t.Errorf("%v, want %v; unproven %v, want %v\n%+v", got, tc.want, open, tc.open, r.Violations)
			}
			if !strings.Contains(strings.Join(r.Remarks, "\n"), tc.remark) {
				t.Errorf("remarks %q", r.Remarks)
			}
			failAudit(t, w.crawl(w.log()), nil)
		})
	}
	goldenText(t, "cases.txt", whole.String())
}
