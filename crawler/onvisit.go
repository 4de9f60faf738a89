package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A Visited is what a visit has come to, as Options.OnVisit is told: for metrics, and for
// whoever looks on.
type Visited struct {
	Entry    frontier.Entry // that was visited
	Fate     frontier.Fate  // how it has ended; frontier.Undecided where it is asked for later, as behind its robots.txt
	Requests []Request      // that were made, in order: robots.txt included, none where that forbids
}

// A Request is one request, and what came of it.
type Request struct {
	URL     frontier.URL
	Robots  bool  // it asked for what has to be known before a page is asked for: robots.txt, or tdmrep.json
	Status  int   // 0 where there was no answer
	Bytes   int64 // of the content as it came
	Started time.Time
	TTFB    time.Duration // to the first byte of the answer; 0 where there was none
	Took    time.Duration // to its end
	Err     error         // why there was no answer, or not all of it: a *fetch.Error
}

// visited tells of a visit whose turn was given back.
func (j *Job) visited(e frontier.Entry, res *fetch.Result, fate frontier.Fate) error {
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
