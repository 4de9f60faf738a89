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
	CrawlDelayClock Clock = "crawl-delay"  // robots.txt
	RateClock       Clock = "request-rate" // robots.txt
	VisitTimeClock  Clock = "visit-time"   // robots.txt
	AdaptiveClock   Clock = "adaptive"     // twice the time to first byte
	RetryAfterClock Clock = "retry-after"  // RFC 9110, section 10.2.3
	BackOffClock    Clock = "back-off"     // after 429, 503 or no connection: 5 s, doubled each time up to an hour, and up to a quarter more
	FailuresClock   Clock = "failures"     // several failures in a row: 5xx, cut bodies
	RobotsClock     Clock = "robots"       // robots.txt failed; the next attempt is later
	IPClock         Clock = "ip"           // other sites of the same address
	HostClock       Clock = "host"         // other services of the same host name
	DomainClock     Clock = "domain"       // other sites of the same registrable domain
	MachineClock    Clock = "machine"      // another process of this machine uses the site, or its address
	SiteClock       Clock = "site"         // the site that robots.txt redirects to
	RestartClock    Clock = "restart"      // the delay, counted from a restart after a crash
	RetryClock      Clock = "retry"        // the next entry is a retry
	AgainClock      Clock = "again"        // the next entry is one to fetch again
)

// Bounds of the times that the clocks set.
const (
	DefaultDelay   = time.Second
	PublicFloor    = 200 * time.Millisecond // least own delay at public addresses
	adaptiveCap    = time.Minute
	firstBackOff   = 5 * time.Second
	lastBackOff    = time.Hour
	lastFailures   = time.Minute // longest pause for failures of pages
	forgivenAfter  = 3           // good answers in a row that halve the strikes
	maxRefusals    = 6           // requests without any answer in a row until a site is given up
	maxRobotsFails = 3           // failed attempts at robots.txt until it is given up
)

// Clocks is the politeness state of one site. A crawl keeps it on disk, so that a restart is as
// polite as a run without a restart. The zero value is for a site that has had no request.
// The end of a request sets Due. Until the next one Due can only become later.
type Clocks struct {
	Due      time.Time     // no request before this time
	By       Clock         // the clock with the latest time, which set Due
	Ended    time.Time     // end of the last response; zero if there was no request
	TTFB     time.Duration // decaying mean of the time to first byte
	LastTTFB time.Duration
	Gap      time.Duration // least pause between two requests, set by robots.txt
	GapBy    Clock
	Strikes  int  // failures of the site (not of a page); halved after three good answers
	Refusals int  // requests without any answer in a row
	Failures int  // requests in a row that failed in any way
	Good     int  // good answers since the last failure, or since Strikes was last halved
	Public   bool // the address of the last request was public

	RetryAfter time.Time // of the last answer; zero if it had none
}

// A Request holds the times and the size of one request.
type Request struct {
	Started   time.Time // no byte was sent before
	FirstByte time.Time // of the answer's header or body; zero if there was none
	Ended     time.Time // if it is before Started, or before the turn, Finish uses the time of its call
	Bytes     int64     // of the answer, as transferred
}

// steady returns the pause after a request that did not fail, and the clock that sets
// it.
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

// move updates c after a request, and sets Due.
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
	case c.Failures > 1: // the page alone may be the cause of the first failure
		rest.raise(c.Ended.Add(min(backOff(site, c.Failures-1), lastFailures)), FailuresClock)
	}
	rest.raise(c.RetryAfter, RetryAfterClock)
	return rest.Due, rest.By
}

// rested returns the end of the rest after the last request. A rest is the pause of a site
// after a request; waits for RobotsClock and VisitTimeClock are no part of it. c does not say
// whether the page or the site caused the last trouble, so rested returns the longer rest.
func (c *Clocks) rested(site Site, own time.Duration) time.Time {
	due, _ := c.rest(site, own, PageTrouble)
	if c.Failures > 0 && c.Strikes > 0 {
		if t, _ := c.rest(site, own, SiteTrouble); t.After(due) {
			due = t
		}
	}
	if c.By == OwnClock && c.Due.After(due) {
		due = c.Due // set by an earlier run with a longer delay
	}
	return due
}

// raise moves c.Due to t, and c.By to by, if t is later than c.Due.
func (c *Clocks) raise(t time.Time, by Clock) {
	if t.After(c.Due) {
		c.Due, c.By = t, by
	}
}

// asked returns the pause that the site needs before the next request: the time from the end of
// the last response to Due. It returns 0 if there was no request.
func (c *Clocks) asked() time.Duration {
	if c.Ended.IsZero() || c.Due.IsZero() {
		return 0
	}
	return max(0, c.Due.Sub(c.Ended))
}

// backOff returns how long a site rests after a number of strikes, which are failures of the
// site: 5 s, doubled with each strike up to 1 h. Up to a quarter is added, so that sites that
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
