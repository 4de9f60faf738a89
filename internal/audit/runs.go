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

// A run is one of the runs that wrote the log.
type run struct {
	begun     time.Time // zero if the log does not have it
	last      time.Time // time of its last line
	killed    bool      // it did not end by itself, as the next run or the state says
	records   bool      // its lines have the facts that crawllog.Records promises
	committed time.Time // if killed: time of the last commit; zero if it was not recorded
	changes   map[string]string
	own       map[frontier.Site][]kept.Own // settings of sites that have their own
	pace
	sites map[frontier.Site]*pace // paces of the sites in own
}

// A pace is the settings of a run that concern pauses.
type pace struct {
	delay, ip, domain time.Duration // zero or negative: no pause
	policy            robots.Policy
}

// at returns the pace of a run at a site.
func (r *run) at(site frontier.Site) *pace {
	if p := r.sites[site]; p != nil {
		return p
	}
	return &r.pace
}

// A runsOf is what a log says about its runs and about itself.
type runsOf struct {
	all    []run
	was    map[string]string // of each setting that changed, the value before its first change
	lines  int64
	bytes  int64
	digest string // SHA-256
	lost   int64  // bytes that were removed or cut after they were written
	torn   bool   // the last line has no end
	mark   marked // checksum of the bytes that the state knows

	asked   bool // there is a line that is not about a run
	carried bool // copies of robots.txt of an earlier crawl were carried over before the first request
}

// readRuns reads the lines about runs, and the time of the last line of each run.
func readRuns(name string, log io.Reader, written int64) (*runsOf, error) {
	r := &runsOf{was: map[string]string{}, mark: marked{left: written}}
	sum := sha256.New()
	counted := &counting{w: sum}
	var before []byte // the line before
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

// counting counts the bytes that are written to w.
type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.w.Write(b)
}

// end notes when the last run ended. It ignores lines that cannot be read: they are reported
// later.
func (r *runsOf) end(before []byte) {
	if l, err := crawllog.Parse(string(before)); err == nil && len(r.all) > 0 {
		r.all[len(r.all)-1].last = l.Time
	}
}

// about notes a line about a run.
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
			r.all = append(r.all, run{}) // the beginning of this run is missing
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

// noteSite notes the settings of a site with its own settings.
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
	case "carried": // the first run may have been killed before it wrote this, so a later run may have
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

// plain returns a value as it was before it was escaped for a line.
func plain(value string) string {
	if s, err := url.PathUnescape(value); err == nil {
		return s
	}
	return value
}

// settle computes the settings of each run. It takes the settings of the last run, sets those
// that changed back to their first values, and then applies the changes of one run after the
// other.
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

// justWritten is a length of time: a run that ends by a kill or a full disk may lose what it
// has learned in its last justWritten. This time counts back from the last line of the run or,
// if that is earlier, from its last commit: lines are written at once, but commits a little
// later.
const justWritten = 10 * time.Second

// lostBy reports whether a kill may have lost what the crawl learned in a run at the time at.
func (r *runsOf) lostBy(run int, at time.Time) bool {
	n := &r.all[run]
	end := n.last
	if !n.committed.IsZero() && n.committed.Before(end) {
		end = n.committed
	}
	return n.killed && at.After(end.Add(-justWritten))
}

// at returns the run that was active at a time, or the last one before it.
func (r *runsOf) at(t time.Time) int {
	for i := len(r.all) - 1; i > 0; i-- {
		if !r.all[i].begun.After(t) {
			return i
		}
	}
	return 0
}

// back reports whether the clock of the machine was set back before a run.
func (r *runsOf) back(run int) bool { return r.all[run].begun.Before(r.all[run-1].last) }

// backAt reports whether the clock may have shown the time t before it was set back.
func (r *runsOf) backAt(t time.Time) bool {
	for i := 1; i < len(r.all); i++ {
		if r.back(i) && !t.Before(r.all[i].begun) {
			return true
		}
	}
	return false
}

// killedBetween reports whether the crawl may have lost what it knew at the time at, because a
// run was killed: the first of two given runs, or one between them.
func (r *runsOf) killedBetween(from, to int, at time.Time) bool {
	for i := from; i < to; i++ {
		if r.lostBy(i, at) {
			return true
		}
	}
	return false
}
