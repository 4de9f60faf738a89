package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// tooLate is the lateness above which the cause of a request's lateness is counted.
const tooLate = 10 * time.Millisecond

// rounding is the maximum total error of the times in the log, each of which is rounded to
// microseconds.
const rounding = 3 * time.Microsecond

// Logged is the lateness of requests according to crawl.log: what the crawler measured, without
// the way to the web.
type Logged struct {
	Lateness
	Early  int // requests before the time that their line requires
	Others int // requests whose last clock was not the delay of the crawl

	// Requests that were late by more than tooLate, by cause. Each has one cause.
	Behind  int // the first page of a site, after its robots.txt
	Workers int // the maximum number of requests was active at that time
	Unknown int // neither; this includes a busy processor
}

// crawlLog returns the path of the crawl.log of a contestant that writes one.
func crawlLog(dir string) string { return filepath.Join(dir, "bench.crawl", "crawl.log") }

// An asking is a request in the log, with the time when it was allowed; zero if it did not have
// to wait.
type asking struct {
	crawllog.Request
	allowed time.Time
	behind  bool // the request before was its site's robots.txt
}

// readLateness reads a crawl.log. It returns nil if none exists.
func readLateness(path string, concurrency int) (*Logged, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	type last struct {
		end    time.Time
		robots bool
	}
	var all []asking
	sites := map[string]last{}
	err = crawllog.Read(file, func(l *crawllog.Line) error {
		r, err := l.Request()
		if r == nil || err != nil {
			return err
		}
		site := siteOf(l.URL)
		before := sites[site]
		a := asking{Request: *r, behind: before.robots}
		if since := r.Since; r.Clock != "" {
			if since.IsZero() {
				since = before.end
			}
			a.allowed = since.Add(r.Asked)
		}
		all = append(all, a)
		sites[site] = last{r.End, strings.HasSuffix(l.URL, "/robots.txt")}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return judgeLateness(all, concurrency), nil
}

// siteOf returns a URL without its path.
func siteOf(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	authority, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority
}

func judgeLateness(all []asking, concurrency int) *Logged {
	l := &Logged{}
	starts, ends := make([]time.Time, len(all)), make([]time.Time, len(all))
	for i, a := range all {
		starts[i], ends[i] = a.Start, a.End
	}
	slices.SortFunc(starts, time.Time.Compare)
	slices.SortFunc(ends, time.Time.Compare)
	// until returns how many of the times are not after t.
	until := func(times []time.Time, t time.Time) int {
		return sort.Search(len(times), func(i int) bool { return times[i].After(t) })
	}
	var late histogram
	for _, a := range all {
		if a.allowed.IsZero() {
			continue
		}
		if a.Clock != string(frontier.OwnClock) {
			l.Others++
		}
		by := a.Start.Sub(a.allowed)
		if by < -rounding {
			l.Early++
			continue
		}
		late.add(max(0, by))
		switch {
		case by <= tooLate:
		case a.behind:
			l.Behind++
		case until(starts, a.allowed)-until(ends, a.allowed) >= concurrency:
			l.Workers++
		default:
			l.Unknown++
		}
	}
	l.Lateness = late.lateness()
	return l
}

// middleLateness returns the median of the medians and of the 99 % points, and the worst of
// all.
func middleLateness(rs []result, of func(*result) *Lateness) Lateness {
	at := func(what func(*Lateness) int64) func(result) int64 {
		return func(r result) int64 {
			if l := of(&r); l != nil {
				return what(l)
			}
			return 0
		}
	}
	middle := func(what func(*Lateness) int64) int64 {
		return int64(median(rs, func(r result) float64 { return float64(at(what)(r)) }))
	}
	return Lateness{
		Requests: middle(func(l *Lateness) int64 { return l.Requests }),
		Median:   time.Duration(middle(func(l *Lateness) int64 { return int64(l.Median) })),
		P99:      time.Duration(middle(func(l *Lateness) int64 { return int64(l.P99) })),
		Worst:    time.Duration(most(rs, at(func(l *Lateness) int64 { return int64(l.Worst) }))),
	}
}

// sumLogs returns the sum of the logs of all rounds, or nil if there are none.
func sumLogs(rs []result) *Logged {
	var logs []result
	for _, r := range rs {
		if r.Log != nil {
			logs = append(logs, r)
		}
	}
	if len(logs) == 0 {
		return nil
	}
	sum := &Logged{Lateness: middleLateness(logs, func(r *result) *Lateness { return &r.Log.Lateness })}
	for _, r := range logs {
		sum.Early += r.Log.Early
		sum.Others += r.Log.Others
		sum.Behind += r.Log.Behind
		sum.Workers += r.Log.Workers
		sum.Unknown += r.Log.Unknown
	}
	return sum
}

// cells returns the cells of a table, in milliseconds.
func (l *Lateness) cells() (cells []string) {
	for _, d := range []time.Duration{l.Median, l.P99, l.Worst} {
		cells = append(cells, fmt.Sprintf("%.2f", d.Seconds()*1000))
	}
	return cells
}

// lateness writes the table of the lateness in the logs.
func (t *table) lateness(b *strings.Builder) {
	if !slices.ContainsFunc(t.Rows, func(r row) bool { return r.Log != nil }) {
		return
	}
	b.WriteString("The same by crawl.log: how long after the moment that its clock allowed a request began, and of those that were more than 10 ms late,\n" +
		"in all rounds, how many were the first behind their robots.txt, and how many fell due while as many requests were under way as there may be.\n\n" +
		"| case | contestant | requests | early | late ms, median | p99 | worst | over 10 ms | behind robots.txt | no worker free | neither | by other clocks |\n" +
		"| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range t.Rows {
		if l := r.Log; l != nil {
			fmt.Fprintf(b, "| %s | %s | %d | %d | %s | %d | %d | %d | %d | %d |\n", r.Case, r.Name, l.Requests, l.Early,
				strings.Join(l.cells(), " | "), l.Behind+l.Workers+l.Unknown, l.Behind, l.Workers, l.Unknown, l.Others)
		}
	}
	b.WriteString("\n")
}
