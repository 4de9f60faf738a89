package provenance

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A logRun is what crawl.log says about a run.
type logRun struct {
	begun, last time.Time
	next        bool // another run follows in the log; only then is it known whether this run was killed
	killed      bool // the run did not end by itself, as the first line of the next run says
}

// A logReader reads crawl.log.
type logReader struct {
	*Provenance
	ctx   context.Context
	runs  []logRun // the first mostRuns runs
	all   int64
	hosts hostCounts
}

// mostRuns is how many runs in the log are remembered. It is more than the number of runs that
// are listed, because the runs in the log are joined with the runs that the state of the crawl
// has recorded.
const mostRuns = 10 * mostListed

// readLog reads crawl.log. If the file is missing, that is the same as a file without lines.
func (w *writer) readLog() (err error) {
	r := &logReader{Provenance: w.Provenance, ctx: w.ctx, hosts: newHostCounts(w.newOrder(w.Temp))}
	defer func() { err = errors.Join(err, r.hosts.close()) }()
	file, err := os.Open(filepath.Join(w.dir, store.LogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return w.joinRuns(r)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if err := crawllog.Sift(gauge.Of(w.ctx).Reader(file), r.line, r.other); err != nil {
		return err
	}
	if err := r.hosts.figures(&w.Figures); err != nil {
		return err
	}
	return w.joinRuns(r)
}

func (r *logReader) other(int64, error) error {
	r.Figures.OtherLines++
	return causeOf(r.ctx)
}

func (r *logReader) line(_ int64, l *crawllog.Line, _ []byte) error {
	f := &r.Figures
	if f.LogLines++; f.First.IsZero() || l.Time.Before(f.First) {
		f.First = l.Time.UTC()
	}
	if l.Time.After(f.Last) {
		f.Last = l.Time.UTC()
	}
	if l.URL == crawllog.RunURL {
		r.about(l)
	} else if !l.Start.IsZero() {
		if err := r.request(l); err != nil {
			return err
		}
	}
	if len(r.runs) == int(r.all) && r.all > 0 {
		r.runs[r.all-1].last = l.Time.UTC()
	}
	return causeOf(r.ctx)
}

// request counts a request.
func (r *logReader) request(l *crawllog.Line) error {
	f := &r.Figures
	f.Requests++
	f.Bytes += max(0, l.Size)
	if u, err := frontier.ParseURL(l.URL); err == nil {
		if err := r.hosts.add(u.Site()); err != nil {
			return err
		}
	}
	stage, failed := l.Annotation("error")
	if failed {
		count(f.Errors, plain(stage))
	}
	if l.Status > 0 {
		count(f.Statuses, strconv.Itoa(l.Status))
	}
	if strings.HasSuffix(l.Hops, string(frontier.HopPrerequisite)) {
		if _, other := l.Annotation("for"); !other { // without the annotation "for" the request was for robots.txt; with it, for tdmrep.json or a license
			f.RobotsRequests++
		}
		return nil
	}
	kept, isKept := l.Annotation("kept") // an annotation of 304s: the media type of the archived page
	if (l.Status/100 == 2 || isKept) && !failed {
		count(f.Types, cmp.Or(kept, l.Type, Unknown))
	}
	return nil
}

// others means all names after the first mostNames.
const others = "others"

// count adds one to the count of a name. If m already has mostNames names, it counts a new name
// as others.
func count(m map[string]int64, name string) {
	if _, known := m[name]; !known && len(m) >= mostNames {
		name = others
	}
	tally(m, name)
}

// tally adds one to the count of a name, however many names m has. It stores a copy of a new
// name, because the name is a substring of a line, and would keep the whole line in memory.
func tally(m map[string]int64, name string) {
	if _, known := m[name]; !known {
		name = strings.Clone(name)
	}
	m[name]++
}

// tallyFirst adds one to the count of a name. If m already has the maximum number of names, it
// ignores a new name.
func tallyFirst(m map[string]int64, name string, most int) {
	if _, known := m[name]; known || len(m) < most {
		tally(m, name)
	}
}

// mostTop is how many names a list of the most frequent ones has.
const mostTop = 20

// topOf returns the most frequent of the names, at most mostTop.
func topOf(m map[string]int64) []Count {
	all := []Count{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, Count{name, m[name]})
	}
	return mostFrequent(all)
}

// mostFrequent returns the most frequent names, at most mostTop, the most frequent first. Names
// that are equally frequent stay in the order of the argument, which is by name.
func mostFrequent(all []Count) []Count {
	slices.SortStableFunc(all, func(a, b Count) int { return int(max(-1, min(1, b.N-a.N))) })
	return all[:min(mostTop, len(all))]
}

// about reads a line about the crawl itself, such as the beginning of a run.
func (r *logReader) about(l *crawllog.Line) {
	if how, begins := l.Annotation("begin"); begins {
		if n := len(r.runs); n > 0 && int64(n) == r.all {
			r.runs[n-1].next, r.runs[n-1].killed = true, how == "unclean"
		}
		if r.all > 0 && how == "unclean" {
			r.Killed++
		}
		if r.all++; len(r.runs) < mostRuns {
			r.runs = append(r.runs, logRun{begun: l.Time.UTC()})
		}
	}
	note := func(key string) string {
		value, _ := l.Annotation(key)
		return plain(value)
	}
	if lost, err := strconv.ParseInt(note("lost"), 10, 64); err == nil {
		r.LogLost += lost
	}
	if do := note("order"); do != "" {
		r.Orders.add(crawler.Order{Time: l.Time.UTC(), Do: do, Of: note("of"), What: note("what"), Reason: note("why")})
	}
	site := note("site")
	for _, a := range l.Annotations {
		key, value, _ := strings.Cut(a, ":")
		switch key {
		case "changed":
			name, change, _ := strings.Cut(value, ":")
			was, is, _ := strings.Cut(change, "->")
			r.Changes.add(Change{l.Time.UTC(), plain(name), plain(was), plain(is)})
		case "allows":
			setting, is, _ := strings.Cut(plain(value), "=")
			r.Overrides.add(Override{l.Time.UTC(), site, setting, is, note("reason")})
		}
	}
}

// plain returns the value of an annotation without percent-encoding.
func plain(value string) string {
	if s, err := url.PathUnescape(value); err == nil {
		return s
	}
	return value
}

// joinRuns lists the runs in the log, each with the process of the run, which the state has
// recorded.
func (w *writer) joinRuns(r *logReader) error {
	h, err := processes.Of(w.state)
	if err == nil {
		w.join(r, &h, w.state.Unclean())
	}
	return err
}

// join combines the runs in the log with the processes that the state has recorded, one for
// each run. unclean is true if the last run did not end by itself. A run may be in the state
// only, because its lines in the log were removed. It may be in the log only, because it was
// killed before it recorded itself, or because the version of its program records none.
func (w *writer) join(r *logReader, h *processes.History, unclean bool) {
	w.Builds = map[string]processes.Build{}
	i := 0
	for n, of := range r.runs {
		until := time.Time{} // the beginning of the next run
		if n+1 < len(r.runs) {
			until = r.runs[n+1].begun
		}
		for ; i < len(h.Processes) && h.Processes[i].Began.Before(of.begun); i++ {
			w.addRun(nil, &h.Processes[i], h.Builds)
		}
		var p *processes.Process
		if i < len(h.Processes) && (until.IsZero() || h.Processes[i].Began.Before(until)) {
			p = &h.Processes[i]
			i++
		}
		w.addRun(&of, p, h.Builds)
	}
	for ; i < len(h.Processes) && int(r.all) == len(r.runs); i++ {
		w.addRun(nil, &h.Processes[i], h.Builds)
	}
	w.Runs.All = max(w.Runs.All+r.all-int64(len(r.runs)), int64(h.Forgotten+len(h.Processes)))
	if n := len(w.Runs.List); n > 0 && w.Runs.All == int64(n) && unclean && w.Runs.List[n-1].Ended.IsZero() {
		w.Runs.List[n-1].How = HowKilled
		w.Killed++
	}
}

func (w *writer) addRun(of *logRun, p *processes.Process, builds map[string]processes.Build) {
	run := Run{How: HowUnknown, Clock: Unknown, Synchronised: Unknown}
	if p != nil {
		run.Began, run.Zone, run.Offset, run.Build = p.Began.UTC(), p.Zone, &p.Offset, p.Build
		if p.End != "" {
			run.Ended, run.How = p.Ended.UTC(), string(p.End)
		}
		if p.Clock != "" {
			run.Clock = p.Clock
		}
		if p.Synchronised != nil {
			run.Synchronised = map[bool]string{true: "yes", false: "no"}[*p.Synchronised]
		}
		if b, known := builds[p.Build]; known {
			w.Builds[p.Build] = b
		}
	}
	if of != nil {
		run.Began, run.Last = of.begun, of.last
		switch {
		case of.killed:
			run.How = HowKilled
		case of.next && run.How == HowUnknown:
			run.How = HowItself
		}
	}
	w.Runs.add(run)
}
