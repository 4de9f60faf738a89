package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// A Request is one request to the host of Options.Site. The names of its fields in JSON
// are never changed.
type Request struct {
	Line   int64     `json:"line"`
	Time   time.Time `json:"time"` // its start
	URL    string    `json:"url"`
	Status int       `json:"status"`          // or the negative code of the log
	Error  string    `json:"error,omitempty"` // as in the log
	Bytes  int64     `json:"bytes"`           // of the answer, as they came over the wire
	Took   float64   `json:"took"`            // seconds from start to end
	For    string    `json:"for,omitempty"`   // "robots" for a robots.txt, "use" for a tdmrep.json or a license

	// Since the end of the answer before to the same scheme, host and port: what was
	// kept, and what had to be, in seconds. Kept is absent for the first.
	Kept  *float64       `json:"kept,omitempty"`
	Asked float64        `json:"asked,omitempty"` // by the line
	Clock frontier.Clock `json:"clock,omitempty"` // that asked it

	Robots string `json:"robots,omitempty"` // when the robots.txt in force had come; absent where For is set
	Rule   string `json:"rule,omitempty"`   // that allows the URL, or forbids it
}

// A Copy is a robots.txt as it is stored, or what a try to get it came to.
type Copy struct {
	Site    string    `json:"site"`
	Fetched time.Time `json:"fetched"`
	Status  int       `json:"status"`
	Failure string    `json:"failure,omitempty"`
	Bytes   int       `json:"bytes"`
	SHA256  string    `json:"sha256"`         // of the body
	Delay   float64   `json:"delay_seconds"`  // that it asks between two requests
	Expires time.Time `json:"expires"`        // when it was to be asked for again
	Body    string    `json:"body,omitempty"` // as far as it is text
}

func (a *auditor) row(s *site, r *request, k kept) Request {
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

// because names what a verdict was decided by.
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

// tellCopies tells of all copies of a site.
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
