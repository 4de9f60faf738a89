package scheduler_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

const sixteen = 16

// Sixteen weeks of a web that changes, over each change of daylight saving, with kills at
// many steps. Each run makes its snapshot once, at its time, or is noted as missed. A run
// whose time comes while another goes on is missed, or waits for the other to end. No
// request is too early. The change of each page is that which the web made.
func TestSixteenWeeksOfAWebThatChanges(t *testing.T) {
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("PERMESSO_WEEKS"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		season string
		begin  time.Time
		third  string // the snapshot of a week in which its time does not exist, or exists twice
		lasts  int    // how many later nominal times fall into the run of longWeek
		spec   schedule.Spec
	}{
		{"spring", time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC), "20260329T010000Z.crawl", 1, schedule.Spec{CatchUp: schedule.CatchUpOnce, Jitter: 40 * time.Minute}},
		{"autumn", time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC), "20261025T003000Z.crawl", 1, schedule.Spec{CatchUp: schedule.CatchUpNone}},
		{"waiting in spring", time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC), "20260329T010000Z.crawl", 1, schedule.Spec{CatchUp: schedule.CatchUpNone, Overlap: schedule.OverlapWait}},
		{"waiting in autumn", time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC), "20261025T003000Z.crawl", 2, schedule.Spec{CatchUp: schedule.CatchUpOnce, Overlap: schedule.OverlapWait, Jitter: 40 * time.Minute}},
	} {
		c.spec.Every, c.spec.Zone = "30 2 * * SUN", "Europe/Rome"
		for round := range rounds {
			t.Run(fmt.Sprint(c.season, " ", round), func(t *testing.T) {
				t.Parallel() // it mostly waits for the disk
				synctest.Test(t, func(t *testing.T) {
					m := newMachine(t, c.begin, c.spec)
					m.lasts = c.lasts
					m.lives = func(week, n int) int { return deathOf(7*round+len(c.season), week, n) }
					manual := m.live(round)
					m.check(manual)
					if _, err := os.Stat(filepath.Join(m.series.Dir, c.third)); err != nil {
						t.Errorf("the run at the change of daylight saving: %v", err)
					}
					for _, what := range []string{"before its snapshot", "a snapshot that is empty", "a request", "a page", lastStep} {
						if m.killed[what] == 0 {
							t.Errorf("nothing was killed at %s: %v", what, m.killed)
						}
					}
				})
			})
		}
	}
}

// deathOf returns the step at which the nth process of a week is killed, or 0 if it is not.
// A process that is not killed has some 45 steps.
func deathOf(shift, week, n int) int {
	switch {
	case week == restWeek && n == 1:
		return 12 // while it waits for the site that rests
	case week == restWeek, week == stoppedWeek:
		return 0
	case n == 0 && week == 5:
		return atTheEnd
	case n == 0:
		return 1 + (3*week+shift)%45
	case n == 1:
		return 1 + (5*week+shift)%11
	case n == 2 && week%3 == 0:
		return 1 + week%2
	}
	return 0
}

// due returns the nominal time of a week.
func (m *machine) due(week int) time.Time {
	at := m.first
	for range week {
		at = m.schedule.Next(at)
	}
	return at
}

// live runs all weeks, and returns when a run was started by hand. Between runs the machine
// is off.
func (m *machine) live(round int) (manual time.Time) {
	b := m.boot(0)
	b = m.on(b, m.first.Add(-time.Hour))
	for week := range sixteen {
		b.end()
		due := m.due(week)
		start := m.schedule.Start("weekly", due)
		if week == offWeek {
			start = due.Add(3*day - 2*time.Hour)
		}
		time.Sleep(time.Until(start.Add(-90 * time.Second)))
		b = m.boot(1 + week + 5*round)
		switch week {
		case restWeek:
			b = m.on(b, start.Add(10*time.Minute))
			manual = time.Now().Add(50 * time.Millisecond).Truncate(time.Second)
			m.start(time.Time{}, true)
		case stoppedWeek:
			b = m.on(b, start.Add(20*time.Second))
			b.commands <- scheduler.Stop
			<-b.over
			time.Sleep(5 * time.Minute)
			b = m.boot(0)
		}
		b = m.on(b, start.Add(5*time.Hour))
		m.mu.Lock()
		if m.at != nil && (week < longWeek || week >= longWeek+m.lasts) {
			m.t.Errorf("week %d: a run goes on after five hours", week)
		}
		m.mu.Unlock()
	}
	b.end()
	synctest.Wait()
	return manual
}

