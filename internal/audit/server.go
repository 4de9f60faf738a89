package audit

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// A ServerLog is the access log of a server that was crawled, in a format that Visitor.Access
// reads. Its lines whose User-Agent has the product token of the crawl are compared with
// crawl.log.
type ServerLog struct {
	Name string // name of the log, for messages
	Log  io.Reader
	Host string // host of the lines that name no host; "": such lines are ignored
}

// A Beside is the result of comparing the log of a server with crawl.log. The names of its
// fields in JSON never change.
type Beside struct {
	Log        string    `json:"log"`
	Lines      int64     `json:"lines"`
	Unread     int64     `json:"unreadable_lines"`
	Unnamed    int64     `json:"lines_without_host"` // number of lines of the crawl that were ignored, because they name no host
	First      time.Time `json:"first,omitzero"`
	Last       time.Time `json:"last,omitzero"`
	Requests   int64     `json:"requests"`    // number of requests of the crawl in the log of the server
	Matched    int64     `json:"matched"`     // number of the crawl's requests in the server's log that have a line in crawl.log
	OnlyServer int64     `json:"only_server"` // number of the crawl's requests in the server's log that have no line in crawl.log
	OnlyCrawl  int64     `json:"only_crawl"`  // number of lines of crawl.log that have no line in the log of the server
}

const (
	apart       = time.Minute      // how much the clocks of the server and the crawler may differ
	mostWaiting = 1000             // how many lines of one URL may wait for their line in the other log
	longAsk     = 10 * time.Minute // longest time that a request may take, if the server logs its beginning
)

// server reads the log of a server: its hosts, and the lines of the crawl.
func (a *auditor) server() error {
	if a.Server == nil {
		return nil
	}
	b := &Beside{Log: a.Server.Name}
	a.report.Server, a.served = b, map[string]bool{}
	var bad *LineError
	other := func(n int64, why error) error {
		if b.Lines, b.Unread = n, b.Unread+1; bad == nil {
			bad = &LineError{a.Server.Name, n, why}
		}
		return nil
	}
	err := crawllog.SiftTexts(a.Server.Log, func(n int64, text []byte, torn bool) error {
		x, err := parseAccess(string(text))
		if err != nil {
			return other(n, err)
		}
		b.Lines = n
		if b.First.IsZero() || x.at.Before(b.First) {
			b.First = x.at
		}
		if x.at.After(b.Last) {
			b.Last = x.at
		}
		if x.host == "" {
			x.host = a.Server.Host
		}
		if x.host != "" && len(a.served) < mostNames {
			a.served[x.host] = true
		}
		switch {
		case !named(x.agent, a.Identity.Token) || x.target == "":
			return nil
		case x.host == "":
			b.Unnamed++
			return nil
		case !a.served[x.host]:
			return nil
		}
		b.Requests++
		return a.order.Add(besideKey(x.host, x.target, x.at, ofState, n), nil)
	}, other)
	b.First, b.Last = b.First.UTC(), b.Last.UTC()
	if err == nil && b.Unread == b.Lines && bad != nil {
		return bad
	}
	return err
}

// besideKey returns the key by which a line is sorted: host, target, time, and the log from
// which it comes.
func besideKey(host, target string, at time.Time, of byte, line int64) []byte {
	key := appendKey(nil, byTarget, host+target, 0)
	key = binary.BigEndian.AppendUint64(key, uint64(at.UnixMicro())^1<<63)
	return binary.BigEndian.AppendUint64(append(key, of), uint64(line))
}

// beside adds a request that the log of the server should have.
func (a *auditor) beside(r *request) error {
	if !a.served[r.site.Host()] {
		return nil
	}
	answered := byte(0)
	if r.status > 0 && r.failure == "" {
		answered = 1
	}
	text := binary.BigEndian.AppendUint64([]byte{answered}, uint64(r.start.UnixMicro()))
	return a.order.Add(besideKey(r.site.Host(), r.url.Target(), r.end, ofLog, r.line), text)
}

