package audit_test

import (
	"bytes"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// An evidence is the log, the state and the robots.txt copies of a polite crawl. Tests change
// them.
type evidence struct {
	lines    []crawllog.Line
	copies   map[frontier.Site][]*robots.Snapshot
	settings map[string]string
	agents   []string

	killed    bool // the last run was killed
	committed time.Time
}

func (e *evidence) clone() *evidence {
	n := &evidence{slices.Clone(e.lines), map[frontier.Site][]*robots.Snapshot{}, e.settings, slices.Clone(e.agents), e.killed, e.committed}
	for i := range n.lines {
		n.lines[i].Annotations = slices.Clone(n.lines[i].Annotations)
	}
	for site, all := range e.copies {
		n.copies[site] = slices.Clone(all)
	}
	return n
}

func (e *evidence) audit(t *testing.T) *audit.Report {
	r, err := e.crawl(e.log()).Audit(audit.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// log returns the lines as the text of a crawl.log.
func (e *evidence) log() (log []byte) {
	for i := range e.lines {
		log = e.lines[i].Append(log)
	}
	return log
}

// crawl returns the evidence as an audit.Crawl with the given log.
func (e *evidence) crawl(log []byte) audit.Crawl {
	return audit.Crawl{
		Name: "crawl.log", Identity: testIdentity, Settings: e.settings, UserAgents: e.agents, Killed: e.killed, Committed: e.committed,
		Log: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil },
		Robots: func(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
			return func(yield func(*robots.Snapshot, error) bool) {
				for _, s := range e.copies[site] {
					if !yield(s, nil) {
						return
					}
				}
			}
		},
	}
}

// evidenceOf makes a crawl of a random world, without a kill, and returns its evidence.
func evidenceOf(t *testing.T, seed uint64) *evidence {
	dir := filepath.Join(t.TempDir(), "live")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed, dir)
		w.opts.Limit += 30
		w.run(t)
	})
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := &evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent()}}
	if _, e.settings, err = kept.Asked(r); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, store.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := crawllog.Read(file, func(l *crawllog.Line) error {
		e.lines = append(e.lines, *l)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i := range e.lines {
		site := e.site(i)
		for s, err := range r.Snapshots(site) {
			if err != nil {
				t.Fatal(err)
			}
			if len(e.copies[site]) == 0 || e.copies[site][len(e.copies[site])-1].Fetched.Before(s.Fetched) {
				e.copies[site] = append(e.copies[site], s)
			}
		}
	}
	return e
}

func (e *evidence) site(i int) frontier.Site {
	u, err := frontier.ParseURL(e.lines[i].URL)
	if err != nil {
		return ""
	}
	return u.Site()
}

func (e *evidence) note(i int, key string) string {
	v, _ := e.lines[i].Annotation(key)
	return v
}

// set replaces the value of an annotation of line i. An empty value removes the annotation.
func (e *evidence) set(i int, key, value string) {
	l := &e.lines[i]
	at := slices.IndexFunc(l.Annotations, func(a string) bool { return strings.HasPrefix(a, key+":") })
	switch {
	case value == "" && at >= 0:
		l.Annotations = slices.Delete(l.Annotations, at, at+1)
	case at >= 0:
		l.Annotations[at] = key + ":" + value
	case value != "":
		l.Annotations = append(l.Annotations, key+":"+value)
	}
}

func (e *evidence) start(i int) time.Time {
	t, _ := time.Parse(crawllog.MicroForm, e.note(i, "start"))
	return t
}

func (e *evidence) seconds(i int, key string) time.Duration {
	d, _ := time.ParseDuration(e.note(i, key) + "s")
	return d
}

func (e *evidence) end(i int) time.Time { return e.start(i).Add(e.seconds(i, "took")) }

// move moves the beginning of the request in line i. Its duration stays the same.
func (e *evidence) move(i int, to time.Time) {
	e.set(i, "start", to.UTC().Format(crawllog.MicroForm))
	e.lines[i].Start = to
	e.lines[i].Time = e.end(i)
}

// last sets the end of the request in line i.
func (e *evidence) last(i int, end time.Time) {
	took := end.Sub(e.start(i))
	e.set(i, "took", strconv.FormatFloat(took.Seconds(), 'f', 6, 64))
	e.lines[i].Duration = took
	e.lines[i].Time = end
}

func (e *evidence) page(i int) bool {
	return e.note(i, "start") != "" && !strings.HasSuffix(e.lines[i].Hops, "P")
}

// before returns the last line before line i for which same returns true and whose request did
// not begin later. It returns -1 if there is no such line.
func (e *evidence) before(i int, same func(j int) bool) int {
	for j := i - 1; j >= 0; j-- {
		if e.note(j, "start") != "" && !e.start(j).After(e.start(i)) && same(j) {
			return j
		}
	}
	return -1
}

func (e *evidence) siteBefore(i int) int {
	return e.before(i, func(j int) bool { return e.site(j) == e.site(i) })
}

func (e *evidence) insert(at int, l ...crawllog.Line) { e.lines = slices.Insert(e.lines, at, l...) }

// A spoiling changes one line so that its request breaks one rule. It returns the line that the
// audit must report. ok is false if the rule cannot be broken there.
type spoiling struct {
	name string
	code audit.Code
	do   func(e *evidence, i int, r *rand.Rand) (line int, ok bool)
}

// halved moves a request so that it begins after 10 to 90 percent of the pause that one of the
// clocks required. If blind is set, it also removes the required pause from the line.
func halved(blind bool, clocks ...string) func(e *evidence, i int, r *rand.Rand) (int, bool) {
	return func(e *evidence, i int, r *rand.Rand) (int, bool) {
		before := e.siteBefore(i)
		if before < 0 || !slices.Contains(clocks, e.note(i, "clock")) || e.note(i, "since") != "" || e.seconds(i, "asked") == 0 {
			return 0, false
		}
		e.move(i, e.end(before).Add(e.seconds(i, "asked")*time.Duration(10+r.IntN(80))/100))
		if blind {
			e.set(i, "asked", "")
			e.set(i, "clock", "")
		}
		return i, true
	}
}

func spoilings() []spoiling {
	return slices.Concat(tooEarly(), againstRules(), atOnce(), ofTheWhole())
}

// tooEarly returns spoilings that make a request begin too early.
func tooEarly() []spoiling {
	return []spoiling{
		{"a request moved earlier", audit.TooEarly, halved(false, "own", "adaptive", "crawl-delay", "request-rate")},
		{"a request moved earlier that does not say what was asked", audit.TooEarly, halved(true, "own", "adaptive", "crawl-delay", "request-rate")},
		{"a Retry-After undercut", audit.RetryAfter, halved(false, "retry-after")},
		{"a rest undercut", audit.BackOff, halved(false, "back-off", "failures")},
		{"a rest undercut that the line does not tell", audit.BackOff, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			before := e.siteBefore(i)
			if before < 0 || e.lines[before].Status != 429 && e.lines[before].Status != 503 || e.note(i, "since") != "" || !e.page(before) {
				return 0, false
			}
			e.move(i, e.end(before).Add(time.Duration(3500+r.IntN(1000))*time.Millisecond))
			e.set(i, "asked", "")
			e.set(i, "clock", "")
			return i, e.lines[i].Hops != "P"
		}},
	}
}

