package revisit

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Hints are what a server says about the changes of a page.
type Hints struct {
	// Fresh is for how long its answer may be used, from when it was given: max-age, or
	// Expires (RFC 9111, section 4.2.1). 0: it does not say.
	Fresh time.Duration
	// Age is for how long it had not changed, by its Last-Modified. 0: it does not say.
	Age time.Duration
	// Every is how often it changes: of a feed by its ttl, or its update period. 0: nobody
	// says.
	Every time.Duration
}

// Hinted lets hints say when: not before an answer stops to be fresh, and of a page of
// which too little was seen, as often as it is said to change. Without a hint, and of
// pages whose history says more, Else counts. Hints are often wrong: they are taken
// within Least and Most.
//
// A page that was changed since its last visit, as a list says, is fetched at once, and
// lists are followed closely: see Believer.
type Hinted struct {
	Else        Policy
	Least, Most time.Duration
}

// learnt is after how many looks a history says more than a hint of how often a page
// changes.
const learnt = 3

func (h Hinted) Next(v Visit) time.Duration {
	var next time.Duration
	if v.List {
		next = h.list(v)
	} else if next = h.Else.Next(v); v.Seen < learnt {
		switch hints := v.Hints; {
		case hints.Every > 0:
			next = within(float64(hints.Every), h.Least, h.Most)
		case hints.Age > 0:
			// What has not changed for long will not for a while: a tenth of it is what
			// caches take (RFC 9111, section 4.2.2).
			next = max(next, within(float64(hints.Age)/10, h.Least, h.Most))
		}
	}
	if v.Hints.Fresh > 0 {
		next = max(next, within(float64(v.Hints.Fresh), 0, h.Most))
	}
	return next
}

// ReadHints reads the header fields of an answer that was given at a moment. What is
// badly written is as if it were not there.
func ReadHints(header http.Header, at time.Time) Hints {
	var h Hints
	h.Fresh = freshness(header, at)
	if modified, err := http.ParseTime(header.Get("Last-Modified")); err == nil && modified.Before(at) {
		h.Age = at.Sub(modified)
	}
	return h
}

// freshness is for how long an answer may be used. One that says that it may be stored
// by nobody, or has to be asked for each time, says nothing about changes.
func freshness(header http.Header, at time.Time) time.Duration {
	maxAge, given := time.Duration(0), false
	for _, line := range header.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-cache", "no-store":
				return 0
			case "max-age":
				if seconds, ok := deltaSeconds(strings.Trim(value, `" `)); ok && !given { // of two the first counts (section 4.2.1)
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

// deltaSeconds reads a number of seconds; one that is too large is 2^31 (RFC 9111,
// section 1.2.2).
func deltaSeconds(text string) (d time.Duration, ok bool) {
	seconds, err := strconv.ParseUint(text, 10, 31)
	if errors.Is(err, strconv.ErrRange) {
		return 1 << 31 * time.Second, true
	}
	return time.Duration(seconds) * time.Second, err == nil
}
