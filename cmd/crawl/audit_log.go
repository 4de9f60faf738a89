package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/robots"
)

// auditLog audits any crawler by the log of a server.
func (p *program) auditLog(f *auditFlags) error {
	v, err := p.visitor(f)
	if err != nil {
		return err
	}
	name := cmp.Or(f.accessLog, f.heritrixLog)
	in := p.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return exit.Usagef("%v", err)
		}
		defer file.Close()
		in = file
	}
	read := func(name string, in io.Reader) (*audit.Visited, error) { return v.Access(name, in) }
	if f.heritrixLog != "" {
		read = v.Heritrix
	}
	var r *audit.Visited
	p.meanwhile(readingLog(name), func() { r, err = read(name, in) })
	var line *audit.LineError
	if errors.As(err, &line) {
		return exit.Usagef("%v", err)
	}
	if err != nil {
		return err
	}
	if f.json {
		err = p.object(r)
	} else {
		err = p.visited(r)
	}
	return errors.Join(err, broken(r.Violated))
}

// visitor returns the crawler to audit, and the rules that were set for it.
func (p *program) visitor(f *auditFlags) (audit.Visitor, error) {
	v := audit.Visitor{Agent: strings.TrimSpace(f.agent)}
	if f.given("agent") && v.Agent == "" {
		return v, exit.Usagef("--agent: the name is empty")
	}
	if f.host != "" {
		host, err := hostOf("host", f.host)
		if err != nil {
			return v, err
		}
		v.Host = host
	}
	if f.delay != "" {
		var o crawler.Options
		for _, s := range o.Settings() {
			if s.Name == "delay" {
				if err := s.Set(f.delay); err != nil {
					return v, exit.Usagef("--delay: %v", err)
				}
			}
		}
		v.Delay = max(0, o.Delay)
	}
	if f.robots != "" {
		body, err := p.readFile(f.robots)
		if err != nil {
			return v, exit.Usagef("--robots: %v", err)
		}
		v.Robots = robots.Parse(body, f.as.Dialect)
		if v.Token = tokenOf(v.Agent, f.as.Dialect); v.Token != v.Agent {
			p.note("crawl: %q is no product token (RFC 9309, section 2.2.1): of %s counts the group for %q, or the one for all", v.Agent, f.robots, v.Token)
		}
	}
	return v, nil
}

// tokenOf returns the longest product token that a name begins with, as "MJ" of "MJ12bot".
// A robots.txt is read in the same way.
func tokenOf(name string, d robots.Dialect) string {
	for len(name) > 0 && d.CheckToken(name) != nil {
		name = name[:len(name)-1]
	}
	return name
}

// visited prints what a log shows about a crawler.
func (p *program) visited(r *audit.Visited) error {
	w := p.lines()
	if r.Requests == 0 {
		w.Told("audited", "%s: none of %s is of %s", r.Log, say.Plural(int(r.Lines), "line"), cmp.Or(r.Agent, "a request"))
		for _, text := range r.Remarks {
			w.Told("remark", "%s", text)
		}
		return w.Err
	}
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
