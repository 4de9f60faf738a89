package door

import (
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

// A Crawl is what the door leads to.
type Crawl interface {
	Status() crawler.Status
	Pause(reason string) error
	Resume(reason string) error
	Slow(of string, delay time.Duration, reason string) error
	Exclude(of, reason string) error
	Seed(reason string, seeds ...string) error
	Limit(reason string, change func(*crawler.Limits)) error
}

// An Ask is what a crawl is told: the body of a request.
type Ask struct {
	Of     string            `json:"of,omitempty"`     // slow, exclude: a site, a host; of slow empty: all
	Delay  string            `json:"delay,omitempty"`  // slow: as 10s
	Seeds  []string          `json:"seeds,omitempty"`  // add
	Limits map[string]string `json:"limits,omitempty"` // limit: by the names of settings
	Reason string            `json:"reason,omitempty"`
}

// A refusal is the body of an answer that is no success.
type refusal struct {
	Error string `json:"error"`
	Ended bool   `json:"ended,omitempty"` // the run has ended: begin another one
}

// maxBody is how large a request may be, in bytes.
const maxBody = 1 << 20

// Rooms is what the door of a crawl leads to: GET /status, /metrics and /healthz, and
// POST /pause, /resume, /slow, /exclude, /add and /limit with an Ask.
func Rooms(c Crawl) *http.ServeMux {
	look := &looks{crawl: c}
	mux := Looks(look.status)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, look.status()) })
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
			order(w, r, do)
			look.forget()
		})
	}
	return mux
}

// limit sets all limits of an Ask, or none.
func limit(c Crawl, a Ask) error {
	for name, text := range a.Limits {
		if err := new(crawler.Limits).Set(name, text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return c.Limit(a.Reason, func(l *crawler.Limits) {
		for name, text := range a.Limits {
			_ = l.Set(name, text) // as before
		}
	})
}

func order(w http.ResponseWriter, r *http.Request, do func(Ask) error) {
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
	default:
		answer(w, http.StatusBadRequest, refusal{Error: err.Error()})
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // who has left is not told
}

// looks asks a crawl for its status, for many who ask at once.
type looks struct {
	crawl Crawl

	mu   sync.Mutex // guards what follows; held to look, so that many looks are one
	last crawler.Status
	at   time.Time
}

// asYoung is how old a status may be: who asks faster gets the same.
const asYoung = 200 * time.Millisecond

// forget has the next one who asks look anew: whoever has changed something sees it.
func (l *looks) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

func (l *looks) status() crawler.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at.IsZero() || time.Since(l.at) > asYoung {
		l.last = l.crawl.Status()
		l.at = time.Now()
	}
	return l.last
}
