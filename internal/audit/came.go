package audit

import (
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/robots"
)

// An arrival is a log line that may have fetched a robots.txt: a request for the robots.txt of
// a site, or for the target of its redirects on any site.
type arrival struct {
	line     int64
	run      int
	end      time.Time // end of the request to the millisecond, as in the copy that was fetched by the request
	status   int
	digest   string // SHA-1 of the body; empty if the log does not have it
	redirect bool
}

// mostArrivals is how many arrivals are kept for a site. The line that fetched a copy is among
// the last arrivals. The others are lines of the copy's redirects, and of other sites that
// needed the same robots.txt.
const mostArrivals = 64

// arrived adds a request for a robots.txt to the arrivals of the site that received the
// request, and of the site that needed the robots.txt. It skips sites of other hosts.
func (a *auditor) arrived(h *host, r *request) {
	if !r.robots || r.use {
		return
	}
	x := arrival{r.line, r.run, r.ended, r.status, r.digest, redirected(r)}
	if r.failure != "" {
		x.digest = ""
	}
	if r.site.Host() == h.name {
		a.siteOf(h, r.site).arrive(x)
	}
	if r.via != r.site && r.via.Host() == h.name {
		a.siteOf(h, r.via).arrive(x)
	}
}

func (s *site) arrive(x arrival) {
	if len(s.arrivals) == mostArrivals {
		s.arrivals = slices.Delete(s.arrivals, 0, 1)
	}
	s.arrivals = append(s.arrivals, x)
}

// An origin says where a stored copy of robots.txt comes from.
type origin int

const (
	byLine  origin = iota // a line of the log has fetched the copy, or this cannot be known
	byKill                // the line of the copy may have been lost in a kill, or was removed with a part of the log
	unasked               // the copy was made without a request, because no request was allowed
	unknown               // no line has fetched the copy
)

// settle finds the origin of each new copy of a site that was fetched before the time by, or of
// all new copies if by is zero. It must be called after all lines that may have fetched these
// copies were read.
func (a *auditor) settle(s *site, by time.Time) error {
	for len(s.copies.fresh) > 0 && (by.IsZero() || s.copies.fresh[0].Fetched.Before(by)) {
		if err := a.came(s, s.copies.fresh[0]); err != nil {
			return err
		}
		s.copies.fresh = s.copies.fresh[1:]
	}
	return nil
}

// settleAll calls settle for all remaining copies of a site.
func (a *auditor) settleAll(s *site) error {
	err := a.settle(s, time.Time{})
	for err == nil && s.copies.err == nil && s.copies.later != nil {
		s.copies.forward()
		err = a.settle(s, time.Time{})
	}
	return errors.Join(err, s.copies.err)
}

// came compares a copy that comes into force with the line that has fetched it. If the copy
// differs from its line, or no line has fetched it, that is a violation, in addition to the
// violations of the requests that rely on the copy.
func (a *auditor) came(s *site, c *robots.Snapshot) error {
	before, since := s.body, s.settled
	s.settled = c.Fetched
	if good := c.Good(); good != nil {
		s.body = digest(good.Body)
	}
	s.origin = byLine
	first := &a.runs.all[0]
	switch {
	case first.begun.IsZero(), a.runs.backAt(c.Fetched): // times cannot be compared: the beginning of the log is missing, or the clock was set back
		return nil
	case c.Fetched.Before(first.begun) && a.runs.carried:
		a.carried++
		return nil
	}
	a.checked(Evidence)
	at, led := c.Fetched.Truncate(time.Millisecond), since.Truncate(time.Millisecond)
	switch {
	case c.Copy != nil && before != "" && digest(c.Copy.Body) != before:
		return a.wrong(c, "keeps an earlier copy that is not the last one", nil)
	case c.Failure != "" && slices.ContainsFunc(s.arrivals, func(x arrival) bool { return x.redirect && !x.end.Before(led) }):
		return nil // the copy needs no line, because the robots.txt redirects to an excluded site
	case c.Failure == "redirect":
		s.origin = unasked
		return nil
	}
	fault, lines := "", []int64(nil)
	for _, x := range slices.Backward(s.arrivals) {
		if !x.end.Equal(at) {
			continue
		}
		is := a.differs(c, &x, before)
		if is == "" {
			return nil
		}
		if lines == nil { // of several lines with the same millisecond, the last fetched the copy
			fault, lines = is, []int64{x.line}
		}
	}
	switch {
	case lines != nil:
		return a.wrong(c, fault, lines)
	case a.runs.lost > 0 || a.runs.lostBy(a.runs.at(c.Fetched), c.Fetched):
		s.origin = byKill
		return a.unproven(0, "no line has fetched the robots.txt of %s of %s: a kill has taken it, or it was removed with a part of the log", s.name, stamp(c.Fetched))
	}
	s.origin = unknown
	return a.wrong(c, fmt.Sprintf("is stored as of %s, and no line of the log has fetched it", stamp(c.Fetched)), nil)
}

func (a *auditor) wrong(c *robots.Snapshot, text string, lines []int64) error {
	return a.violation(&Violation{
		Code: Evidence, Lines: lines, URL: c.URL, Time: c.Fetched.UTC(), Text: text, Rule: "each stored robots.txt is one that a line of the log has fetched",
	})
}

// differs returns how a copy differs from its line, or "" if they agree. The argument before
// is the digest of the last robots.txt that was served before this copy.
func (a *auditor) differs(c *robots.Snapshot, x *arrival, before string) string {
	is := digest(c.Body)
	switch {
	case c.Failure != "":
		return ""
	case x.status == http.StatusNotModified && c.Status != x.status:
		if before != "" && before != is {
			return fmt.Sprintf("has changed, to %s; its line says that it has not", is)
		}
		return ""
	case x.status != c.Status:
		return fmt.Sprintf("is stored with status %d; its line says %d", c.Status, x.status)
	case x.digest == "" && a.runs.all[x.run].records:
		return "has come by a line without its digest"
	case x.digest != "" && x.digest != is:
		return fmt.Sprintf("is stored with the digest %s; its line says %s", is, x.digest)
	}
	return ""
}

// digest returns the SHA-1 of a body as a crawl.log writes it.
func digest(body []byte) string {
	sum := sha1.Sum(body)
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}
