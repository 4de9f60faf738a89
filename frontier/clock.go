package frontier

import (
	"hash/fnv"
	"time"
)

// A Clock names a reason for which a site waits before its next request.
type Clock string

// The clocks of a site. The site waits until the latest of their times.
const (
	NoClock         Clock = ""
	OwnClock        Clock = "own"          // the delay that the crawl sets for all sites, or for this one
	CrawlDelayClock Clock = "crawl-delay"  // Crawl-delay of robots.txt
	RateClock       Clock = "request-rate" // Request-rate of robots.txt
	VisitTimeClock  Clock = "visit-time"   // Visit-time of robots.txt: the hours in which requests are permitted
	AdaptiveClock   Clock = "adaptive"     // twice the mean time to first byte of the site
	RetryAfterClock Clock = "retry-after"  // Retry-After of the last answer (RFC 9110, section 10.2.3)
	BackOffClock    Clock = "back-off"     // after 429, 503 or no connection: 5 s, doubled each time up to an hour, plus up to a quarter
	FailuresClock   Clock = "failures"     // several requests in a row failed, with 5xx or a cut body
	RobotsClock     Clock = "robots"       // robots.txt could not be fetched; the site waits for the next attempt
	IPClock         Clock = "ip"           // the pause of an address that several sites share
	HostClock       Clock = "host"         // the pause of a host name that several schemes or ports share
	DomainClock     Clock = "domain"       // the pause of a registrable domain that several sites share
	MachineClock    Clock = "machine"      // another process on this machine uses the site or its address
	SiteClock       Clock = "site"         // the site to which robots.txt redirects is not free yet
	RestartClock    Clock = "restart"      // the usual pause, counted from a restart after a crash
	RetryClock      Clock = "retry"        // the next entry is a retry that is not due yet
	AgainClock      Clock = "again"        // the next entry is fetched again, and not due yet
)

// Bounds of the times that the clocks set.
const (
	DefaultDelay   = time.Second
	PublicFloor    = 200 * time.Millisecond // least delay of the crawl's own (OwnClock) at public addresses
	adaptiveCap    = time.Minute
	firstBackOff   = 5 * time.Second
	lastBackOff    = time.Hour
	lastFailures   = time.Minute // longest pause for failures that only single pages may cause
	forgivenAfter  = 3           // number of good answers in a row that halve Clocks.Strikes
	maxRefusals    = 6           // a site is given up after so many requests in a row without any answer
	maxRobotsFails = 3           // robots.txt is given up after so many failed attempts
)

// Clocks is the politeness state of one site. A crawl keeps it on disk, so that a restart is as
// polite as a run without a restart. The zero value is for a site that has had no request. The end
// of a request sets Due. Until the next request ends, Due can only become later.
type Clocks struct {
	Due      time.Time     // no request before this time
	By       Clock         // the clock with the latest time, which set Due
	Ended    time.Time     // end of the last response; zero if there was no request
	TTFB     time.Duration // decaying mean of the time to first byte
	LastTTFB time.Duration
	Gap      time.Duration // least pause between two requests, as robots.txt sets it
	GapBy    Clock
	Strikes  int  // failures that concern the whole site, not one page; halved after three good answers
	Refusals int  // requests in a row that got no answer at all
	Failures int  // requests in a row that failed in any way
	Good     int  // good answers since the last failure, or since Strikes was last halved
	Public   bool // the address of the last request was public

	RetryAfter time.Time // time that the Retry-After field of the last answer names; zero without such a field
}

// A Request holds the times and the size of one request.
type Request struct {
	Started   time.Time // when the request was started, before its first byte was sent
	FirstByte time.Time // when the first byte of the answer's header or body came; zero if none came
	Ended     time.Time // end of the answer; if it is before Started or before the turn, Finish uses the time of its call
	Bytes     int64     // size of the answer in bytes, as transferred (before decoding)
}

// steady returns the pause after a request that did not fail, and the clock that sets this pause.
// The parameter own is the delay that the crawl has set.
func (c *Clocks) steady(own time.Duration) (time.Duration, Clock) {
	if c.Public {
		own = max(own, PublicFloor)
	}
	gap, by := own, OwnClock
	if own > 0 {
		if a := min(2*max(c.TTFB, c.LastTTFB), adaptiveCap); a > gap {
			gap, by = a, AdaptiveClock
		}
	}
	if c.Gap > gap {
		gap, by = c.Gap, c.GapBy
	}
	return gap, by
}