// againstRules returns spoilings that break the robots.txt in force.
func againstRules() []spoiling {
	return []spoiling{
		{"a disallowed URL", audit.Disallowed, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			if !e.page(i) || len(e.copies[e.site(i)]) != 1 || !strings.Contains(string(e.copies[e.site(i)][0].Body), "/no") {
				return 0, false
			}
			e.lines[i].URL = string(e.site(i)) + "/no/" + strconv.Itoa(r.IntN(100))
			return i, true
		}},
		{"a request without any robots.txt", audit.NoRobots, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			e.set(i, "robots", "")
			return i, e.page(i)
		}},
		{"a missing robots fetch", audit.NoRobots, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			delete(e.copies, e.site(i))
			return i, e.page(i)
		}},
		{"a robots.txt that came later", audit.NoRobots, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			e.set(i, "robots", e.start(i).Add(time.Hour).UTC().Format(crawllog.MicroForm))
			return i, e.page(i)
		}},
		{"an unreachable robots.txt that is ignored", audit.NoRobots, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			all := e.copies[e.site(i)]
			if !e.page(i) || len(all) != 1 {
				return 0, false
			}
			broken := *all[0]
			broken.Status, broken.Body = 503, nil
			e.copies[e.site(i)][0] = &broken
			return i, true
		}},
		{"a copy that was not the last", audit.StaleRobots, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			all := e.copies[e.site(i)]
			before := e.siteBefore(i)
			if !e.page(i) || len(all) != 1 || before < 0 || !e.page(before) {
				return 0, false
			}
			newer := *all[0]
			newer.Fetched = e.end(before)
			if !newer.Fetched.After(all[0].Fetched) {
				return 0, false // another site caused the request, in the microsecond in which the page before it began
			}
			e.copies[e.site(i)] = append(all, &newer)
			return i, true
		}},
		{"an old copy", audit.StaleRobots, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			before := e.siteBefore(i)
			for j := i + 1; j < len(e.lines); j++ {
				if e.site(j) == e.site(i) && e.note(j, "start") != "" {
					return 0, false
				}
			}
			if before < 0 || !e.page(i) || !e.page(before) {
				return 0, false
			}
			e.move(i, e.start(before).Add(time.Duration(25+r.IntN(100))*time.Hour))
			return i, true
		}},
		{"a visit outside of the hours", audit.VisitTime, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			all := e.copies[e.site(i)]
			if !e.page(i) || len(all) != 1 || !strings.Contains(string(all[0].Body), "Visit-time") {
				return 0, false
			}
			day := e.start(i).Truncate(24 * time.Hour)
			e.move(i, day.Add(time.Duration(8+r.IntN(15))*time.Hour))
			return i, true
		}},
	}
}

