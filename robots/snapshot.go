package robots

import (
	"strings"
	"time"
)

// maxCopyAge is how long a good copy stays in force while robots.txt cannot
// be had: the 30 days of RFC 9309, 2.3.1.4.
const maxCopyAge = 30 * 24 * time.Hour

// Snapshot is what one attempt to get a site's robots.txt came to. It covers
// every outcome, so that callers have no special case: Group gives the rules
// in force, Expires the time to ask again.
//
// A Snapshot is plain data: encode it as you like, and treat one that is
// shared as immutable.
type Snapshot struct {
	URL     string    // where it was asked: the URL that Locate returned
	Final   string    // where redirects ended; "" if there were none
	Fetched time.Time // when the attempt ended
	Status  int       // the final HTTP status; 0 if there was no answer

	// Failure names why there was no usable answer, "" if there was one. Any
	// name will do; the usual ones are "dns", "connect", "tls", "timeout",
	// "truncated" for a body that ended early, and "redirect" for a loop, too
	// many hops or a location that cannot be followed, which dialect Google
	// takes for "no robots.txt".
	Failure string

	Header Header
	Body   []byte // decoded, at most MaxBytes
	Cut    bool   // the body was longer than MaxBytes

	// The remaining fields are set by After.

	Failures int       // unreachable attempts in a row, this one included
	Since    time.Time // when the first of them ended; zero if reachable
	Copy     *Snapshot // while unreachable: the last good copy, nil if none; it has no Copy itself

	// Mining is the last attempt to get the site's tdmrep.json, folded with After as
	// well; nil where nobody has asked for it. It has no Mining itself, and does not
	// count for Group.
	Mining *Snapshot
}

// Header holds the few header fields of an answer that matter.
type Header struct {
	CacheControl string
	Expires      string
	Date         string
	ETag         string
	LastModified string
	ContentType  string
	RetryAfter   time.Time // Retry-After as a point in time; zero if absent
	ObjectStore  string    // x-amz-request-id or x-guploader-uploadid, if present
}

// ReadHeader reads the fields of an answer to a request for robots.txt; get is the Get of
// an http.Header, or one like it. RetryAfter is left out: it depends on the clock, and
// package fetch reads it.
func ReadHeader(get func(name string) string) Header {
	h := Header{
		CacheControl: get("Cache-Control"), Expires: get("Expires"), Date: get("Date"),
		ETag: get("ETag"), LastModified: get("Last-Modified"), ContentType: get("Content-Type"),
		// The large object stores mark their own answers by these.
		ObjectStore: get("X-Amz-Request-Id"),
	}
	if h.ObjectStore == "" {
		h.ObjectStore = get("X-Guploader-Uploadid")
	}
	return h
}

// Policy says by which text a site is read, and for whom.
type Policy struct {
	Dialect Dialect
	Token   string   // the product token, see CheckToken
	Aliases []string // further names of the same crawler

	// AllowForbidden takes 401, 402, 403 and 451 for "no robots.txt", as RFC
	// 9309, 2.3.1.3, permits. By default they close the site, as the draft
	// of 1996 and "HTTP: The Definitive Guide" recommend. Dialect Google
	// always reads them, and every other 4xx but 429, as "no robots.txt".
	AllowForbidden bool
}

// outcome is the row of the table of outcomes that a snapshot belongs to.
type outcome uint8

const (
	unreachable outcome = iota // RFC 9309, 2.3.1.4
	success                    // 2.3.1.1
	missing                    // 2.3.1.3
	forbidden                  // 2.3.1.3, read as the draft of 1996, 3.1
)

func (s *Snapshot) outcome() outcome {
	if s == nil || s.Failure != "" {
		return unreachable
	}
	switch {
	case 200 <= s.Status && s.Status <= 299:
		return success
	case s.Status == 403 && s.objectMissing():
		return missing
	case s.Status == 401, s.Status == 402, s.Status == 403, s.Status == 451:
		return forbidden
	case s.Status == 408, s.Status == 421, s.Status == 425, s.Status == 429:
		return unreachable
	case 400 <= s.Status && s.Status <= 499:
		return missing
	}
	// 5xx, 1xx, a redirect that was not followed, 304 without a copy, 999.
	return unreachable
}

// outcomeIn is the outcome as the text of a dialect has it. Google's page counts
// every 4xx but 429, and redirects that lead nowhere, as no robots.txt.
func (s *Snapshot) outcomeIn(d Dialect) outcome {
	o := s.outcome()
	if d != Google || s == nil {
		return o
	}
	if s.Failure == "redirect" || s.Failure == "" && 400 <= s.Status && s.Status <= 499 && s.Status != 429 {
		return missing
	}
	return o
}

// objectMissing reports whether a 403 is how an object store that hides its
// listing says 404: its own error document, with its own request header.
func (s *Snapshot) objectMissing() bool {
	return s.Header.ObjectStore != "" && strings.Contains(string(s.Body), "<Code>AccessDenied</Code>")
}

// Reachable reports whether the attempt told what the site permits: its
// rules, that it has none, or that it forbids to know them. A nil Snapshot is
// not reachable.
func (s *Snapshot) Reachable() bool { return s.outcome() != unreachable }

// Good returns the snapshot whose Body is the last that the site served with
// success: s itself, its Copy or nil. Its ETag and LastModified are the ones
// for a conditional request.
func (s *Snapshot) Good() *Snapshot {
	switch {
	case s == nil:
		return nil
	case s.outcome() == success:
		return s
	}
	return s.Copy
}

