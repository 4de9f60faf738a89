package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// A Crawl is the crawl that clients control.
type Crawl interface {
	Status() crawler.Status
	Pause(reason string) error
	Resume(reason string) error
	Slow(of string, delay time.Duration, reason string) error
	Exclude(of, reason string) error
	Seed(reason string, seeds ...string) error
	Limit(reason string, change func(*crawler.Limits)) error
}

// An Ask is the body of a request that steers the crawl.
type Ask struct {
	Of     string            `json:"of,omitempty"`     // slow, exclude: a site or a host; with slow, empty means all sites
	Delay  string            `json:"delay,omitempty"`  // slow: a duration such as 10s
	Seeds  []string          `json:"seeds,omitempty"`  // add
	Limits map[string]string `json:"limits,omitempty"` // limit: values by names of settings
	Reason string            `json:"reason,omitempty"`
}

// A refusal is the body of an answer that is not a success.
type refusal struct {
	Error string `json:"error"`
	Ended bool   `json:"ended,omitempty"` // the run has ended
}

// maxBody is the maximum size of a request's body, in bytes.
const maxBody = 1 << 20

// Handler returns the handler of a crawl's socket: GET /status, /metrics and /healthz, and POST
// /pause, /resume, /slow, /exclude, /add and /limit with an Ask.
func Handler(c Crawl) *http.ServeMux {
	cache := &statusCache{crawl: c}
	mux := Metrics(cache.status)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, cache.status()) })
	for path, do := range map[string]func(Ask) error{
		"/pause":   func(a Ask) error { return c.Pause(a.Reason) },
		"/resume":  func(a Ask) error { return c.Resume(a.Reason) },
		"/exclude": func(a Ask) error { return c.Exclude(a.Of, a.Reason) },
		"/add":     func(a Ask) error { return c.Seed(a.Reason, a.Seeds...) },
		"/limit":   func(a Ask) error { return limit(c, a) },
		"/slow": func(a Ask) error {
			delay, err := time.ParseDuration(a.Delay)
			if err != nil {
				return fmt.Errorf("%q is no duration: write it as 500ms, 10s or 1h30m", a.Delay)
			}
			return c.Slow(a.Of, delay, a.Reason)
		},
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			handle(w, r, do)
			cache.forget()
		})
	}
	return mux
}

// limit sets all limits of the request a, or none if one is invalid.
func limit(c Crawl, a Ask) error {
	for name, text := range a.Limits {
		if err := setLimit(new(crawler.Limits), name, text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return c.Limit(a.Reason, func(l *crawler.Limits) {
		for name, text := range a.Limits {
			_ = setLimit(l, name, text) // checked above
		}
	})
}

func handle(w http.ResponseWriter, r *http.Request, do func(Ask) error) {
	var ask Ask
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	in.DisallowUnknownFields()
	if err := in.Decode(&ask); err != nil && !errors.Is(err, io.EOF) {
		code := http.StatusBadRequest
		if large := new(http.MaxBytesError); errors.As(err, &large) {
			code = http.StatusRequestEntityTooLarge
		}
		answer(w, code, refusal{Error: fmt.Sprintf("the request cannot be read: %v", err)})
		return
	}
	var option *crawler.OptionError
	var faster *frontier.FasterError
	switch err := do(ask); {
	case err == nil:
		answer(w, http.StatusOK, struct{}{})
	case errors.Is(err, crawler.ErrEnded):
		answer(w, http.StatusConflict, refusal{err.Error(), true})
	case errors.As(err, &faster):
		answer(w, http.StatusConflict, refusal{Error: strings.TrimPrefix(err.Error(), "frontier: ")})
	case errors.As(err, &option):
		answer(w, http.StatusBadRequest, refusal{Error: option.Reason})
	case errors.Is(err, context.DeadlineExceeded): // the change applies, and is not stored
		answer(w, http.StatusInternalServerError, refusal{Error: err.Error()})
	default:
		answer(w, http.StatusBadRequest, refusal{Error: err.Error()})
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client has left
}

// A statusCache keeps the status of a crawl for a short time, so that requests of many clients
// cost only one call of Status.
type statusCache struct {
	crawl Crawl

	mu   sync.Mutex // guards the fields below; held during Status, so that concurrent clients share one call
	last crawler.Status
	at   time.Time
}

// maxAge is how old a cached status may be.
const maxAge = 200 * time.Millisecond

// forget drops the cached status. So a client that has changed something sees the change.
func (l *statusCache) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

func (l *statusCache) status() crawler.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() || time.Since(l.at) > maxAge {
		l.last = l.crawl.Status()
		l.at = time.Now()
	}
	return l.last
}
