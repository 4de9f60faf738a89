package progress

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
)

// Events writes the events of a run, one JSON object on each line, for standard error with
// --progress json. Any text that is written to it becomes a note, so that a program need not
// tell events and other lines apart. It is safe for concurrent use.
type Events struct {
	W     io.Writer
	Every time.Duration // between two events of progress

	mu   sync.Mutex // guards the fields below and W, so that lines do not mix
	note []byte     // the beginning of an unfinished line
	end  endEvent   // the event that Last will write, with what is known so far
}

// An event has the fields that all events have. Fields are added, but never renamed. If the
// meaning of a field changes, Version changes.
type event struct {
	Version int       `json:"version"`
	Event   string    `json:"event"`
	Time    time.Time `json:"time"`
}

const eventVersion = 2

func newEvent(name string) event { return event{eventVersion, name, time.Now().UTC()} }

type startEvent struct {
	event
	Dir   string `json:"dir"`
	Token string `json:"token"`
	Seeds int    `json:"seeds"`
}

type noteEvent struct {
	event
	Text string `json:"text"`
}

// A progressEvent has figures of this run, except Queued and Again, which count URLs of the
// whole crawl.
type progressEvent struct {
	event
	Seconds  float64      `json:"seconds"`
	Pages    int          `json:"pages"`
	Rate     float64      `json:"pages_per_second"`
	Bytes    int64        `json:"bytes"`
	Requests int          `json:"requests"`
	Queued   int          `json:"queued"`
	Again    int          `json:"again,omitempty"` // URLs that will be fetched again
	Busy     int          `json:"busy"`
	Failed   int          `json:"failed_requests"`
	Links    int          `json:"skipped_links"`
	URLs     int          `json:"skipped_urls"`
	Waiting  *eventOfSite `json:"waiting,omitempty"` // the site that is due next, if no request is under way
	Asking   *eventOfSite `json:"asking,omitempty"`  // the site with the longest request under way
}

type eventOfSite struct {
	Site    string  `json:"site"`
	Clock   string  `json:"clock,omitempty"`
	Seconds float64 `json:"seconds"`
}

type endEvent struct {
	event
	Code     int    `json:"code"`
	End      string `json:"end,omitempty"` // left out if no run has begun, or if the run failed
	Pages    int    `json:"pages"`
	Requests int    `json:"requests"`
	Bytes    int64  `json:"bytes"`
	Queued   int    `json:"queued"`
	Again    int    `json:"again,omitempty"`
	Early    int    `json:"early_requests"`
}

// put writes an event.
func (e *Events) put(of any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = say.Object(e.W, of) // if the reader has left, the crawl goes on
}

// Write writes each complete line as a note.
func (e *Events) Write(text []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.note = append(e.note, text...); !strings.HasSuffix(string(text), "\n") {
		return len(text), nil
	}
	note := strings.TrimPrefix(strings.TrimSpace(string(e.note)), "crawl: ")
	e.note = nil
	if note == "" {
		return len(text), nil
	}
	return len(text), say.Object(e.W, noteEvent{newEvent("note"), note})
}

// Start writes the first event of a run with these options.
func (e *Events) Start(opts crawler.Options) {
	e.put(startEvent{newEvent("start"), opts.Dir, opts.Identity.Token, len(opts.Seeds)})
}

// Progress writes an event with the figures of v.
func (e *Events) Progress(v *View) {
	s := v.Stats
	of := progressEvent{
		event: newEvent("progress"), Seconds: v.Since.Seconds(), Pages: s.Pages, Rate: v.rate(), Bytes: s.Bytes, Requests: s.Requests,
		Queued: s.Frontier.Entries, Again: s.Frontier.Again, Busy: s.Frontier.Out, Failed: say.Sum(s.Errors), Links: say.Sum(s.SkippedLinks), URLs: say.Sum(s.SkippedURLs),
	}
	if wait := s.Frontier.NextDue.Sub(v.Now); s.Frontier.Out == 0 && !s.Frontier.NextDue.IsZero() && wait > 0 {
		of.Waiting = &eventOfSite{string(s.Frontier.NextSite), string(s.Frontier.NextBy), wait.Seconds()}
	}
	if v.asked >= longAsked {
		of.Asking = &eventOfSite{string(v.old), "", v.asked.Seconds()}
	}
	e.put(of)
}

// Ended keeps the result of a run, for the event that Last writes.
func (e *Events) Ended(s crawler.Summary) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.end = endEvent{End: string(s.End), Pages: s.Pages, Requests: s.Requests, Bytes: s.Bytes, Queued: s.Frontier.Entries, Again: s.Frontier.Again, Early: s.Frontier.Polite.Early}
}

// Last writes the last event, with the exit code of the command.
func (e *Events) Last(code int) {
	e.mu.Lock()
	end := e.end
	e.mu.Unlock()
	end.event, end.Code = newEvent("end"), code
	e.put(end)
}
