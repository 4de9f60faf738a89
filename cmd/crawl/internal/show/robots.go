package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/robots"
)

// Robots is a robots.txt with its meaning, as it is printed.
type Robots struct {
	URL        string    `json:"url"`
	Final      string    `json:"final,omitempty"`
	Fetched    time.Time `json:"fetched"`
	Status     int       `json:"status"`
	Failure    string    `json:"failure,omitempty"`
	Access     string    `json:"access"` // whether "/" may be fetched
	Reason     string    `json:"reason"`
	Agent      string    `json:"agent"`
	Dialect    string    `json:"dialect"`
	Group      []string  `json:"group,omitempty"`
	GroupLine  int       `json:"group_line,omitempty"`
	CrawlDelay float64   `json:"crawl_delay_seconds,omitempty"`
	Rate       float64   `json:"request_rate_seconds,omitempty"`
	VisitTime  []string  `json:"visit_time,omitempty"`
	Sitemaps   []string  `json:"sitemaps,omitempty"`
	Problems   int       `json:"problems"`
	Expires    time.Time `json:"expires"`
	Size       int       `json:"size"`
	Cut        bool      `json:"cut,omitempty"`
	Body       string    `json:"body,omitempty"`
}

// RobotsOf returns what is printed about a snapshot of robots.txt that is read by policy. It
// also returns the verdict on the path "/".
func RobotsOf(s *robots.Snapshot, policy robots.Policy) (Robots, robots.Verdict) {
	g := s.Group(policy, s.Fetched)
	v := g.Match("/")
	out := Robots{
		URL: s.URL, Final: s.Final, Fetched: s.Fetched.UTC(), Status: s.Status, Failure: s.Failure,
		Access: v.Access.String(), Reason: v.Reason.String(), Agent: policy.Token, Dialect: policy.Dialect.String(), Group: g.Names(), GroupLine: g.Line(),
		Expires: s.Expires(policy).UTC(), Size: len(s.Body), Cut: s.Cut, Body: string(s.Body),
	}
	if d, ok := g.CrawlDelay(); ok {
		out.CrawlDelay = d.Seconds()
	}
	if d, ok := g.RequestRate(); ok {
		out.Rate = d.Seconds()
	}
	if windows, ok := g.VisitTime(); ok {
		for _, w := range windows {
			out.VisitTime = append(out.VisitTime, fmt.Sprintf("%02d:%02d-%02d:%02d UTC", w.Start/60, w.Start%60, w.End/60, w.End%60))
		}
	}
	if f := s.File(policy.Dialect); f != nil && s.Status/100 == 2 {
		out.Sitemaps, out.Problems = f.Sitemaps(), len(f.Problems())
	}
	return out, v
}

// WriteRobots prints a robots.txt for people. out and v are what RobotsOf returns for s and
// policy; v is the verdict on "/".
func WriteRobots(w *say.Lines, out *Robots, v robots.Verdict, s *robots.Snapshot, policy robots.Policy) error {
	robotsLines(w, out, v, s, policy, "crawl robots lint --site")
	fileLines(w, out.Body)
	return w.Err
}

// robotsLines prints everything except the file itself. lint is the command that names the
// problems of the file.
func robotsLines(w *say.Lines, out *Robots, v robots.Verdict, s *robots.Snapshot, policy robots.Policy, lint string) {
	w.Line("asked", "%s at %s", out.URL, out.Fetched.Format(time.RFC3339))
	if out.Final != "" {
		w.Line("redirected", "to %s", out.Final)
	}
	w.Line("answered", "%s, %s", words.Answered(s), say.Size(int64(len(s.Body))))
	switch {
	case v.Access == robots.Defer:
		w.Line("means", "nothing of the site may be fetched before it answers")
	case len(out.Group) > 0:
		w.Line("group", "line %d: %s", out.GroupLine, strings.Join(out.Group, ", "))
	default:
		w.Line("means", "%s everything: %s", v.Access, out.Reason)
	}
	if policy.Dialect != robots.RFC9309 {
		w.Line("read by", "%s", policy.Dialect)
	}
	if out.CrawlDelay > 0 {
		w.Line("crawl-delay", "%gs", out.CrawlDelay)
	}
	if out.Rate > 0 {
		w.Line("rate", "a request in %gs", out.Rate)
	}
	if out.VisitTime != nil {
		w.Line("visit-time", "%s", strings.Join(out.VisitTime, ", "))
	}
	for _, m := range out.Sitemaps {
		w.Line("sitemap", "%s", m)
	}
	if out.Problems > 0 {
		w.Line("problems", "%d: %s names them", out.Problems, lint)
	}
	w.Line("expires", "%s", out.Expires.Format(time.RFC3339))
}

// fileLines prints a robots.txt after a blank line.
func fileLines(w *say.Lines, body string) {
	if body != "" && w.Err == nil {
		_, w.Err = fmt.Fprintf(w.W, "\n%s\n", strings.TrimRight(say.Printable(body), "\n"))
	}
}

// Kept is a robots.txt that a crawl has kept as it was fetched, in the form in which it is
// printed.
type Kept struct {
	Robots
	Digest  string    `json:"digest,omitempty"` // digest of the body
	Copy    time.Time `json:"copy,omitzero"`    // if robots.txt is unreachable: when the older robots.txt that is used instead was fetched
	Number  int       `json:"number"`
	Of      int       `json:"of"`
	InForce time.Time `json:"in_force_until,omitzero"` // when the crawl fetched the site's robots.txt again
}

// WriteKept is like WriteRobots, for a robots.txt that a crawl has kept.
func WriteKept(w *say.Lines, out *Kept, v robots.Verdict, s *robots.Snapshot, policy robots.Policy) error {
	keptLines(w, out)
	robotsLines(w, &out.Robots, v, s, policy, "with --raw, piped into crawl robots lint -, it")
	fileLines(w, out.Body)
	return w.Err
}

// keptLines prints which of the copies of the site's robots.txt this is.
func keptLines(w *say.Lines, out *Kept) {
	until := "the last one"
	if !out.InForce.IsZero() {
		until = "in force until " + out.InForce.Format(time.RFC3339)
	}
	w.Line("copy", "%d of %d, %s", out.Number, out.Of, until)
	if !out.Copy.IsZero() {
		w.Line("in force", "the copy of %s, %s, since there was no answer", out.Copy.Format(time.RFC3339), say.Size(int64(out.Size)))
	}
	if out.Digest != "" {
		w.Line("digest", "%s", out.Digest)
	}
}
