package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/robots"
)

// A run is one of the runs that have written to the log.
type run struct {
	begun     time.Time // when the run began; zero: the log does not say
	last      time.Time // time of the last line of the run
	killed    bool      // the run was killed, according to the next run or the state
	records   bool      // the lines of the run have the facts that crawllog.Records promises
	committed time.Time // if the run was killed: time of its last commit; zero: not recorded
	changes   map[string]string
	own       map[frontier.Site][]kept.Own // own settings of sites, by site; sites with the settings of the crawl are not in the map
	pace
	sites map[frontier.Site]*pace // paces of the sites in own
}

// A pace has the settings of a run that decide about pauses.
type pace struct {
	delay, ip, domain time.Duration // pauses at a site, an address and a domain; zero or negative: no pause
	policy            robots.Policy
}

// at returns the pace at which a run may request pages of a site.
func (r *run) at(site frontier.Site) *pace {
	if p := r.sites[site]; p != nil {
		return p
	}
	return &r.pace
}

// A runsOf has the facts about the runs of a crawl that are in the log, and facts about the log
// itself.
type runsOf struct {
	all    []run
	was    map[string]string // for each setting that was ever changed, its value before the first change
	lines  int64
	bytes  int64
	digest string // SHA-256 of the log
	lost   int64  // number of bytes of the log that were removed after they were written
	torn   bool   // the last line has no newline
	mark   marked // computes the checksum of the bytes that the state knows

	asked   bool // the log has a line that is not about a run
	carried bool // copies of robots.txt were taken from an earlier crawl before the first request
}

// readRuns reads the lines about runs, and the time of the last line of each run. written is
// the length of the log at the last commit, in bytes.
func readRuns(name string, log io.Reader, written int64) (*runsOf, error) {
	r := &runsOf{was: map[string]string{}, mark: marked{left: written}}
	sum := sha256.New()
	counted := &counting{w: sum}
	var before []byte // the line before the current one
	n, err := crawllog.Texts(io.TeeReader(log, io.MultiWriter(counted, &r.mark)), func(n int64, text []byte, torn bool) error {
		if r.torn = torn; torn {
			return nil
		}
		r.lines = n
		if bytes.Contains(text, []byte(crawllog.RunURL)) {
			if err := r.about(text, before); err != nil {
				return err
			}
		} else {
			r.asked = true
		}
		before = append(before[:0], text...)
		return nil
	})
	if err != nil {
		return nil, lineError(name, n, err)
	}
	if len(r.all) == 0 {
		r.all = []run{{}}
	}
	r.end(before)
	r.bytes, r.digest = counted.n, hex.EncodeToString(sum.Sum(nil))
	return r, nil
}

// A counting is a writer that counts the bytes that are written to w.
type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.w.Write(b)
}

// end sets the time at which the last run ended, from its last line. It ignores lines that
// cannot be read, because a later step reports them.
func (r *runsOf) end(before []byte) {
	if l, err := crawllog.Parse(string(before)); err == nil && len(r.all) > 0 {
		r.all[len(r.all)-1].last = l.Time
	}
}

// about reads a line about a run. before is the line before it.
func (r *runsOf) about(text, before []byte) error {
	l, err := crawllog.Parse(string(text))
	if err != nil || l.URL != crawllog.RunURL {
		return err
	}
	var committed time.Time
	if at, ok := l.Annotation("committed"); ok {
		if committed, err = time.Parse(crawllog.MicroForm, at); err != nil {
			return err
		}
	}
	if how, ok := l.Annotation("begin"); ok {
		if len(before) > 0 && len(r.all) == 0 {
			r.all = append(r.all, run{}) // the log has no beginning of this run
		}
		r.end(before)
		if n := len(r.all); n > 0 {
			r.all[n-1].killed, r.all[n-1].committed = how == "unclean", committed
		}
		r.all = append(r.all, run{begun: l.Time, changes: map[string]string{}})
	}
	for _, a := range l.Annotations {
		if err := r.note(a); err != nil {
			return err
		}
	}
	if site, ok := l.Annotation("site"); ok && len(r.all) > 0 {
		r.all[len(r.all)-1].noteSite(frontier.Site(strings.Clone(site)), l)
	}
	return nil
}

// noteSite adds a line with the own settings of a site to the run.
func (r *run) noteSite(site frontier.Site, l *crawllog.Line) {
	var own []kept.Own
	for _, a := range l.Annotations {
		key, setting, _ := strings.Cut(a, ":")
		if name, value, ok := strings.Cut(setting, "="); ok && (key == "own" || key == "allows") {
			own = append(own, kept.Own{Name: strings.Clone(name), Value: plain(value), Wider: key == "allows"})
		}
	}
	if r.own == nil {
		r.own = map[frontier.Site][]kept.Own{}
	}
	r.own[site] = own
}

