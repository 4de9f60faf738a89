package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// maxBody is the largest part of a body that is read, in bytes.
const maxBody = 4 << 20

// A page is an answer, or the error in place of it.
type page struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// visit makes the one request of a turn: for robots.txt if the copy is missing or too old, or
// else for the URL of the turn, if robots.txt allows it.
func (c *crawl) visit(ctx context.Context, turn *frontier.Turn) (page, frontier.Outcome) {
	var rules *robots.Snapshot
	if s, ok := c.rules.Load(turn.Site()); ok {
		rules = s.(*robots.Snapshot)
	}
	now := time.Now()
	group := rules.Group(c.policy, now)
	if !now.Before(rules.Expires(c.policy)) {
		return page{}, c.refresh(ctx, turn, group, rules)
	}
	switch v := group.Match(turn.Entry().URL.Target()); v.Access {
	case robots.Disallow:
		return page{}, frontier.Outcome{Fate: frontier.Fate{Code: frontier.RobotsDisallowed, Detail: fmt.Sprint(v.Reason, " ", v.Rule)}}
	case robots.Defer:
		return page{}, frontier.Outcome{Again: true, Defer: v.Until}
	}
	p, o := c.get(ctx, turn, group, turn.Entry().URL.String())
	o.Fate = frontier.Fate{Code: frontier.Fetched, Status: p.status}
	if o.Trouble != frontier.NoTrouble {
		o.Fate.Code = frontier.Failed // the fate counts after the last try
	}
	if p.err != nil {
		o.Fate.Code, o.Fate.Detail = frontier.Failed, p.err.Error()
	}
	return p, o
}

// refresh requests robots.txt. The frontier hands out the URL of the turn again.
func (c *crawl) refresh(ctx context.Context, turn *frontier.Turn, group *robots.Group, last *robots.Snapshot) frontier.Outcome {
	at := string(turn.Site()) + "/robots.txt"
	p, o := c.get(ctx, turn, group, at)
	o.Again = true
	if o.Request == nil {
		return o
	}
	s := &robots.Snapshot{URL: at, Fetched: o.Request.Ended, Status: p.status, Header: robots.ReadHeader(p.header.Get)}
	s.Header.RetryAfter = o.RetryAfter
	if p.err != nil {
		s.Failure = "connect"
	} else {
		s.Body, s.Cut = p.body[:min(len(p.body), robots.MaxBytes)], len(p.body) > robots.MaxBytes
	}
	s = s.After(last)
	c.rules.Store(turn.Site(), s)
	if v := s.Group(c.policy, time.Now()).Match("/"); v.Access == robots.Defer {
		o.Defer, o.RobotsFailures = v.Until, s.Failures
	}
	return o
}

// get requests url. If the outcome has no request, none was permitted yet.
func (c *crawl) get(ctx context.Context, turn *frontier.Turn, group *robots.Group, url string) (p page, o frontier.Outcome) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return page{err: err}, o
	}
	req.Header.Set("User-Agent", c.policy.Token+"/1.0 (+https://example.org/"+c.policy.Token+")")
	delay, _ := group.CrawlDelay()
	o.Gap = &frontier.Gap{For: delay, By: frontier.CrawlDelayClock}
	addr, err := c.addr(ctx, turn.Site().Host())
	if turn.Pace(*o.Gap) != nil || turn.Bind(addr, fetch.Public(addr)) != nil { // a *frontier.NotYet
		return p, frontier.Outcome{Again: true}
	}
	o.Request = &frontier.Request{Started: time.Now()}
	var resp *http.Response
	if err == nil {
		resp, err = c.client.Do(req)
	}
	if err == nil {
		o.Request.FirstByte = time.Now()
		p.status, p.header = resp.StatusCode, resp.Header
		p.body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
		resp.Body.Close()
	}
	p.err = err
	o.Request.Ended, o.Request.Bytes = time.Now(), int64(len(p.body))
	o.RetryAfter = fetch.ParseRetryAfter(p.header.Get("Retry-After"), o.Request.Ended)
	switch {
	case p.status == http.StatusTooManyRequests || p.status == http.StatusServiceUnavailable:
		o.Trouble = frontier.SiteTrouble
	case p.status == 0:
		o.Trouble = frontier.ConnectTrouble
	case p.err != nil || p.status/100 == 5:
		o.Trouble = frontier.PageTrouble
	}
	return p, o
}

// addr returns the address of a host, the same for the whole run.
func (c *crawl) addr(ctx context.Context, host string) (netip.Addr, error) {
	if known, ok := c.addrs.Load(host); ok {
		return known.(netip.Addr), nil
	}
	found, err := c.lookup(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	c.addrs.Store(host, found[0].Unmap())
	return found[0].Unmap(), nil
}

// dial connects to the address that the turn was bound to.
func (c *crawl) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addr, err := c.addr(ctx, host)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
}

// links returns the entries to queue for the links of a page to its own site.
func (c *crawl) links(p page, e frontier.Entry) (found []frontier.Entry) {
	add := func(u frontier.URL, hop frontier.Hop) {
		if u.Site() == e.URL.Site() {
			found = append(found, e.Found(u, hop))
		}
	}
	if to, err := e.URL.Resolve(p.header.Get("Location")); err == nil && p.status/100 == 3 && e.Redirects() < frontier.MaxRedirects {
		add(to, frontier.HopRedirect)
	}
	media := fetch.ParseMediaType(p.header["Content-Type"])
	if p.status/100 != 2 || !extract.IsHTML(media.Type) {
		return found
	}
	text, charset := extract.DecodeAs(p.body, media.Type, media.Charset)
	doc := extract.HTML(text, e.URL, media.Type, extract.Options{Token: c.policy.Token, Charset: charset})
	if doc.Directives.NoFollow || robots.HeaderDirectives(c.policy.Token, p.header["X-Robots-Tag"]).NoFollow {
		return found
	}
	for _, l := range doc.Links {
		if !l.NoFollow {
			add(l.URL, frontier.HopLink)
		}
	}
	return found
}
