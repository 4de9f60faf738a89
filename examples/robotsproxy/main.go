// Command robotsproxy is an HTTP proxy that refuses requests that robots.txt forbids.
//
//	go run ./examples/robotsproxy examplebot &
//	http_proxy=http://localhost:8118 wget --user-agent=examplebot http://example.org/
//
// The proxy makes no pauses between requests: the client must do that. The proxy refuses
// tunnels (CONNECT), because it cannot see the requests inside a tunnel.
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/robots"
)

func main() {
	if len(os.Args) != 2 || robots.CheckToken(os.Args[1]) != nil {
		log.Fatal("usage: robotsproxy TOKEN")
	}
	log.Fatal(http.ListenAndServe("localhost:8118", newProxy(os.Args[1], http.DefaultTransport)))
}

type proxy struct {
	policy  robots.Policy
	client  http.Client // fetches robots.txt
	forward httputil.ReverseProxy
	sites   sync.Map // *rules by the URL of robots.txt
}

func newProxy(token string, out http.RoundTripper) *proxy {
	p := &proxy{policy: robots.Policy{Token: token}, client: http.Client{Transport: out, Timeout: time.Minute}}
	p.forward.Transport, p.forward.Rewrite = out, func(*httputil.ProxyRequest) {}
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _, _ := strings.Cut(strings.ReplaceAll(r.UserAgent(), "/", " "), " ")
	at, err := robots.Locate(r.URL.String())
	if r.Method == http.MethodConnect || err != nil {
		http.Error(w, "only http URLs pass", http.StatusNotImplemented)
		return
	}
	if !strings.EqualFold(token, p.policy.Token) {
		http.Error(w, "the User-Agent must begin with "+p.policy.Token, http.StatusForbidden)
		return
	}
	// The rules are compared with the path and query as the client wrote them, because the path
	// and query are sent to the server in this form.
	switch v := p.group(r.Context(), at).MatchURL(r.URL.String()); v.Access {
	case robots.Allow:
		p.forward.ServeHTTP(w, r)
	case robots.Disallow:
		http.Error(w, fmt.Sprintf("robots.txt forbids it: %s, line %d: %v", v.Reason, v.Rule.Line, v.Rule), http.StatusForbidden)
	default: // the rules are unknown, so the request is refused
		w.Header().Set("Retry-After", fmt.Sprintf("%.0f", max(1, time.Until(v.Until).Seconds())))
		http.Error(w, "robots.txt cannot be had: "+v.Reason.String(), http.StatusServiceUnavailable)
	}
}
