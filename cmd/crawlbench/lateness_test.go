package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// A bucket begins at the end of the bucket before it, and is at most 1/32 wide.
func TestBucketsFollowEachOther(t *testing.T) {
	for i := range 900 {
		first, next := uint64(0), upTo(i)
		if i > 0 {
			first = upTo(i - 1)
		}
		if bucketOf(first) != i || bucketOf(next-1) != i || bucketOf(next) != i+1 {
			t.Fatalf("bucket %d from %d to %d: %d, %d, %d", i, first, next, bucketOf(first), bucketOf(next-1), bucketOf(next))
		}
		if next-first > max(1, first/32) {
			t.Fatalf("bucket %d from %d to %d is too wide", i, first, next)
		}
	}
}

func TestLatenessIsToldByItsQuantiles(t *testing.T) {
	var h histogram
	if l := h.lateness(); l != (Lateness{}) {
		t.Errorf("of nothing: %+v", l)
	}
	for i := range 100 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	l := h.lateness()
	near := func(got, want time.Duration) bool { return got >= want && got <= want+want/32+time.Microsecond }
	if l.Requests != 100 || !near(l.Median, 50*time.Millisecond) || !near(l.P99, 99*time.Millisecond) || l.Worst != 100*time.Millisecond {
		t.Errorf("%+v", l)
	}
	h.add(1 << 62) // longer than all buckets
	if l := h.lateness(); l.Requests != 101 || l.Worst != 1<<62 {
		t.Errorf("%+v", l)
	}
	h.reset()
	if l := h.lateness(); l != (Lateness{}) {
		t.Errorf("forgotten: %+v", l)
	}
}

// The web knows when it gave the last answer of a host, and so when the next request may come.
func TestTheWebTellsEarlyFromLate(t *testing.T) {
	w, err := NewWeb(WebParams{Hosts: 1, Pages: 1, Delay: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	const ms, second = int64(time.Millisecond), int64(time.Second)
	w.paused(5*ms, 0)                     // the first
	w.paused(second+7*ms, 6*ms)           // 1 ms late
	w.paused(3*second, 2*second)          // to the moment
	w.paused(5*second-2*ms, 4*second)     // 2 ms early
	w.paused(5*second-second/4, 4*second) // 250 ms early
	n := w.Counts()
	if n.Early != 2 || n.TooEarly != 250*time.Millisecond || n.Late.Requests != 2 || n.Late.Worst != time.Millisecond {
		t.Errorf("%+v", n)
	}
	w.paused(6*second, busy) // the answer had not been given yet
	if n := w.Counts(); n.Early != 3 || n.TooEarly != time.Second {
		t.Errorf("%+v", n)
	}
	w.Forget()
	if n := w.Counts(); n.Early != 0 || n.TooEarly != 0 || n.Late != (Lateness{}) {
		t.Errorf("%+v", n)
	}
}

// logOf writes a log of these requests, with all times in milliseconds.
func logOf(t *testing.T, lines []logged) string {
	t.Helper()
	began := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms float64) time.Time { return began.Add(time.Duration(ms * float64(time.Millisecond))) }
	path := filepath.Join(t.TempDir(), "crawl.log")
	w, err := crawllog.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		line := &crawllog.Line{Time: at(l.start + l.took), Status: 200, URL: l.url, Start: at(l.start), Annotations: []string{
			"start:" + at(l.start).Format(crawllog.MicroForm), "took:" + seconds(l.took),
		}}
		if l.asked > 0 {
			line.Annotations = append(line.Annotations, "asked:"+seconds(l.asked), "clock:"+l.clock)
		}
		if l.since > 0 {
			line.Annotations = append(line.Annotations, "since:"+at(l.since).Format(crawllog.MicroForm))
		}
		if err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

type logged struct {
	url                       string
	start, took, asked, since float64
	clock                     string
}

func seconds(ms float64) string {
	return strings.TrimSuffix(time.Duration(ms*float64(time.Millisecond)).Round(time.Microsecond).String(), "s")
}

func TestTheLogTellsLatenessAndItsCauses(t *testing.T) {
	path := logOf(t, []logged{
		{url: "http://a/robots.txt", start: 0, took: 1000},
		{url: "http://b/robots.txt", start: 0, took: 1000},
		{url: "http://a/", start: 3020, took: 1000, asked: 2000, clock: "own"},                // 20 ms after its robots.txt
		{url: "http://b/", start: 3001, took: 1000, asked: 2000, clock: "own"},                // 1 ms
		{url: "http://b/1", start: 6031, took: 1000, asked: 2000, clock: "own"},               // 30 ms
		{url: "http://c/robots.txt", start: 6000, took: 2000},                                 //
		{url: "http://d/robots.txt", start: 5999, took: 2000},                                 // with c: the maximum number of requests
		{url: "http://a/1", start: 6060, took: 1000, asked: 2000, clock: "own"},               // 40 ms, while those two are active
		{url: "http://a/2", start: 9000, took: 1000, asked: 2000, since: 7000, clock: "host"}, // no lateness, by another clock
		{url: "http://b/2", start: 9000, took: 1000, asked: 2000, clock: "own"},               // 31 ms early
	})
	l, err := readLateness(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	if l.Requests != 5 || l.Early != 1 || l.Others != 1 || l.Behind != 1 || l.Workers != 2 || l.Unknown != 0 || l.Worst != 40*time.Millisecond {
		t.Errorf("%+v", l)
	}
	if l, err = readLateness(path, 3); err != nil || l.Workers != 0 || l.Unknown != 2 {
		t.Errorf("with another request to spare: %+v, %v", l, err)
	}
	if l, err := readLateness(filepath.Join(t.TempDir(), "none"), 2); l != nil || err != nil {
		t.Errorf("without a log: %+v, %v", l, err)
	}
	if err := os.WriteFile(path, []byte("2030-01-02 no line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readLateness(path, 2); err == nil {
		t.Error("a file that is not a log is read")
	}
}

// What limited a run is printed only if it was measured.
func TestWhatARunWasHeldByIsSaid(t *testing.T) {
	for want, r := range map[string]row{
		"clocks":                                 {Bound: 0.995, Busy: 0.97},
		"CPU (CPU 97 % busy)":                    {Bound: 0.7, Busy: 0.97},
		"CPU (CPU 95 % busy, 40 % by others)":    {Bound: 0.7, Busy: 0.55, Others: 0.4},
		"neither (CPU 20 % busy)":                {Bound: 0.98, Busy: 0.2},
		"CPU (CPU 100 % busy, 30 % by others)":   {Bound: 0.7, Busy: 0.8, Others: 0.3},
		"neither (CPU 50 % busy, 2 % by others)": {Bound: 0.7, Busy: 0.48, Others: 0.02},
	} {
		if got := r.heldBy(); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

// The bound includes the time for sending the answers, by the web's own clock.
func TestTheShareOfTheBound(t *testing.T) {
	bc := &benchCase{web: WebParams{Hosts: 10, Delay: 200 * time.Millisecond}}
	r := result{Web: WebCounts{Requests: 1010, Served: 1010 * 50 * time.Millisecond, Elapsed: 25 * time.Second}}
	if got := share(bc, &r); got < 0.9999 || got > 1.0001 {
		t.Errorf("100 answers and pauses of each host, one behind the other, are %v of the bound", got)
	}
	r.Web.Elapsed *= 2
	if got := share(bc, &r); got < 0.4999 || got > 0.5001 {
		t.Errorf("in twice the time it is %v", got)
	}
}
