package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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
			return usage("%v", err)
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
		return usage("%v", err)
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
		return v, usage("--agent: the name is empty")
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
					return v, usage("--delay: %v", err)
				}
			}
		}
		v.Delay = max(0, o.Delay)
	}
	if f.robots != "" {
		body, err := p.readFile(f.robots)
		if err != nil {
			return v, usage("--robots: %v", err)
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
	w := &lines{w: p.out, width: terminalWidth(p.out)}
	if r.Requests == 0 {
		w.told("audited", "%s: none of %s is of %s", r.Log, plural(int(r.Lines), "line"), cmp.Or(r.Agent, "a request"))
		for _, text := range r.Remarks {
			w.told("remark", "%s", text)
		}
		return w.err
	}
	w.told("audited", "%s of %s: %d of %s, from %s to %s", r.Log, cmp.Or(r.Agent, "all"), r.Requests, plural(int(r.Lines), "line"), r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339))
	for _, n := range r.Names {
		w.told("name", "%s: %s", n.Name, plural(int(n.Count), "request"))
	}
	for _, n := range r.Addresses {
		w.told("address", "%s: %s", n.Name, plural(int(n.Count), "request"))
	}
	for i := range r.Hosts {
		w.host(&r.Hosts[i])
	}
	w.checks(r.Checks)
	for _, text := range r.Remarks {
		w.told("remark", "%s", text)
	}
	w.violations(r.Log, r.Violations, r.Violated)
	w.result(r.Violated)
	return w.err
}

// host prints how one host was crawled.
func (l *lines) host(h *audit.Host) {
	first := "robots.txt never requested"
	switch {
	case h.Robots > 0 && h.Unannounced > 0:
		first = fmt.Sprintf("robots.txt requested after %s", plural(int(h.Unannounced), "request"))
	case h.Robots > 0:
		first = fmt.Sprintf("robots.txt requested first, %s", often(h.Robots))
	}
	var status []string
	for _, s := range h.Status {
		status = append(status, fmt.Sprintf("%s: %d", s.Name, s.Count))
	}
	l.told("host", "%s: %s, %s; answers %s", cmp.Or(h.Name, "(not named)"), plural(int(h.Requests), "request"), first, strings.Join(status, ", "))
	at := ""
	if h.AtOnce > 1 {
		at = fmt.Sprintf(", from %d addresses within one second", h.AtOnce)
	}
	l.told("pace", "%.2f requests a second in the mean, at most %d in a second and %d in a minute%s", h.PerSecond, h.Second, h.Minute, at)
	if h.Soonest != nil {
		l.told("rests", "%s 429 or 503; the next request came %s after one at the soonest", plural(int(h.Rests), "answer"), inSeconds(*h.Soonest))
	}
}

func often(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
