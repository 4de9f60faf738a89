package crawler

import (
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// The status of a crawl that was collected from several nodes has the figures of all runs that went
// on at the same time. A run of one machine that continues such a crawl has its own.
func TestTheStatusOfACollectedCrawl(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	node := func(began, ended time.Duration, requests int, margin float64) keptStatus {
		s := keptStatus{Of: at.Add(began)}
		s.Began, s.Time, s.Seconds = at.Add(began), at.Add(ended), (ended - began).Seconds()
		s.Run = StatusRun{
			Pages: requests - 1, Fetched: requests, Requests: requests, Robots: 1, Bytes: int64(requests), Retries: 1, Handler: 2, Rescanned: 3, Unread: 4,
			Status: map[int]int{200: requests}, Errors: map[string]int{"dns": 1}, Changes: map[ChangeClass]int{ChangeNew: 1},
			SkippedLinks: map[frontier.Code]int{frontier.TooDeep: 1}, SkippedURLs: map[frontier.Code]int{frontier.Failed: 2},
		}
		s.Polite = StatusPolite{Requests: requests, Early: 1, LeastMargin: margin, RetryAfter: 1}
		return s
	}
	last := node(time.Minute, 10*time.Minute, 5, 0.2)
	idle := node(2*time.Minute, 10*time.Minute, 0, 0)
	idle.Run, idle.Polite = StatusRun{}, StatusPolite{}
	ends := []keptStatus{node(0, 9*time.Minute, 7, 0.1), idle, last, node(-time.Hour, 30*time.Second, 100, 0.01), node(11*time.Minute, 12*time.Minute, 100, 0.01)}
	s := last.withNodes(ends)
	if r := s.Run; r.Pages != 10 || r.Fetched != 12 || r.Requests != 12 || r.Robots != 2 || r.Bytes != 12 || r.Retries != 2 || r.Handler != 4 || r.Rescanned != 6 || r.Unread != 8 ||
		r.Status[200] != 12 || r.Errors["dns"] != 2 || r.Changes[ChangeNew] != 2 || r.SkippedLinks[frontier.TooDeep] != 2 || r.SkippedURLs[frontier.Failed] != 4 {
		t.Errorf("%+v", r)
	}
	if want := (StatusPolite{Requests: 12, Early: 2, LeastMargin: 0.1, RetryAfter: 2}); s.Polite != want {
		t.Errorf("%+v, want %+v", s.Polite, want)
	}
	if !s.Began.Equal(at) || s.Seconds != 600 || !s.Time.Equal(last.Time) {
		t.Errorf("from %v to %v, %v s", s.Began, s.Time, s.Seconds)
	}
	if last.Run.Requests != 5 || last.Run.Status[200] != 5 {
		t.Errorf("the run of the node is now %+v", last.Run)
	}
	later := node(time.Hour, 2*time.Hour, 3, 0.3)
	for _, ends := range [][]keptStatus{ends, nil} {
		if s := later.withNodes(ends); s.Run.Requests != 3 || s.Polite.Requests != 3 || s.Seconds != 3600 {
			t.Errorf("a later run: %+v", s.Run)
		}
	}
}