// After folds a new attempt s onto prev, the snapshot held before (nil if
// there was none), and returns the snapshot to hold from now on. Neither
// argument is changed.
//
//   - 304 renews the good copy of prev; without one it counts as unreachable.
//   - An unreachable attempt keeps the good copy and is counted.
//   - Any other attempt stands for itself.
//
// Mining is that of prev.
func (s *Snapshot) After(prev *Snapshot) *Snapshot {
	good := prev.Good()
	if s.Status == 304 && s.Failure == "" && good != nil {
		n := *good
		n.URL, n.Final, n.Fetched = s.URL, s.Final, s.Fetched
		n.Header = good.Header.renewed(s.Header)
		n.Failures, n.Since, n.Copy, n.Mining = 0, time.Time{}, nil, prev.Mining
		return &n
	}
	n := *s
	n.Failures, n.Since, n.Copy = 0, time.Time{}, nil
	if prev != nil {
		n.Mining = prev.Mining
	}
	if s.Reachable() {
		return &n
	}
	n.Failures, n.Since = 1, s.Fetched
	if prev != nil && !prev.Reachable() {
		n.Failures = max(prev.Failures, 1) + 1
		n.Since = prev.since()
	}
	if good != nil {
		c := *good
		c.Failures, c.Since, c.Copy, c.Mining = 0, time.Time{}, nil, nil
		n.Copy = &c
	}
	return &n
}

// renewed returns h with the fields of a 304 in place of the old ones (RFC
// 9111, 3.2).
func (h Header) renewed(by Header) Header {
	for _, f := range [...]struct{ old, new *string }{
		{&h.CacheControl, &by.CacheControl},
		{&h.Expires, &by.Expires},
		{&h.Date, &by.Date},
		{&h.ETag, &by.ETag},
		{&h.LastModified, &by.LastModified},
	} {
		if *f.new != "" {
			*f.old = *f.new
		}
	}
	h.RetryAfter = by.RetryAfter
	return h
}

func (s *Snapshot) since() time.Time {
	if s.Since.IsZero() {
		return s.Fetched
	}
	return s.Since
}

// Group returns the rules in force at now for the crawler of p. It never
// returns nil; a nil Snapshot defers.
//
//   - 2xx: the rules of the file (RFC 9309, 2.3.1.1).
//   - 404 and most of 4xx: everything is allowed (2.3.1.3).
//   - 401, 402, 403, 451: nothing is allowed, see Policy.AllowForbidden. The
//     answer with which an object store hides that a file is missing counts
//     as 404.
//   - 408, 421, 425: unreachable; in dialect Google as 404, and so are
//     redirects that lead nowhere.
//   - Anything else, 429 included, is unreachable (2.3.1.4): a good copy up to 30
//     days old, and not from the future, stays in force, otherwise the verdict is Defer, until Expires. It is
//     never an allow, except that dialect Google, after 30 days, goes by
//     the last copy however old it is, or allows everything without one.
//     Dialect Koster1996 defers in any case (3.1).
func (s *Snapshot) Group(p Policy, now time.Time) *Group {
	switch s.outcomeIn(p.Dialect) {
	case success:
		return s.parsed(p)
	case missing:
		return s.fixed(p, Verdict{Access: Allow, Reason: Missing})
	case forbidden:
		if p.AllowForbidden {
			return s.fixed(p, Verdict{Access: Allow, Reason: Missing})
		}
		return s.fixed(p, Verdict{Access: Disallow, Reason: Forbidden})
	}
	if s == nil {
		return s.fixed(p, Verdict{Reason: Unreachable})
	}
	if c := s.Copy; c != nil && c.outcome() == success && p.Dialect != Koster1996 && (p.Dialect == Google || c.young(now)) {
		return c.parsed(p)
	}
	if p.Dialect == Google && now.Sub(s.since()) > maxCopyAge {
		return s.fixed(p, Verdict{Access: Allow, Reason: LongUnreachable})
	}
	return s.fixed(p, Verdict{Access: Defer, Until: s.Expires(p), Reason: Unreachable})
}

// young reports whether a copy is not too old at now. Nobody knows how old one
// is that a clock has dated which ran ahead.
func (s *Snapshot) young(now time.Time) bool {
	age := now.Sub(s.Fetched)
	return 0 <= age && age <= maxCopyAge
}

func (s *Snapshot) parsed(p Policy) *Group {
	return s.File(p.Dialect).Group(p.Token, p.Aliases...)
}

// File returns the parsed Body. The Body of an answer other than 2xx is not a
// robots.txt file: where there is none the File is empty, and where nobody knows,
// or may know, it is the zero File, whose groups defer.
func (s *Snapshot) File(d Dialect) *File {
	switch s.outcomeIn(d) {
	case success:
		return parse(s.Body, s.URL, d, s.Cut)
	case missing:
		return parse(nil, s.URL, d, false)
	}
	return &File{dialect: d}
}

// fixed returns a group that has one answer for everything.
func (s *Snapshot) fixed(p Policy, v Verdict) *Group {
	g := &Group{fixed: &v, rules: ruleSet{dialect: p.Dialect}}
	if s != nil {
		if loc, err := Locate(s.URL); err == nil {
			g.site = siteOf(loc)
		}
	}
	return g
}
