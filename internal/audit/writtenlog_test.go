package audit_test

import (
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/robots"
)

var day = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)

// A written is a log of the site http://a.example that a test writes line by line. Unless an
// annotation says otherwise, the site has a private address.
type written struct {
	evidence
	robots time.Time // fetch time of the copy that the next lines name
}

// copy adds a request for robots.txt, at a time in seconds, and the copy that it fetches. The
// request takes 0.1 s.
func (w *written) copy(at float64, status int, body string) *robots.Snapshot {
	i := w.ask(at, "/robots.txt", status)
	w.lines[i].Hops, w.lines[i].Via = "P", "http://a.example/"
	w.set(i, "robots", "")
	s := &robots.Snapshot{URL: "http://a.example/robots.txt", Status: status, Body: []byte(body), Fetched: w.end(i)}
	w.robots = s.Fetched
	w.copies["http://a.example"] = append(w.copies["http://a.example"], s)
	return s
}

// ask adds a request for a target. The request takes 0.1 s.
func (w *written) ask(at float64, target string, status int, notes ...string) (line int) {
	start := day.Add(time.Duration(at * float64(time.Second)))
	l := crawllog.Line{
		Time: start.Add(100 * time.Millisecond), Status: status, Size: 1, URL: "http://a.example" + target, Start: start, Duration: 100 * time.Millisecond,
		Annotations: append([]string{"start:" + start.Format(crawllog.MicroForm), "ttfb:0.001", "took:0.1", "ip:10.0.0.1:80", "robots:" + w.robots.Format(crawllog.MicroForm)}, notes...),
	}
	w.lines = append(w.lines, l)
	return len(w.lines) - 1
}

// hop adds a request to the address addr for a robots.txt that http://a.example needs: its own,
// or the target of a redirect.
func (w *written) hop(at float64, url, addr string) {
	i := w.ask(at, "", 200)
	w.lines[i].URL, w.lines[i].Hops, w.lines[i].Via = url, "P", "http://a.example/"
	w.set(i, "robots", "")
	w.set(i, "ip", addr+":80")
}

// run adds the beginning of a run.
func (w *written) run(at float64, notes ...string) {
	w.lines = append(w.lines, crawllog.Line{Time: day.Add(time.Duration(at * float64(time.Second))), Size: -1, URL: crawllog.RunURL, Annotations: notes})
}
