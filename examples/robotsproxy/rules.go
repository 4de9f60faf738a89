package main

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/robots"
)

// rules are the rules of one site.
type rules struct {
	mu   sync.Mutex // held while robots.txt is fetched, so that concurrent requests fetch it once
	last *robots.Snapshot
}

// group returns the rules for this client from the robots.txt that is in force now. at is the
// URL of the robots.txt.
func (p *proxy) group(ctx context.Context, at string) *robots.Group {
	site, _ := p.sites.LoadOrStore(at, &rules{})
	r := site.(*rules)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || !time.Now().Before(r.last.Expires(p.policy)) {
		r.last = p.ask(context.WithoutCancel(ctx), at).After(r.last)
	}
	return r.last.Group(p.policy, time.Now())
}

func (p *proxy) ask(ctx context.Context, at string) *robots.Snapshot {
	s := &robots.Snapshot{URL: at, Fetched: time.Now(), Failure: "connect"}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return s
	}
	req.Header.Set("User-Agent", p.policy.Token)
	resp, err := p.client.Do(req)
	if err != nil {
		return s
	}
	defer resp.Body.Close()
	s.Fetched, s.Status, s.Failure, s.Header = time.Now(), resp.StatusCode, "", robots.ReadHeader(resp.Header.Get)
	s.Header.RetryAfter = fetch.ParseRetryAfter(resp.Header.Get("Retry-After"), s.Fetched)
	if s.Body, err = io.ReadAll(io.LimitReader(resp.Body, robots.MaxBytes+1)); err != nil {
		s.Body, s.Failure = nil, "truncated"
	}
	s.Cut = len(s.Body) > robots.MaxBytes
	return s
}
