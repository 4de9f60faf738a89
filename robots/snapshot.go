package robots

import (
	"strings"
	"time"
)

// maxCopyAge is how long the last good robots.txt is used while robots.txt is unreachable: the 30
// days of RFC 9309, 2.3.1.4.
const maxCopyAge = 30 * 24 * time.Hour

// Snapshot is the outcome of one attempt to fetch a site's robots.txt. It can represent every
// outcome, so callers need no special case: Group returns the current rules, and Expires returns
// the time of the next request.
//
// A Snapshot has only plain fields and can be stored in any encoding. Do not change a Snapshot
// that is shared.
type Snapshot struct {
	URL     string    // the URL that was requested, as Locate returned it
	Final   string    // URL at which redirects ended; "" if there were none
	Fetched time.Time // when the attempt ended
	Status  int       // the final HTTP status; 0 if there was no answer

	// Failure names the reason why there was no usable answer. It is "" if there was one. Any name
	// is permitted. The usual names are "dns", "connect", "tls", "timeout", "truncated" for a body
	// that ended early, and "redirect" for a loop, too many redirects or a location that cannot be
	// followed. Dialect Google treats "redirect" as "no robots.txt".
	Failure string

	Header Header
	Body   []byte // body after decoding, at most MaxBytes
	Cut    bool   // the body was longer than MaxBytes

	// After sets the fields from here on.

	Failures int       // number of unreachable attempts in a row, including this one
	Since    time.Time // when the first of these attempts ended; zero if robots.txt was reachable
	Copy     *Snapshot // while unreachable: the last snapshot with a 2xx status, or nil; its own Copy is nil

	// Mining is the outcome of the last attempt to fetch the site's tdmrep.json, combined with
	// earlier attempts by After. It is nil if there was no attempt. Its own Mining is nil. Group
	// ignores Mining.
	Mining *Snapshot
}

// Header holds the header fields of an answer that a Snapshot uses.
type Header struct {
	CacheControl string
	Expires      string
	Date         string
	ETag         string
	LastModified string
	ContentType  string
	RetryAfter   time.Time // Retry-After, converted to a time; zero if absent
	ObjectStore  string    // x-amz-request-id or x-guploader-uploadid, if present
}

// ReadHeader returns the Header of an answer to a request for robots.txt. get is the Get method of
// an http.Header, or a similar function. ReadHeader does not set RetryAfter, because its value
// depends on the clock: package fetch sets it.
func ReadHeader(get func(name string) string) Header {
	h := Header{
		CacheControl: get("Cache-Control"), Expires: get("Expires"), Date: get("Date"),
		ETag: get("ETag"), LastModified: get("Last-Modified"), ContentType: get("Content-Type"),
		// The large object stores set these fields in their own answers.
		ObjectStore: get("X-Amz-Request-Id"),
	}
	if h.ObjectStore == "" {
		h.ObjectStore = get("X-Guploader-Uploadid")
	}
	return h
}

// Policy says in which dialect a robots.txt is read, and for which crawler.
type Policy struct {
	Dialect Dialect
	Token   string   // product token of the crawler, see CheckToken
	Aliases []string // further names of the same crawler

	// AllowForbidden treats 401, 402, 403 and 451 as "no robots.txt", as RFC 9309, 2.3.1.3,
	// permits. By default these answers allow nothing, as the draft of 1996 and "HTTP: The
	// Definitive Guide" recommend. Dialect Google always treats these answers, and every other
	// 4xx except 429, as "no robots.txt".
	AllowForbidden bool
}

// outcome is the meaning of the answer in a snapshot for the use of robots.txt.
type outcome uint8

const (
	unreachable outcome = iota // no usable answer: RFC 9309, 2.3.1.4
	success                    // a file with rules: RFC 9309, 2.3.1.1
	missing                    // there is no robots.txt: RFC 9309, 2.3.1.3
	forbidden                  // access was refused: RFC 9309, 2.3.1.3, in the reading of the draft of 1996, 3.1
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
	// The rest is 5xx, 1xx, a redirect that was not followed, 304 without a copy, and 999.
	return unreachable
}

// outcomeIn returns the outcome of s in dialect d. By Google's documentation of robots.txt, every
// 4xx except 429 means that there is no robots.txt, and so do redirects that cannot be followed.
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

