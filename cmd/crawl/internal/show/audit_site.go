package show

import (
	"fmt"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
)

// A siteAnswer is the summary for the owner of a site, after all requests. The names of its
// fields are never changed.
type siteAnswer struct {
	Site       string    `json:"site"`
	Token      string    `json:"token"`
	Contact    string    `json:"contact"`
	Requests   int       `json:"requests"`
	Robots     int       `json:"robots_requests"`
	Use        int       `json:"use_requests"` // for tdmrep.json and licenses
	Bytes      int64     `json:"bytes"`
	First      time.Time `json:"first,omitzero"`
	Last       time.Time `json:"last,omitzero"`
	Pauses     int       `json:"pauses"` // between two requests to one scheme, host and port; the next three are about these pauses
	Least      float64   `json:"least_pause_seconds"`
	Median     float64   `json:"median_pause_seconds"`
	Most       float64   `json:"most_pause_seconds"`
	Violations int64     `json:"violations"`
}

// A Site prints the requests to one host as an audit reads them.
type Site struct {
	W      *say.Lines
	json   bool
	answer siteAnswer
	pauses []float64
	broken []audit.Violation
}

// NewSite returns a Site that prints the requests to one host to w: as JSON, or for people.
func NewSite(w *say.Lines, host string, json bool) *Site {
	return &Site{W: w, json: json, answer: siteAnswer{Site: host}}
}

// Request prints a request.
func (s *Site) Request(r audit.Request) error {
	a := &s.answer
	if a.Requests++; a.Requests == 1 {
		a.First = r.Time.UTC()
		if !s.json {
			s.W.Line("requests", "line, time, status, bytes, seconds since the last answer (asked, by which clock), URL, rule")
		}
	}
	switch r.For {
	case "robots":
		a.Robots++
	case "use":
		a.Use++
	}
	a.Bytes += r.Bytes
	a.Last = r.Time.UTC()
	if r.Kept != nil {
		s.pauses = append(s.pauses, *r.Kept)
	}
	if s.json {
		return say.Object(s.W.W, struct {
			Request audit.Request `json:"request"`
		}{r})
	}
	kept, asked, rule := "-", "", ""
	if r.Kept != nil {
		kept = fmt.Sprintf("%.3f", *r.Kept)
	}
	if r.Clock != frontier.NoClock {
		asked = fmt.Sprintf(" (%.3f %s)", r.Asked, r.Clock)
	}
	if r.Robots != "" {
		rule = " robots.txt of " + r.Robots + ", " + r.Rule
	}
	s.W.Told("", "%d %s %d %d %s%s %s%s", r.Line, r.Time.UTC().Format("2006-01-02T15:04:05.000Z"), r.Status, r.Bytes, kept, asked, r.URL, rule)
	return s.W.Err
}

// Copy prints that a robots.txt was fetched at this point.
func (s *Site) Copy(c audit.Copy) error {
	if s.json {
		return say.Object(s.W.W, struct {
			Robots audit.Copy `json:"robots"`
		}{c})
	}
	came := fmt.Sprint(c.Status)
	if c.Failure != "" {
		came = c.Failure
	}
	asks := ""
	if c.Delay > 0 {
		asks = fmt.Sprintf(", asks for %s between two requests", say.InSeconds(c.Delay))
	}
	s.W.Told("robots.txt", "of %s at %s: %s, %s%s, sha256 %s", c.Site, c.Fetched.Format(time.RFC3339), came, say.Size(int64(c.Bytes)), asks, c.SHA256)
	return s.W.Err
}

// Violation keeps a violation if it is about the host. A violation of the pause of an
// address or a domain may be about another host.
func (s *Site) Violation(v *audit.Violation) error {
	if u, err := frontier.ParseURL(v.URL); v.URL != "" && (err != nil || u.Host() != s.answer.Site) {
		return nil
	}
	s.answer.Violations++
	if s.json {
		return say.Object(s.W.W, struct {
			Violation *audit.Violation `json:"violation"`
		}{v})
	}
	if len(s.broken) < say.MaxProblems {
		s.broken = append(s.broken, *v)
	}
	return nil
}

// End prints the summary.
func (s *Site) End(r *audit.Report) error {
	a := &s.answer
	a.Token, a.Contact = r.Token, r.Contact
	slices.Sort(s.pauses)
	if a.Pauses = len(s.pauses); a.Pauses > 0 {
		a.Least, a.Median, a.Most = s.pauses[0], s.pauses[a.Pauses/2], s.pauses[a.Pauses-1]
	}
	if s.json {
		return say.Object(s.W.W, struct {
			Answer siteAnswer `json:"answer"`
		}{*a})
	}
	w := s.W
	if a.Requests == 0 {
		w.Told("result", "this crawl sent no request to %s", a.Site)
		return w.Err
	}
	w.Told("asked", "%s as %s (%s): %s, %s, %s, from %s to %s", a.Site, a.Token, a.Contact, say.Plural(a.Requests, "request"), ofThem(a.Robots, a.Use), say.Size(a.Bytes), a.First.Format(time.RFC3339), a.Last.Format(time.RFC3339))
	if a.Pauses > 0 {
		w.Told("pauses", "least %s, median %s, most %s", say.InSeconds(a.Least), say.InSeconds(a.Median), say.InSeconds(a.Most))
	}
	violationLines(w, r.Log, s.broken, a.Violations)
	resultLine(w, a.Violations)
	return w.Err
}

// Violations returns how many violations are about the host.
func (s *Site) Violations() int64 { return s.answer.Violations }
