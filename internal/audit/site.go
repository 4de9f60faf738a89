package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Request is one request to the host Options.Site. The names of its fields in JSON never
// change.
type Request struct {
	Line   int64     `json:"line"`
	Time   time.Time `json:"time"` // start of the request
	URL    string    `json:"url"`
	Status int       `json:"status"`          // HTTP status, or a negative code of the log
	Error  string    `json:"error,omitempty"` // why the request failed, from the log
	Bytes  int64     `json:"bytes"`           // size of the answer as it was sent over the wire
	Took   float64   `json:"took_seconds"`    // seconds from the start to the end
	For    string    `json:"for,omitempty"`   // "robots": for a robots.txt; "use": for a tdmrep.json or a license document; absent: for another URL

	// Kept is the time in seconds since the end of the last answer of the same scheme, host and
	// port. It is absent in the first request.
	Kept  *float64       `json:"kept_seconds,omitempty"`
	Asked float64        `json:"asked_seconds,omitempty"` // the required pause in seconds, from the line
	Clock frontier.Clock `json:"clock,omitempty"`         // the clock that required the pause

	Robots string `json:"robots,omitempty"` // fetch time of the robots.txt in force; absent if For is set
	Rule   string `json:"rule,omitempty"`   // the rule that allows or forbids the URL
}

// A Copy is a stored robots.txt, or the result of a failed attempt to fetch it.
type Copy struct {
	Site    string    `json:"site"`
	Fetched time.Time `json:"fetched"`
	Status  int       `json:"status"`
	Failure string    `json:"failure,omitempty"`
	Bytes   int       `json:"bytes"`
	SHA256  string    `json:"sha256"`         // SHA-256 of the body, in hexadecimal
	Delay   float64   `json:"delay_seconds"`  // the pause that the copy requires, in seconds
	Expires time.Time `json:"expires"`        // time after which the copy had to be fetched again
	Body    string    `json:"body,omitempty"` // text of the copy, in which invalid UTF-8 is replaced by U+FFFD
}

func (a *auditor) row(s *site, r *request, k pausing) Request {
	row := Request{
		Line: r.line, Time: r.start, URL: r.url.String(), Status: r.status, Error: string(r.failure), Bytes: max(0, r.size),
		Took: r.end.Sub(r.start).Seconds(), Asked: r.asked.Seconds(), Clock: r.clock,
	}
	if k.any {
		seconds := k.pause.Seconds()
		row.Kept = &seconds
	}
	switch {
	case r.use:
		row.For = "use"
	case r.robots:
		row.For = "robots"
	}
	if r.robots || s.copies.now == nil {
		return row
	}
	row.Robots = stamp(s.copies.now.Fetched)
	v := s.copies.rules(&a.runs.all[r.run].at(r.site).policy, r.start).Match(r.url.Target())
	row.Rule = because(v)
	return row
}

// because returns the rule that led to a verdict.
func because(v robots.Verdict) string {
	word := "Disallow"
	if v.Rule.Allow {
		word = "Allow"
	}
	if v.Rule.Line == 0 {
		return v.Reason.String()
	}
	return fmt.Sprintf("line %d: %s: %s", v.Rule.Line, word, clip(v.Rule.Pattern))
}

// tellCopies calls Options.Copy for each stored copy of the robots.txt of a site.
func (a *auditor) tellCopies(site frontier.Site) error {
	policy := a.runs.all[len(a.runs.all)-1].at(site).policy
	for s, err := range a.Robots(site) {
		if err != nil {
			return err
		}
		digest := sha256.Sum256(s.Body)
		err := a.Copy(Copy{
			Site: string(site), Fetched: s.Fetched.UTC(), Status: s.Status, Failure: s.Failure, Bytes: len(s.Body),
			SHA256: hex.EncodeToString(digest[:]), Delay: gapOf(s.Group(policy, s.Fetched)).pause.Seconds(),
			Expires: s.Expires(policy).UTC(), Body: string(s.Body),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
