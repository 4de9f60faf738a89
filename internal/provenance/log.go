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

// A logRun has the facts about one run that are in crawl.log.
type logRun struct {
	begun, last time.Time
	next        bool // the log has a later run; without one, killed is not known
	killed      bool // the run was killed, as the first line of the next run says
}

// A logReader reads crawl.log into a Provenance.
type logReader struct {
	*Provenance
	ctx   context.Context
	runs  []logRun // the first mostRuns runs of the log
	all   int64
	hosts hostCounts
}

// mostRuns is how many runs in the log are remembered. It is larger than mostListed, because
// the runs in the log are later joined with the runs in the state.
const mostRuns = 10 * mostListed

// readLog reads crawl.log. A missing file is read like an empty one.
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

// request counts a request, from its line in the log.
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
		if _, other := l.Annotation("for"); !other { // without the annotation "for" the request was for a robots.txt; with it, it was for a tdmrep.json or a license document
			f.RobotsRequests++
		}
		return nil
	}
	kept, isKept := l.Annotation("kept") // an annotation of a 304 answer: the media type of the archived page
	if (l.Status/100 == 2 || isKept) && !failed {
		count(f.Types, cmp.Or(kept, l.Type, Unknown))
	}
	return nil
}

// others is the name under which count counts all names after the first mostNames.
const others = "others"

// count adds one to the count of a name. If m already has mostNames names, it counts a new name
// as others.
func count(m map[string]int64, name string) {
	if _, known := m[name]; !known && len(m) >= mostNames {
		name = others
	}
	tally(m, name)
}

// tally adds one to the count of a name. It copies a new name, because the name is a part of a
// line, and the whole line would stay in memory.
func tally(m map[string]int64, name string) {
	if _, known := m[name]; !known {
		name = strings.Clone(name)
	}
	m[name]++
}

// tallyFirst adds one to the count of a name. It ignores a new name if m already has as many
// names as the parameter most says.
func tallyFirst(m map[string]int64, name string, most int) {
	if _, known := m[name]; known || len(m) < most {
		tally(m, name)
	}
}

// mostTop is how many names a list of the most frequent ones has.
const mostTop = 20

// topOf returns the mostTop most frequent names, or all if there are fewer.
func topOf(m map[string]int64) []Count {
	all := []Count{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, Count{name, m[name]})
	}
	return mostFrequent(all)
}

// mostFrequent returns the mostTop most frequent names, the most frequent first. all must be
// sorted by name. Names that are equally frequent stay in this order.
func mostFrequent(all []Count) []Count {
	slices.SortStableFunc(all, func(a, b Count) int { return int(max(-1, min(1, b.N-a.N))) })
	return all[:min(mostTop, len(all))]
}

// about reads a line about the crawl itself, such as the line at the beginning of a run.
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

// plain returns the value of an annotation, after percent-decoding.
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

// join combines the runs in the log with the processes in the state, one for each run. unclean
// is true if the last run was killed. A run may be only in the state, because its lines were
// removed from the log. A run may be only in the log, because it was killed before it was
// recorded, or because its version of the program records no runs. A process has begun at the time
// of the first line of its run. In earlier versions it began later: such a process belongs to the
// last run whose first line came before.
func (w *writer) join(r *logReader, h *processes.History, unclean bool) {
	w.Builds = map[string]processes.Build{}
	whose := map[int64][]*processes.Process{} // by the time of the first line, to the millisecond, as the log has it
	for _, of := range r.runs {
		whose[of.begun.UnixMilli()] = nil
	}
	var others []*processes.Process // of earlier versions, or without a line in the log
	for _, p := range h.Processes {
		at := p.Began.UnixMilli()
		if _, known := whose[at]; known {
			whose[at] = append(whose[at], &p)
		} else {
			others = append(others, &p)
		}
	}
	for n, of := range r.runs {
		for ; len(others) > 0 && others[0].Began.Before(of.begun); others = others[1:] {
			w.addRun(nil, others[0], h.Builds)
		}
		at := of.begun.UnixMilli()
		last := n+1 == len(r.runs)
		switch {
		case len(whose[at]) > 0:
			w.addRun(&of, whose[at][0], h.Builds)
			whose[at] = whose[at][1:]
		case len(others) > 0 && (last || others[0].Began.Before(r.runs[n+1].begun)):
			w.addRun(&of, others[0], h.Builds)
			others = others[1:]
		default:
			w.addRun(&of, nil, h.Builds)
		}
	}
	for ; len(others) > 0 && int(r.all) == len(r.runs); others = others[1:] {
		w.addRun(nil, others[0], h.Builds)
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
