package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// An accessLog is the log of a site's server. The site closed.test has a group for mybot
// that forbids everything.
type accessLog struct {
	address string

	mu   sync.Mutex // guards seen: sites are requested at the same time
	seen []seenRequest
}

type seenRequest struct{ host, path, agent, from string }

func newAccessLog(t *testing.T) *accessLog {
	l := &accessLog{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.seen = append(l.seen, seenRequest{r.Host, r.URL.Path, r.UserAgent(), r.Header.Get("From")})
		l.mu.Unlock()
		if r.URL.Path == "/robots.txt" && r.Host == "closed.test" {
			fmt.Fprint(w, "User-agent: mybot\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>A page</title>")
	}))
	t.Cleanup(server.Close)
	l.address = strings.TrimPrefix(server.URL, "http://")
	return l
}

func (l *accessLog) lines() []seenRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}