// atOnce returns spoilings with too many requests at once, or with too short pauses between
// sites.
func atOnce() []spoiling {
	return []spoiling{
		{"two requests at once", audit.Concurrent, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			before := e.siteBefore(i)
			if before < 0 || e.start(before).Equal(e.start(i)) {
				return 0, false
			}
			e.last(before, e.start(i).Add(time.Duration(1+r.IntN(1000))*time.Millisecond))
			return i, true
		}},
		{"a request within another one", audit.Concurrent, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			before := e.siteBefore(i)
			if before < 0 || e.seconds(before, "took") < 10*time.Millisecond {
				return 0, false
			}
			e.move(i, e.start(before).Add(e.seconds(before, "took")/2))
			return i, true
		}},
		{"two starts at an address", audit.TooEarly, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			if e.note(i, "clock") != "ip" || e.note(i, "since") == "" {
				return 0, false
			}
			since, err := time.Parse(crawllog.MicroForm, e.note(i, "since"))
			e.move(i, since.Add(time.Duration(r.IntN(190))*time.Millisecond))
			return i, err == nil
		}},
		{"three requests at once at an address", audit.Concurrent, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			host := func(j int) string { return e.site(j).Host() }
			addr := func(j int) string { a, _, _ := strings.Cut(e.note(j, "ip"), ":"); return a }
			if addr(i) == "" || strings.HasPrefix(addr(i), "10.") {
				return 0, false
			}
			a := e.before(i, func(j int) bool { return addr(j) == addr(i) && host(j) != host(i) })
			if a < 0 {
				return 0, false
			}
			b := e.before(a, func(j int) bool { return addr(j) == addr(i) && host(j) != host(i) && host(j) != host(a) })
			if b < 0 {
				return 0, false
			}
			end := e.start(i).Add(time.Second)
			e.last(a, end)
			e.last(b, end)
			return i, true
		}},
	}
}

// ofTheWhole returns spoilings that concern more than one request.
func ofTheWhole() []spoiling {
	return []spoiling{
		{"a robots.txt without an end", audit.Redirects, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			if e.page(i) || e.note(i, "start") == "" || !strings.HasSuffix(e.lines[i].URL, "/robots.txt") || e.lines[i].Hops != "P" || e.lines[i].Status/100 == 3 {
				return 0, false
			}
			var more []crawllog.Line
			for k := range 12 {
				l := e.lines[i]
				l.URL, l.Status = string(e.site(i))+"/r"+strconv.Itoa(k), 302
				more = append(more, l)
			}
			e.insert(i+1, more...)
			return i + 12, true
		}},
		{"another User-Agent", audit.Identity, func(e *evidence, i int, r *rand.Rand) (int, bool) {
			e.agents = append(e.agents, "Mozilla/5.0 (X11; Linux x86_64)")
			return -1, true
		}},
	}
}

// If a log without violations is changed so that it breaks a rule, the code and the line of the
// violation are found.
//
// For site owners: "`crawl audit DIR` checks all of this from `crawl.log` and the
// stored copies of robots.txt alone, names each violation, and reports with `--site
// HOST` what was requested from one site."
func TestAuditFindsEachOfAThousandViolations(t *testing.T) {
	violations := larger("PERMESSO_AUDITS", 4*len(spoilings()))
	var polite []*evidence
	for seed := range uint64(12) {
		e := evidenceOf(t, seed)
		if r := e.audit(t); !r.Clean() {
			t.Fatalf("crawl %d is not polite: %v", seed, r.Violations)
		}
		polite = append(polite, e)
	}
	random := rand.New(rand.NewPCG(1, 1))
	all, found := spoilings(), map[string]int{}
	for n := range violations {
		s := all[n%len(all)]
		var e *evidence
		line, ok := 0, false
		for try := 0; !ok; try++ {
			if try == 10_000 {
				t.Fatalf("%s cannot be made of any line", s.name)
			}
			e = polite[random.IntN(len(polite))].clone()
			if i := random.IntN(len(e.lines)); e.note(i, "start") != "" {
				line, ok = s.do(e, i, random)
			}
		}
		r := e.audit(t)
		if !slices.ContainsFunc(r.Violations, func(v audit.Violation) bool {
			return v.Code == s.code && (line < 0 || slices.Contains(v.Lines, int64(line+1)))
		}) {
			t.Errorf("%d: %s is not found in line %d: %+v", n, s.name, line+1, r.Violations)
			if line > 0 {
				t.Log(string(e.lines[line].Append(nil)))
			}
		}
		found[s.name]++
	}
	t.Logf("%d violations: %v", violations, found)
}