// Steady returns the pause after a request that did not fail, and the clock that sets this
// pause. The parameter own is the delay that the crawl has set.
func (c *Clocks) Steady(own time.Duration) (time.Duration, Clock) { return c.steady(own) }

// move updates c after the request r to site, and sets c.Due.
func (c *Clocks) move(site Site, r Request, trouble Trouble, retryAfter time.Time, own time.Duration) {
	c.Ended = r.Ended
	if !r.FirstByte.IsZero() {
		c.LastTTFB = r.FirstByte.Sub(r.Started)
		if c.TTFB == 0 {
			c.TTFB = c.LastTTFB
		} else {
			c.TTFB += (c.LastTTFB - c.TTFB) / 4
		}
	}
	if trouble == ConnectTrouble || trouble == SilenceTrouble {
		c.Refusals++
	} else {
		c.Refusals = 0
	}
	if trouble == NoTrouble {
		c.Failures = 0
		if c.Good++; c.Good >= forgivenAfter {
			c.Strikes, c.Good = c.Strikes/2, 0
		}
	} else {
		c.Failures, c.Good = c.Failures+1, 0
		if trouble != PageTrouble {
			c.Strikes++
		}
	}
	c.RetryAfter = retryAfter
	c.Due, c.By = c.rest(site, own, trouble)
}

// rest returns when the next request is permitted, and the clock that sets this time. The
// parameter trouble says how the last request has failed; it is NoTrouble if the request has
// not failed. The pause counts from c.Ended, the end of the response.
func (c *Clocks) rest(site Site, own time.Duration, trouble Trouble) (time.Time, Clock) {
	gap, by := c.steady(own)
	rest := Clocks{Due: c.Ended.Add(gap), By: by}
	switch {
	case trouble == NoTrouble:
	case trouble != PageTrouble:
		rest.raise(c.Ended.Add(backOff(site, c.Strikes)), BackOffClock)
	case c.Failures > 1: // a single failure may be caused by the page alone
		rest.raise(c.Ended.Add(min(backOff(site, c.Failures-1), lastFailures)), FailuresClock)
	}
	rest.raise(c.RetryAfter, RetryAfterClock)
	return rest.Due, rest.By
}

// rested returns the end of the rest after the last request. A rest is the pause of a site after a
// request; waits for RobotsClock and VisitTimeClock are no part of it. Clocks do not store whether
// the page or the site caused the last trouble, so rested assumes the cause with the longer rest.
func (c *Clocks) rested(site Site, own time.Duration) time.Time {
	due, _ := c.rest(site, own, PageTrouble)
	if c.Failures > 0 && c.Strikes > 0 {
		if t, _ := c.rest(site, own, SiteTrouble); t.After(due) {
			due = t
		}
	}
	if c.By == OwnClock && c.Due.After(due) {
		due = c.Due // an earlier run with a longer delay has set Due
	}
	return due
}

// raise moves c.Due to t, and c.By to by, if t is later than c.Due.
func (c *Clocks) raise(t time.Time, by Clock) {
	if t.After(c.Due) {
		c.Due, c.By = t, by
	}
}

// asked returns the pause of the site before its next request: the time from the end of the last
// response to Due. It returns 0 if there was no request.
func (c *Clocks) asked() time.Duration {
	if c.Ended.IsZero() || c.Due.IsZero() {
		return 0
	}
	return max(0, c.Due.Sub(c.Ended))
}

// backOff returns how long a site rests after the given number of strikes (failures of the whole
// site): 5 s, doubled with each strike up to 1 h. Up to a quarter is added, so that sites that
// failed together do not become due at the same time. The added part depends only on site and
// strikes, so that it can be tested.
func backOff(site Site, strikes int) time.Duration {
	d := lastBackOff
	if shift := strikes - 1; shift < 10 {
		d = min(firstBackOff<<shift, lastBackOff)
	}
	h := fnv.New32a()
	h.Write([]byte(site))
	h.Write([]byte{byte(strikes)})
	return min(d+d/4*time.Duration(h.Sum32()%1024)/1024, lastBackOff)
}