// check compares what was done with what was to be done.
func (m *machine) check(manual time.Time) {
	m.web.AssertPolite()
	var names []string
	var missed []series.Missed
	for week := range sixteen {
		due := m.due(week)
		late := week == offWeek
		if late && m.schedule.Spec().CatchUp == schedule.CatchUpNone {
			missed = append(missed, series.Missed{Due: due, Why: series.WhyOff})
			continue
		}
		if overlapped := week > longWeek && week <= longWeek+m.lasts; overlapped {
			if m.schedule.Spec().Overlap == schedule.OverlapSkip || week < longWeek+m.lasts {
				missed = append(missed, series.Missed{Due: due, Why: series.WhyOverlap})
				continue
			}
			late = true // it has waited
		}
		names = append(names, series.SnapshotName(due))
		if week == restWeek {
			names = append(names, series.SnapshotName(manual))
		}
		m.checkStart(due, late)
	}
	is, _, err := m.series.Missed()
	if err != nil {
		m.t.Fatal(err)
	}
	for i := range is {
		is[i].Noted = time.Time{}
	}
	if d := gocmp.Diff(missed, is); d != "" {
		m.t.Errorf("missed (-want +got):\n%s", d)
	}
	snapshots, err := m.series.Snapshots()
	if err != nil {
		m.t.Fatal(err)
	}
	var made []string
	for i, s := range snapshots {
		made = append(made, filepath.Base(s.Dir))
		m.checkSnapshot(snapshots, i)
	}
	if d := gocmp.Diff(names, made); d != "" {
		m.t.Errorf("snapshots (-want +got):\n%s", d)
	}
	m.checkRest(manual)
}

// checkStart checks when the first process of a run was started.
func (m *machine) checkStart(due time.Time, late bool) {
	want := m.schedule.Start("weekly", due)
	for _, s := range m.starts {
		if s.due.Equal(due) {
			if after := s.at.Sub(want); after < 0 || !late && after >= time.Minute {
				m.t.Errorf("the run of %v began %v after its time", due, after)
			}
			return
		}
	}
	m.t.Errorf("the run of %v was not started", due)
}

// checkSnapshot compares a snapshot with the web of its week, and with the snapshot before.
func (m *machine) checkSnapshot(all []series.Snapshot, i int) {
	s := all[i]
	name := filepath.Base(s.Dir)
	if state, err := s.State(); err != nil || !state.Over {
		m.t.Errorf("%s is not over: %+v, %v", name, state, err)
		return
	}
	if _, err := store.Verify(context.Background(), s.Dir, func(err error) { m.t.Errorf("%s: %v", name, err) }); err != nil {
		m.t.Errorf("%s: %v", name, err)
	}
	if report, err := audit.Dir(s.Dir, audit.Options{}); err != nil || !report.Clean() || report.UnprovenLines > 0 {
		m.t.Errorf("%s: the audit says %+v, %v", name, report, err)
	}
	week, before := m.weekOf(s), -1
	if i > 0 {
		before = m.weekOf(all[i-1])
	}
	want := map[string]answered{}
	for url, status := range reached(week) {
		if status == refused {
			continue
		}
		a := answered{Status: status}
		if i > 0 {
			a.Change = class(url, before, week)
		}
		want[url] = a
	}
	if d := gocmp.Diff(want, m.pages(s)); d != "" {
		m.t.Errorf("%s, week %d after week %d: pages (-want +got):\n%s", name, week, before, d)
	}
	if i > 0 {
		m.checkDiff(all[i-1], s, before, week)
	}
}