// A pairing matches the lines of the two logs for one target of a host. A line of one log
// waits for a line of the other log for as long as the clocks of the two machines may differ.
type pairing struct {
	url     string
	waiting []pair
}

type pair struct {
	of         byte
	line       int64
	start, end time.Time
	answered   bool
}

// pair takes the next line of either log, and matches it if it can.
func (a *auditor) pair(p *pairing, rest, text []byte) error {
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(rest[1:]) ^ 1<<63)).UTC()
	x := pair{of: rest[9], line: int64(binary.BigEndian.Uint64(rest[10:])), start: at, end: at.Add(resolution), answered: true}
	if x.of == ofLog {
		x.answered, x.start, x.end = text[0] == 1, time.UnixMicro(int64(binary.BigEndian.Uint64(text[1:]))).UTC(), at
	}
	if err := a.unpaired(p, at.Add(-longAsk-apart)); err != nil {
		return err
	}
	best := -1
	for i, o := range p.waiting {
		if o.of != x.of && !o.start.After(x.end.Add(apart)) && !x.start.After(o.end.Add(apart)) && (best < 0 || o.answered && !p.waiting[best].answered) {
			best = i
		}
	}
	switch {
	case best >= 0:
	case len(p.waiting) < mostWaiting:
		p.waiting = append(p.waiting, x)
		return nil
	default: // too many lines of one URL wait, so report the first
		first := p.waiting[0]
		p.waiting = append(p.waiting[1:], x)
		return a.alone(p.url, &first)
	}
	p.waiting = append(p.waiting[:best], p.waiting[best+1:]...)
	a.report.Server.Matched++
	return nil
}

// unpaired reports the lines that have waited too long at the time until. If until is zero, the
// logs have ended, and all waiting lines are reported.
func (a *auditor) unpaired(p *pairing, until time.Time) error {
	for len(p.waiting) > 0 && (until.IsZero() || p.waiting[0].end.Before(until)) {
		x := p.waiting[0]
		p.waiting = p.waiting[1:]
		if err := a.alone(p.url, &x); err != nil {
			return err
		}
	}
	return nil
}

// alone reports a line that has no line in the other log, unless there is an innocent cause.
func (a *auditor) alone(url string, x *pair) error {
	b := a.report.Server
	a.checked(Evidence)
	if x.of == ofLog {
		if !x.answered || x.start.Before(b.First.Add(apart)) || x.end.After(b.Last.Add(-apart)) {
			return nil
		}
		b.OnlyCrawl++
		return a.violation(&Violation{
			Code: Evidence, Lines: []int64{x.line}, URL: url, Time: x.start, Rule: "the server has a line of each request that it has answered",
			Text: fmt.Sprintf("was answered, and %s has no line of it", b.Log),
		})
	}
	if a.runs.unloggedAt(x.start) {
		a.open(0, fmt.Sprintf("%s:%d: a kill may have taken the line of %s", b.Log, x.line, url))
		return nil
	}
	b.OnlyServer++
	return a.violation(&Violation{
		Code: Evidence, URL: url, Time: x.start, Rule: "the log has a line of each request",
		Text: fmt.Sprintf("was requested, by line %d of %s, and crawl.log has no line of it", x.line, b.Log),
	})
}

// unloggedAt reports whether crawl.log may lack the line of a request that a server logged at
// the time t: a run was killed during the request, or that part of crawl.log was removed.
func (r *runsOf) unloggedAt(t time.Time) bool {
	if r.lost > 0 || r.all[0].begun.IsZero() {
		return true
	}
	for i := range r.all {
		if !r.all[i].killed || t.Before(r.all[i].last.Add(-justWritten-apart)) {
			continue
		}
		if i+1 == len(r.all) || t.Before(r.all[i+1].begun.Add(apart)) {
			return true
		}
	}
	return false
}
