package robots

import (
	"strconv"
	"strings"
	"time"
)

// Bounds on how long an answer to a request for robots.txt is used (RFC 9309, 2.4), and on the
// waits before robots.txt is requested again after a failure.
const (
	minKeep    = 5 * time.Minute
	maxKeep    = 24 * time.Hour
	koster1996 = 7 * 24 * time.Hour  // lifetime in dialect Koster1996, if the answer has neither Cache-Control nor Expires (draft of 1996, 3.4)
	maxKoster  = 30 * 24 * time.Hour // longest lifetime that Expires can set in dialect Koster1996
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// Expires returns the time at which robots.txt must be requested again. For a nil or zero Snapshot
// it returns the zero time, which means now.
//
//   - 2xx: after the max-age of Cache-Control. Without a max-age, at the time in the Expires
//     field. In both cases after at least 5 minutes and at most 24 hours. If the answer has
//     neither, after 24 hours (RFC 9309, 2.4). In dialect Koster1996 the maximum is 30 days, and
//     an answer that has neither expires after 7 days (draft of 1996, 3.4).
//   - Other answers for which Reachable is true: after 24 hours.
//   - Unreachable: after 1 minute, doubled with each further failure in a row up to 1 hour, but
//     never before Retry-After.
func (s *Snapshot) Expires(p Policy) time.Time {
	if s == nil || s.Fetched.IsZero() {
		return time.Time{}
	}
	switch s.outcomeIn(p.Dialect) {
	case success:
		return s.Fetched.Add(s.lifetime(p.Dialect))
	case unreachable:
		wait := firstRetry
		for i := 1; i < s.Failures && wait < lastRetry; i++ {
			wait *= 2
		}
		next := s.Fetched.Add(min(wait, lastRetry))
		if s.Header.RetryAfter.After(next) {
			return s.Header.RetryAfter
		}
		return next
	}
	return s.Fetched.Add(maxKeep)
}

func (s *Snapshot) lifetime(d Dialect) time.Duration {
	absent, most := maxKeep, maxKeep
	if d == Koster1996 {
		absent, most = koster1996, maxKoster
	}
	if age, ok := maxAge(s.Header.CacheControl); ok {
		return min(max(age, minKeep), most)
	}
	if s.Header.Expires == "" {
		return absent
	}
	expires, ok := httpTime(s.Header.Expires)
	if !ok {
		return minKeep // a date that is not valid, such as "0", means expired (RFC 9111, 5.3)
	}
	// Both Expires and Date are times by the clock of the server, and Date is when it sent the
	// answer. So their difference is the lifetime, even if the server's clock is wrong.
	from, ok := httpTime(s.Header.Date)
	if !ok {
		from = s.Fetched
	}
	return min(max(expires.Sub(from), minKeep), most)
}

// maxAge returns the lifetime that a Cache-Control field sets. It returns false if the field sets
// none. no-store and no-cache count as zero. If there are several lifetimes, the shortest counts.
// A lifetime that cannot be parsed counts as zero.
func maxAge(field string) (age time.Duration, ok bool) {
	for directive := range strings.SplitSeq(field, ",") {
		name, arg, _ := strings.Cut(directive, "=")
		d := time.Duration(-1)
		switch name = trim(name); {
		case equalFold(name, "no-store"), equalFold(name, "no-cache"):
			d = 0
		case equalFold(name, "max-age"):
			arg = strings.Trim(trim(arg), `"`)
			n, err := strconv.ParseUint(arg, 10, 63)
			switch {
			case err == nil:
				d = time.Duration(min(n, uint64(maxKoster/time.Second))) * time.Second
			case countDigits(arg) == len(arg) && arg != "":
				d = maxKoster // the number is too large for 63 bits
			default:
				d = 0
			}
		}
		if d >= 0 && (!ok || d < age) {
			age, ok = d, true
		}
	}
	return age, ok
}

// httpTime parses a date in one of the three forms of RFC 9110, 5.6.7.
func httpTime(s string) (time.Time, bool) {
	s = trim(s)
	for _, layout := range [...]string{
		"Mon, 02 Jan 2006 15:04:05 GMT",
		time.RFC850,
		time.ANSIC,
		time.RFC1123Z,
		time.RFC1123,
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
