package revisit

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Hints are the statements of a server about the changes of a page.
type Hints struct {
	// Fresh is the time for which an answer may be used after it was sent, by max-age or by Expires
	// (RFC 9111, section 4.2.1); 0 if unknown.
	Fresh time.Duration
	// Age is the time since the last change of the page, by its Last-Modified; 0 if unknown.
	Age time.Duration
	// Every is the time between two changes of a feed, by its ttl or its update period; 0 if
	// unknown.
	Every time.Duration
}

// Hinted is a Policy that follows hints. A page is not fetched while its last answer is fresh. A
// page with a short history is fetched as often as it changes by its hints. For pages without
// hints, and for pages with a longer history, Hinted follows the Policy Else. Hints are often
// wrong, so the times that they suggest are limited to the range from Least to Most.
//
// If a sitemap or a feed reports that a page has changed since its last visit, the page is fetched
// at once, but not before Least has passed since that visit. Sitemaps and feeds themselves are
// fetched often. See Believer.
type Hinted struct {
	Else Policy // must not be nil
	// Limits of the time between two visits; 0 means no least time, and Longest.
	Least, Most time.Duration
}

// enoughVisits is the number of visits after the first from which the history of a page predicts
// its changes better than a hint.
const enoughVisits = 3

// Next implements Policy.
func (h Hinted) Next(v Visit) time.Duration {
	var next time.Duration
	if v.List {
		next = h.list(v)
	} else if next = h.Else.Next(v); v.Seen < enoughVisits {
		switch hints := v.Hints; {
		case hints.Every > 0:
			next = within(float64(hints.Every), h.Least, h.Most)
		case hints.Age > 0:
			// A page that has not changed for a long time is expected to stay unchanged. Caches use
			// an answer for a tenth of that time (RFC 9111, section 4.2.2).
			next = max(next, within(float64(hints.Age)/10, h.Least, h.Most))
		}
	}
	if v.Hints.Fresh > 0 {
		next = max(next, within(float64(v.Hints.Fresh), 0, h.Most))
	}
	return next
}

// ReadHints parses the header fields of an answer that was sent at the given time. It ignores
// malformed fields.
func ReadHints(header http.Header, at time.Time) Hints {
	var h Hints
	h.Fresh = freshness(header, at)
	if modified, err := http.ParseTime(header.Get("Last-Modified")); err == nil && modified.Before(at) {
		h.Age = at.Sub(modified)
	}
	return h
}

// freshness returns the time for which an answer may be used after it was sent, or 0 if unknown. An
// answer that must not be stored, or must always be revalidated, says nothing about changes.
func freshness(header http.Header, at time.Time) time.Duration {
	maxAge, given := time.Duration(0), false
	for _, line := range header.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-cache", "no-store":
				return 0
			case "max-age":
				if seconds, ok := deltaSeconds(strings.Trim(value, `" `)); ok && !given { // of several, the first applies (RFC 9111, section 4.2.1)
					maxAge, given = seconds, true
				}
			}
		}
	}
	if given {
		age, _ := deltaSeconds(strings.TrimSpace(header.Get("Age")))
		return max(maxAge-age, 0)
	}
	expires, err := http.ParseTime(header.Get("Expires"))
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		at = date
	}
	return max(expires.Sub(at), 0)
}

// deltaSeconds parses a number of seconds. If the number is too large, it returns 2^31 seconds (RFC
// 9111, section 1.2.2).
func deltaSeconds(text string) (d time.Duration, ok bool) {
	seconds, err := strconv.ParseUint(text, 10, 31)
	if errors.Is(err, strconv.ErrRange) {
		return 1 << 31 * time.Second, true
	}
	return time.Duration(seconds) * time.Second, err == nil
}
