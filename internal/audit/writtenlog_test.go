package audit_test

import (
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/robots"
)

var day = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)

// A written is a log of one site, http://a.example. Without another annotation the site has a
// private address.
type written struct {
	evidence
	robots time.Time // the copy that the next lines name
}

// copy fetches a robots.txt at a time in seconds. The request takes a tenth of a second.
func (w *written) copy(at float64, status int, body string) *robots.Snapshot {
	i := w.ask(at, "/robots.txt", status)
	w.lines[i].Hops, w.lines[i].Via = "P", "http://a.example/"
	w.set(i, "robots", "")
	s := &robots.Snapshot{URL: "http://a.example/robots.txt", Status: status, Body: []byte(body), Fetched: w.end(i)}
	w.robots = s.Fetched
	w.copies["http://a.example"] = append(w.copies["http://a.example"], s)
	return s
}

// ask requests a target. The request takes a tenth of a second.
func (w *written) ask(at float64, target string, status int, notes ...string) (line int) {
	start := day.Add(time.Duration(at * float64(time.Second)))
	l := crawllog.Line{
		Time: start.Add(100 * time.Millisecond), Status: status, Size: 1, URL: "http://a.example" + target, Start: start, Duration: 100 * time.Millisecond,
		Annotations: append([]string{"start:" + start.Format(crawllog.MicroForm), "ttfb:0.001", "took:0.1", "ip:10.0.0.1:80", "robots:" + w.robots.Format(crawllog.MicroForm)}, notes...),
	}
	w.lines = append(w.lines, l)
	return len(w.lines) - 1
}

// hop requests the robots.txt of http://a.example, or the target of a redirect of it, at an
// address.
func (w *written) hop(at float64, url, addr string) {
	i := w.ask(at, "", 200)
	w.lines[i].URL, w.lines[i].Hops, w.lines[i].Via = url, "P", "http://a.example/"
	w.set(i, "robots", "")
	w.set(i, "ip", addr+":80")
}

// run begins a run.
func (w *written) run(at float64, notes ...string) {
	w.lines = append(w.lines, crawllog.Line{Time: day.Add(time.Duration(at * float64(time.Second))), Size: -1, URL: crawllog.RunURL, Annotations: notes})
}
