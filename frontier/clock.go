package frontier

import (
	"hash/fnv"
	"time"
)

// A Clock is the name of what makes a site wait.
type Clock string

// The clocks of a site. The latest binds.
const (
	NoClock         Clock = ""
	OwnClock        Clock = "own"          // the delay the crawl was given, or has for the site
	CrawlDelayClock Clock = "crawl-delay"  // robots.txt
	RateClock       Clock = "request-rate" // robots.txt
	VisitTimeClock  Clock = "visit-time"   // robots.txt
	AdaptiveClock   Clock = "adaptive"     // twice the time to first byte
	RetryAfterClock Clock = "retry-after"  // RFC 9110, section 10.2.3
	BackOffClock    Clock = "back-off"     // after 429, 503 or no connection
	FailuresClock   Clock = "failures"     // several failures in a row: 5xx, cut bodies
	RobotsClock     Clock = "robots"       // robots.txt cannot be asked again earlier
	IPClock         Clock = "ip"           // other sites of the same address
	HostClock       Clock = "host"         // other services of the same host name
	DomainClock     Clock = "domain"       // other sites of the same registrable domain
	MachineClock    Clock = "machine"      // another process of this machine asks the site, or its address
	SiteClock       Clock = "site"         // the site that robots.txt redirects to
	RestartClock    Clock = "restart"      // the delay, after an unclean end
	RetryClock      Clock = "retry"        // nothing is left before a page that failed is due
	AgainClock      Clock = "again"        // nothing is left before a page is due that is to be fetched again
)

// Bounds of the clocks.
const (
	DefaultDelay   = time.Second
	PublicFloor    = 200 * time.Millisecond // least own delay at public addresses
	adaptiveCap    = time.Minute
	firstBackOff   = 5 * time.Second
	lastBackOff    = time.Hour
	lastFailures   = time.Minute // longest pause for failures that ask for no rest
	forgivenAfter  = 3           // good answers in a row that take back half of the strikes
	maxRefusals    = 6           // requests without any answer in a row until a site is given up
	maxRobotsFails = 3           // failed attempts at robots.txt until it is given up
)

// Clocks is the politeness of one site: what a crawl keeps on disk so that a
// restart is no less polite than going on. The zero value is a site that was
// never asked. Requests move them by move; after that Due is only ever raised.
type Clocks struct {
	Due      time.Time     // no request before
	By       Clock         // the clock that set Due: the latest
	Ended    time.Time     // end of the last response; zero if it was never asked
	TTFB     time.Duration // decaying mean of the time to first byte
	LastTTFB time.Duration
	Gap      time.Duration // what robots.txt asks between two requests
	GapBy    Clock
	Strikes  int  // how often in a row, roughly, the site asked for rest
	Refusals int  // requests without any answer in a row
	Failures int  // requests in a row that failed in any way
	Good     int  // good answers since the last failure or forgiveness
	Public   bool // the last address asked was a public one

	RetryAfter time.Time // named by the last answer; zero if it named none
}

// A Request is one request as the clocks see it.
type Request struct {
	Started   time.Time // from here on bytes may have been sent
	FirstByte time.Time // of the answer's body or header; zero if there was none
	Ended     time.Time
	Bytes     int64 // of the answer, as they came over the wire
}

// steady is the gap the site is asked to be left in peace for after any
// request, and the clock that says so.
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

// Steady is the pause after a request of a crawl that leaves at least own between two:
// what the site asked for so far, but for what it asks after a failure; and the clock
// that says so.
func (c *Clocks) Steady(own time.Duration) (time.Duration, Clock) { return c.steady(own) }

// move takes in what a request came to and sets Due.
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

// rest is when the site may be asked again after a request that came to
// trouble: counted from the end of the response.
func (c *Clocks) rest(site Site, own time.Duration, trouble Trouble) (time.Time, Clock) {
	gap, by := c.steady(own)
	rest := Clocks{Due: c.Ended.Add(gap), By: by}
	switch {
	case trouble == NoTrouble:
	case trouble != PageTrouble:
		rest.raise(c.Ended.Add(backOff(site, c.Strikes)), BackOffClock)
	case c.Failures > 1: // the first may be the page's own
		rest.raise(c.Ended.Add(min(backOff(site, c.Failures-1), lastFailures)), FailuresClock)
	}
	rest.raise(c.RetryAfter, RetryAfterClock)
	return rest.Due, rest.By
}

// rested is until when the site rests after its last request, whatever
// robots.txt says. Whether the last trouble was the page's or the site's is not
// kept: the longer rest counts.
func (c *Clocks) rested(site Site, own time.Duration) time.Time {
	due, _ := c.rest(site, own, PageTrouble)
	if c.Failures > 0 && c.Strikes > 0 {
		if t, _ := c.rest(site, own, SiteTrouble); t.After(due) {
			due = t
		}
	}
	if c.By == OwnClock && c.Due.After(due) {
		due = c.Due // of a delay that was longer
	}
	return due
}

// raise moves Due to t if that is later.
func (c *Clocks) raise(t time.Time, by Clock) {
	if t.After(c.Due) {
		c.Due, c.By = t, by
	}
}

// asked is the pause that was asked of the next request: from the end of the
// last response to Due.
func (c *Clocks) asked() time.Duration {
	if c.Ended.IsZero() || c.Due.IsZero() {
		return 0
	}
	return max(0, c.Due.Sub(c.Ended))
}

// backOff doubles from 5 s to 1 h, with up to a quarter more, so that sites
// that failed together are not asked together again. The extra part depends on
// site and strikes alone: a function of its arguments can be tested.
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