// weekOf returns the week of the web that a snapshot shows.
func (m *machine) weekOf(s series.Snapshot) int {
	facts, err := s.ReadFacts()
	if err != nil {
		m.t.Fatal(err)
	}
	return m.week(facts.Began)
}

// answered is what pages.jsonl says about a URL.
type answered struct {
	Status int
	Change crawler.ChangeClass
}

func (m *machine) pages(s series.Snapshot) map[string]answered {
	f, err := os.Open(filepath.Join(s.Dir, store.PagesFile))
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	all, twice := map[string]answered{}, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p store.PageRecord
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			m.t.Fatal(err)
		}
		if _, there := all[p.URL]; there {
			twice++ // it was stored but not acknowledged before a kill
		}
		all[p.URL] = answered{p.Status, crawler.ChangeClass(p.Change)}
	}
	if name := filepath.Base(s.Dir); twice > m.kills[name]*len(weekSeeds) {
		m.t.Errorf("%s has %d pages twice, after %d kills with a page of %d sites under way", name, twice, m.kills[name], len(weekSeeds))
	}
	return all
}

// checkDiff compares the diff of two snapshots with what the web changed.
func (m *machine) checkDiff(a, b series.Snapshot, was, is int) {
	kinds, effects := map[string]diff.Kind{}, map[string]bool{}
	result, err := diff.Compare(context.Background(), a.Dir, b.Dir, diff.Options{
		Temp:   m.t.TempDir(),
		Change: func(c *diff.Change) error { kinds[c.URL] = c.Kind; return nil },
		Effect: func(e *diff.Effect) error { effects[e.URL] = e.Allowed; return nil },
	})
	if err != nil {
		m.t.Errorf("%s: %v", b.Dir, err)
		return
	}
	wantKinds, wantEffects := kindsOf(was, is)
	wantCounts, counts := map[diff.Kind]int64{}, map[diff.Kind]int64{}
	for url, kind := range wantKinds {
		if wantCounts[kind]++; !kind.IsChange() {
			delete(wantKinds, url) // it is counted, not listed
		}
	}
	for _, kind := range diff.Kinds() {
		if n := result.Counts.Of(kind); n > 0 {
			counts[kind] = n
		}
	}
	if d := gocmp.Diff(wantCounts, counts); d != "" {
		m.t.Errorf("figures from week %d to week %d (-want +got):\n%s", was, is, d)
	}
	if d := gocmp.Diff(wantKinds, kinds); d != "" {
		m.t.Errorf("from week %d to week %d (-want +got):\n%s", was, is, d)
	}
	if d := gocmp.Diff(wantEffects, effects); d != "" {
		m.t.Errorf("robots.txt from week %d to week %d (-want +got):\n%s", was, is, d)
	}
}

// checkRest checks that a site was left alone for its Retry-After at the end of a snapshot,
// while the next snapshot went on with other sites.
func (m *machine) checkRest(manual time.Time) {
	var until time.Time
	others, asked := 0, false
	for _, r := range m.web.Log() {
		rests := r.Site.Host() == "c.example"
		switch {
		case r.RetryAfter == oneHour:
			until = r.End.Add(time.Hour)
		case until.IsZero() || asked:
		case rests:
			asked = true
			if late := r.Start.Sub(until); late < 0 || late > time.Minute {
				m.t.Errorf("the site that rests was asked %v after its rest", late)
			}
		case r.Start.After(manual):
			others++
		}
	}
	if !asked || others < 10 {
		m.t.Errorf("the site that rests was asked again: %t; others %d times meanwhile", asked, others)
	}
}