func (r *runsOf) note(annotation string) error {
	key, value, _ := strings.Cut(annotation, ":")
	if n := len(r.all); n > 0 {
		last := &r.all[n-1]
		last.records = last.records || annotation == crawllog.Records
	}
	switch key {
	case "carried": // take the line of any run, because the first run may have been killed before it wrote the line
		r.carried = r.carried || !r.asked
	case "lost":
		n, err := strconv.ParseInt(value, 10, 64)
		r.lost += n
		return err
	case "changed":
		name, change, _ := strings.Cut(value, ":")
		was, is, ok := strings.Cut(change, "->")
		if !ok || len(r.all) == 0 {
			return errors.New("a setting that changed before any run, or to nothing")
		}
		if _, known := r.was[name]; !known {
			r.was[name] = plain(was)
		}
		r.all[len(r.all)-1].changes[name] = plain(is)
	}
	return nil
}

// plain removes the escapes from a value in a line.
func plain(value string) string {
	if s, err := url.PathUnescape(value); err == nil {
		return s
	}
	return value
}

// settle computes the settings of each run. It begins with the settings of the last run, sets
// each setting that was changed back to its first value, and then applies the changes of one
// run after the other.
func (r *runsOf) settle(id crawler.Identity, last map[string]string) error {
	now := maps.Clone(last)
	if now == nil {
		now = map[string]string{}
	}
	maps.Copy(now, r.was)
	for i := range r.all {
		maps.Copy(now, r.all[i].changes)
		p, err := paceOf(id, now)
		if err != nil {
			return err
		}
		r.all[i].pace = p
		if err := r.all[i].settleSites(); err != nil {
			return err
		}
	}
	return nil
}

// settleSites computes the paces of the sites with their own settings. Sites with the same
// settings share a pace.
func (r *run) settleSites() error {
	made := map[string]*pace{}
	for site, own := range r.own {
		key := fmt.Sprint(own)
		if made[key] == nil {
			usual := kept.Site{Policy: r.policy, Delay: r.delay}
			settings, err := usual.With(own, "")
			if err != nil {
				return fmt.Errorf("settings of %s: %w", site, err)
			}
			p := r.pace
			p.policy, p.delay = settings.Policy, settings.Delay
			made[key] = &p
		}
		if r.sites == nil {
			r.sites = map[frontier.Site]*pace{}
		}
		r.sites[site] = made[key]
	}
	r.own = nil
	return nil
}

// paceOf parses the settings about pauses and robots.txt.
func paceOf(id crawler.Identity, settings map[string]string) (pace, error) {
	var o crawler.Options
	for _, s := range o.Settings() {
		text, known := settings[s.Name]
		if !known || !slices.Contains([]string{"delay", "ip-delay", "domain-delay", "dialect", "robots-forbidden", "alias"}, s.Name) {
			continue
		}
		values := []string{text}
		if s.Name == "alias" {
			if values = strings.Fields(text); text == "none" {
				values = nil
			}
		} else if text == "none" {
			values[0] = "0"
		}
		for _, v := range values {
			if err := s.Value.Set(v); err != nil {
				return pace{}, fmt.Errorf("setting %s is %q: %w", s.Name, text, err)
			}
		}
	}
	usual := func(d, usual time.Duration) time.Duration {
		if d == 0 {
			return usual
		}
		return max(0, d)
	}
	return pace{
		delay: usual(o.Delay, frontier.DefaultDelay), ip: usual(o.IPDelay, defaultIPDelay), domain: max(0, o.DomainDelay),
		policy: robots.Policy{Dialect: o.Dialect, Token: id.Token, Aliases: o.Aliases, AllowForbidden: o.AllowForbidden},
	}, nil
}

// defaultIPDelay is the default of crawler.Options.IPDelay.
const defaultIPDelay = 250 * time.Millisecond

// justWritten is a length of time. A run that is killed, or finds the disk full, may lose what
// it has learned in its last justWritten. This time counts back from the last line of the run,
// or from its last commit if that is earlier. The two differ because lines are written at once,
// but commits a little later.
const justWritten = 10 * time.Second

// lostBy reports whether a kill may have lost what the crawl learned at the time at, in the run
// with this number.
func (r *runsOf) lostBy(run int, at time.Time) bool {
	n := &r.all[run]
	end := n.last
	if !n.committed.IsZero() && n.committed.Before(end) {
		end = n.committed
	}
	return n.killed && at.After(end.Add(-justWritten))
}

// at returns the number of the run that was active at a time, or of the last run before that
// time.
func (r *runsOf) at(t time.Time) int {
	for i := len(r.all) - 1; i > 0; i-- {
		if !r.all[i].begun.After(t) {
			return i
		}
	}
	return 0
}

// back reports whether the clock of the machine was set back before the run with this number.
func (r *runsOf) back(run int) bool { return r.all[run].begun.Before(r.all[run-1].last) }

// backAt reports whether the time t may be from a clock that was set back later.
func (r *runsOf) backAt(t time.Time) bool {
	for i := 1; i < len(r.all); i++ {
		if r.back(i) && !t.Before(r.all[i].begun) {
			return true
		}
	}
	return false
}

// killedBetween reports whether a kill may have lost what the crawl knew at the time at. It
// considers the kills of the runs from and later, up to the beginning of the run to.
func (r *runsOf) killedBetween(from, to int, at time.Time) bool {
	for i := from; i < to; i++ {
		if r.lostBy(i, at) {
			return true
		}
	}
	return false
}
