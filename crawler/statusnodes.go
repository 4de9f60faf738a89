package crawler

import "slices"

// withNodes returns s with the figures of the runs that other nodes had meanwhile. ends has the
// last status of each node that the crawl was collected from, and so s itself, unless the crawl was
// continued since.
func (s *keptStatus) withNodes(ends []keptStatus) Status {
	if !slices.ContainsFunc(ends, func(e keptStatus) bool { return e.Of.Equal(s.Of) && e.Time.Equal(s.Time) }) {
		return s.Status
	}
	of, began := s.Status, s.Began
	of.Run, of.Polite = StatusRun{}, StatusPolite{}
	for _, e := range ends {
		if e.Time.Before(s.Began) || e.Began.After(s.Time) {
			continue // the node has ended before the others began
		}
		of.Run.add(&e.Run)
		of.Polite.add(e.Polite)
		began = earlier(began, e.Began)
	}
	of.Seconds += s.Began.Sub(began).Seconds()
	of.Began, of.Rate = began, StatusRate{}
	return of
}

func (n *StatusRun) add(o *StatusRun) {
	n.Pages += o.Pages
	n.Fetched += o.Fetched
	n.Requests += o.Requests
	n.Robots += o.Robots
	n.Bytes += o.Bytes
	n.Retries += o.Retries
	n.Handler += o.Handler
	n.Rescanned += o.Rescanned
	n.Unread += o.Unread
	addCounts(&n.Status, o.Status)
	addCounts(&n.Errors, o.Errors)
	addCounts(&n.Changes, o.Changes)
	addCounts(&n.SkippedLinks, o.SkippedLinks)
	addCounts(&n.SkippedURLs, o.SkippedURLs)
}

func (p *StatusPolite) add(o StatusPolite) {
	if p.Requests == 0 || o.Requests > 0 && o.LeastMargin < p.LeastMargin {
		p.LeastMargin = o.LeastMargin
	}
	p.Requests += o.Requests
	p.Early += o.Early
	p.RetryAfter += o.RetryAfter
}

// addCounts adds the counts of more to those of to.
func addCounts[K comparable](to *map[K]int, more map[K]int) {
	for k, n := range more {
		if *to == nil {
			*to = map[K]int{}
		}
		(*to)[k] += n
	}
}