// objectMissing reports whether a 403 means 404. Some object stores answer 403 for a missing file,
// to hide which files they have. Such a 403 has the store's own error document and header field.
func (s *Snapshot) objectMissing() bool {
	return s.Header.ObjectStore != "" && strings.Contains(string(s.Body), "<Code>AccessDenied</Code>")
}

// Reachable reports whether the attempt got an answer that decides: rules, no robots.txt, or a
// refusal to serve robots.txt. A nil Snapshot is not reachable.
func (s *Snapshot) Reachable() bool { return s.outcome() != unreachable }

// Good returns the snapshot with the last Body that the site served with a 2xx status. This is s
// itself or its Copy, or nil if none exists. Use the ETag and LastModified of that snapshot for
// a conditional request.
func (s *Snapshot) Good() *Snapshot {
	switch {
	case s == nil:
		return nil
	case s.outcome() == success:
		return s
	}
	return s.Copy
}

// After combines a new attempt s with prev, the snapshot that the caller has kept so far (nil if
// there was none). It returns the snapshot to keep from now on, and changes neither s nor prev.
// The good copy of a snapshot is the result of its method Good.
//
//   - 304 renews the good copy of prev. If prev has no good copy, 304 counts as unreachable.
//   - An unreachable attempt keeps the good copy of prev and is counted in Failures.
//   - Any other attempt replaces prev.
//
// The Mining of the result is that of prev.
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

// renewed returns the header of a stored answer, updated by the header of a 304. Fields of the 304
// replace fields with the same name (RFC 9111, 3.2).
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

// Group returns the rules that apply at the time now, for the crawler of p. It never returns nil.
// The group of a nil Snapshot gives the verdict Defer.
//
//   - 2xx: the rules of the file (RFC 9309, 2.3.1.1).
//   - 404 and most of 4xx: everything is allowed (2.3.1.3).
//   - 401, 402, 403, 451: nothing is allowed, see Policy.AllowForbidden. A 403 by which an
//     object store hides that a file is missing counts as 404.
//   - 408, 421, 425, and redirects that cannot be followed: unreachable. In dialect Google they
//     are like 404.
//   - Anything else, including 429: unreachable (2.3.1.4). The copy that Good returns is still
//     used if it is up to 30 days old, and not dated in the future. Without such a copy the
//     verdict is Defer until Expires. Dialect Google uses the last copy at any age. Without a
//     copy it allows everything after 30 days. Dialect Koster1996 always defers (3.1).
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
	if c := s.Copy; c != nil && c.outcome() == success && p.Dialect != Koster1996 && (p.Dialect == Google || c.recent(now)) {
		return c.parsed(p)
	}
	if p.Dialect == Google && now.Sub(s.since()) > maxCopyAge {
		return s.fixed(p, Verdict{Access: Allow, Reason: LongUnreachable})
	}
	return s.fixed(p, Verdict{Access: Defer, Until: s.Expires(p), Reason: Unreachable})
}

// recent reports whether s, the last copy of robots.txt, may still be used at the time now. A copy
// that is dated in the future is not recent: the clock was wrong, so its age is unknown.
func (s *Snapshot) recent(now time.Time) bool {
	age := now.Sub(s.Fetched)
	return 0 <= age && age <= maxCopyAge
}

func (s *Snapshot) parsed(p Policy) *Group {
	return s.File(p.Dialect).Group(p.Token, p.Aliases...)
}

// File returns the parsed Body of a 2xx answer. Other bodies are not robots.txt files. If the site
// has no robots.txt, the File is empty. If robots.txt is unreachable or forbidden, File returns
// the zero File, whose groups give the verdict Defer.
func (s *Snapshot) File(d Dialect) *File {
	switch s.outcomeIn(d) {
	case success:
		return parse(s.Body, s.URL, d, s.Cut)
	case missing:
		return parse(nil, s.URL, d, false)
	}
	return &File{dialect: d}
}

// fixed returns a group with the verdict v for every target.
func (s *Snapshot) fixed(p Policy, v Verdict) *Group {
	g := &Group{fixed: &v, rules: ruleSet{dialect: p.Dialect}}
	if s != nil {
		if loc, err := Locate(s.URL); err == nil {
			g.site = siteOf(loc)
		}
	}
	return g
}
