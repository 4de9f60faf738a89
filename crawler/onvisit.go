package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A Visited is the result of a visit, as passed to Options.OnVisit, for metrics and
// monitoring.
type Visited struct {
	Entry    frontier.Entry // the entry that was visited
	Fate     frontier.Fate  // how the entry ended; frontier.Undecided if its URL will be requested later, for instance after the robots.txt of the site
	Requests []Request      // in order, including those for robots.txt; if robots.txt forbids the URL, there is none for the URL itself
}

// A Request is one request and its result.
type Request struct {
	URL     frontier.URL
	Robots  bool  // the request was for a file that is needed before a page may be requested: robots.txt or tdmrep.json
	Status  int   // HTTP status; 0 if there was no answer
	Bytes   int64 // bytes of the body as it came over the wire
	Started time.Time
	TTFB    time.Duration // time to the first byte of the answer; 0 if there was no answer
	Took    time.Duration // time to the end of the answer
	Err     error         // why there was no answer, or an incomplete one: a *fetch.Error
}

// visited calls OnVisit at the end of a visit, when the site already is free for its next
// visit.
func (j *job) visited(e frontier.Entry, res *fetch.Result, fate frontier.Fate) error {
	if j.opts.OnVisit == nil {
		return nil
	}
	v := Visited{Entry: e, Fate: fate}
	for _, x := range res.Exchanges {
		r := Request{URL: x.URL, Robots: x.Robots, Status: x.Status, Bytes: x.WireBytes, Started: x.Started, Took: x.Ended.Sub(x.Started)}
		if !x.FirstByte.IsZero() {
			r.TTFB = x.FirstByte.Sub(x.Started)
		}
		if x.Err != nil {
			r.Err = x.Err
		}
		v.Requests = append(v.Requests, r)
	}
	return safely("OnVisit", func() { j.opts.OnVisit(v) })
}
