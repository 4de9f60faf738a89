package show

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/audit"
)

// Visited prints what the access log of a server shows about a crawler.
func Visited(w *say.Lines, r *audit.Visited) error {
	if r.Requests == 0 {
		w.Told("audited", "%s: none of %s is of %s", r.Log, say.Plural(int(r.Lines), "line"), cmp.Or(r.Agent, "a request"))
		for _, text := range r.Remarks {
			w.Told("remark", "%s", text)
		}
		return w.Err
	}
	w.Verdict(judged(r.Violated), looks.Span{Style: looks.Strong, Text: " in " + say.Plural(int(r.Requests), "request")})
	w.Told("audited", "%s of %s: %d of %s, from %s to %s", r.Log, cmp.Or(r.Agent, "all"), r.Requests, say.Plural(int(r.Lines), "line"), r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339))
	for _, n := range r.Names {
		w.Told("name", "%s: %s", n.Name, say.Plural(int(n.Count), "request"))
	}
	for _, n := range r.Addresses {
		w.Told("address", "%s: %s", n.Name, say.Plural(int(n.Count), "request"))
	}
	for i := range r.Hosts {
		hostLines(w, &r.Hosts[i])
	}
	checkLines(w, r.Checks)
	for _, text := range r.Remarks {
		w.Told("remark", "%s", text)
	}
	violationLines(w, r.Log, r.Violations, r.Violated)
	resultLine(w, r.Violated)
	return w.Err
}

// hostLines prints how one host was crawled.
func hostLines(l *say.Lines, h *audit.Host) {
	first := "robots.txt never requested"
	switch {
	case h.Robots > 0 && h.Unannounced > 0:
		first = fmt.Sprintf("robots.txt requested after %s", say.Plural(int(h.Unannounced), "request"))
	case h.Robots > 0:
		first = fmt.Sprintf("robots.txt requested first, %s", say.Often(h.Robots))
	}
	var status []string
	for _, s := range h.Status {
		status = append(status, fmt.Sprintf("%s: %d", s.Name, s.Count))
	}
	l.Told("host", "%s: %s, %s; answers %s", cmp.Or(h.Name, "(not named)"), say.Plural(int(h.Requests), "request"), first, strings.Join(status, ", "))
	at := ""
	if h.AtOnce > 1 {
		at = fmt.Sprintf(", from %d addresses within one second", h.AtOnce)
	}
	l.Told("pace", "%.2f requests a second in the mean, at most %d in a second and %d in a minute%s", h.PerSecond, h.Second, h.Minute, at)
	if h.Soonest != nil {
		l.Told("rests", "%s 429 or 503; the next request came %s after one at the soonest", say.Plural(int(h.Rests), "answer"), say.InSeconds(*h.Soonest))
	}
}
