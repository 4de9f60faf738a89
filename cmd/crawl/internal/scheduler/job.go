package scheduler

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

// A run that fails is started again up to mostTries times. The first pause before such a try is
// firstPause, and each further pause is twice as long. All pauses together are half an hour.
const (
	mostTries  = 5
	firstPause = time.Minute
)

// A job is a series that the scheduler looks after. Losing its fields does no harm, because
// they only say how long the scheduler waits and how often it tries.
type job struct {
	dir         string
	series      Series
	schedule    *schedule.Schedule // nil until the job file has been read
	lastProblem string             // the last problem that was logged, so that it is logged once

	child Child // nil if none runs
	run   Run   // of the child

	task  time.Time // the time in the schedule (nominal time) of the run that the following fields are about
	tries int       // how many tries have failed
	again time.Time // the next try is not before this
	rests bool      // no more tries until the next nominal time
	dead  time.Time // nominal time of the snapshot whose run has found it damaged; zero if none exists
	held  time.Time // since when a run waits because AtOnce children already run
	waits time.Time // when a run was last seen to wait for the end of the run before it

	idle idle // the last plan, if there was nothing to do
}

// An idle is a plan with nothing to do. It is valid between its two times, as long as neither
// what has run (ran) nor the schedule (of) has changed. So the plan need not be made again each
// minute.
type idle struct {
	ran      schedule.Ran
	of       *schedule.Schedule
	from, to time.Time
	plan     schedule.Plan
}

// errDead is the reason for giving up a snapshot whose state can be read, but whose run has
// found it damaged.
var errDead = errors.New("its run found it damaged")

// lookAt finds out what to do for a series, and does it. It returns the time when something is
// due for the series, or the zero time if that is not known.
func (s *Scheduler) lookAt(ctx context.Context, j *job, now time.Time) (wake time.Time) {
	if j.schedule == nil {
		if s.read(j); j.schedule == nil {
			return time.Time{}
		}
	}
	ran, busy, err := j.series.Ran(now, j.child != nil)
	if err != nil {
		s.logProblem(j, err)
		return time.Time{}
	}
	dead := j.series.Dead()
	if dead == nil && j.child == nil && ran.Going && !j.dead.IsZero() && j.dead.Equal(ran.Last) {
		ran.Going, dead = false, errDead
	}
	if j.child != nil {
		ran.Going = true
		if j.run.Due.After(ran.Last) {
			ran.Last = j.run.Due // the snapshot of the run may not be there yet
		}
	}
	if !ran.Going { // the process may have run longer than the crawl
		ran.Ended = later(ran.Ended, j.waits)
	}
	plan, last, err := s.plan(j, ran, now)
	if err != nil {
		s.logProblem(j, err)
		return time.Time{}
	}
	if wake = plan.Wake; !plan.Waiting.IsZero() {
		j.waits = now
	}
	if j.child != nil {
		s.logProblem(j, nil)
		return wake
	}
	if busy == nil && dead != nil {
		s.logProblem(j, fmt.Errorf("the newest snapshot cannot be continued, and the next run makes another one: %w", dead))
	} else {
		s.logProblem(j, busy)
	}
	run := Run{Dir: j.dir, Due: plan.Run, Fresh: dead != nil}
	task := run.Due
	if ran.Going {
		run.Due, task = time.Time{}, later(last, plan.Waiting)
	}
	if busy != nil || !ran.Going && run.Due.IsZero() {
		j.held = time.Time{}
		return wake
	}
	if !task.Equal(j.task) {
		j.task, j.tries, j.again, j.rests, j.held = task, 0, time.Time{}, false, time.Time{}
	}
	switch {
	case j.rests:
		return wake
	case now.Before(j.again):
		return earlier(wake, j.again)
	case s.running >= s.o.AtOnce:
		if j.held.IsZero() {
			j.held = now
		}
		return wake
	}
	s.start(ctx, j, run)
	return wake
}

// plan returns what the schedule of j says to do now, and records the runs that were missed.
// last is the nominal time of the last run that was started or was recorded as missed,
// whichever is later. A run does not count as late if it only waits because AtOnce children
// already run.
func (s *Scheduler) plan(j *job, ran schedule.Ran, now time.Time) (p schedule.Plan, last time.Time, err error) {
	if i := j.idle; i.of == j.schedule && i.ran == ran && !now.Before(i.from) && now.Before(i.to) {
		return i.plan, ran.Last, nil
	}
	name := Name(j.dir)
	for {
		p = j.schedule.Plan(name, ran, now)
		if !j.held.IsZero() && j.held.Before(now) {
			if then := j.schedule.Plan(name, ran, j.held); then.Wake.After(now) {
				p = then
			}
		}
		if ran.Last.IsZero() && !p.Run.IsZero() && p.Run.After(j.task) && j.tries > 0 && periodic(j.schedule) {
			p.Run = j.task // all tries are for the same run
		}
		if len(p.Missed) == 0 {
			if p.Run.IsZero() {
				j.idle = idle{ran, j.schedule, now, p.Wake, p}
			}
			return p, ran.Last, nil
		}
		var missed []series.Missed
		for _, m := range p.Missed {
			missed = append(missed, series.Missed{Due: m.Due, Why: string(m.Why), Noted: now})
			ran.Last = later(ran.Last, m.Due)
		}
		if err := j.series.NoteMissed(missed...); err != nil {
			return p, ran.Last, err
		}
		newest := p.Missed[len(p.Missed)-1]
		if n := len(missed); n > 1 {
			s.o.Say(j.dir, "%d runs were missed, the last one that of %s (%s)", n, newest.Due.Format(time.RFC3339), newest.Why)
		} else {
			s.o.Say(j.dir, "the run of %s was missed (%s)", newest.Due.Format(time.RFC3339), newest.Why)
		}
		if !p.More {
			return p, ran.Last, nil
		}
	}
}

// periodic reports whether runs are counted from the first one, which may begin at any
// time.
func periodic(s *schedule.Schedule) bool {
	return !strings.ContainsAny(strings.TrimSpace(s.Spec().Every), " \t@")
}

// Name returns the name of a series: the last part of its directory.
func Name(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	return filepath.Base(dir)
}

func (s *Scheduler) start(ctx context.Context, j *job, run Run) {
	child, err := s.o.Start(run)
	if err != nil {
		s.o.Say(j.dir, "%v", err)
		s.failed(j, run)
		return
	}
	j.child, j.run, j.held = child, run, time.Time{}
	s.running++
	// This goroutine waits for the child. It ends with the child, or with ctx.
	go func() {
		e := ending{j, child.Wait()}
		select {
		case s.ended <- e:
		case <-ctx.Done():
		}
	}()
}

// over records that the child process of a series has ended. It reads the files of the series
// to find out what the child has done.
func (s *Scheduler) over(e ending) {
	j, run := e.of, e.of.run
	j.child, j.run = nil, Run{}
	s.running--
	ran, _, err := j.series.Ran(s.o.Now(), false)
	made := !run.Due.After(ran.Last)
	switch {
	case s.stopping || err != nil || made && !ran.Going:
		return
	case e.code == inUse:
		j.again = s.o.Now().Add(lookAgain)
		return
	case made && (e.code == stopped || e.code == forced):
		s.o.Say(j.dir, "the run was stopped: it goes on at the next time, or when the scheduler is started again")
		s.rest(j, made, run)
	case e.code == usage || e.code == damaged || e.code == layout:
		if made && e.code != usage {
			j.dead = ran.Last
		}
		s.o.Say(j.dir, "the run ended with exit code %d, which needs to be fixed: it is tried at the next time", e.code)
		s.rest(j, made, run)
	default:
		s.failed(j, run)
	}
	if made {
		j.task = ran.Last // the next try continues the snapshot
	}
}

// failed starts a run again after a pause, or gives up after mostTries.
func (s *Scheduler) failed(j *job, run Run) {
	if j.tries++; j.tries > mostTries {
		s.o.Say(j.dir, "the run has failed %d times: it is tried at the next time", j.tries)
		ran, _, err := j.series.Ran(s.o.Now(), false)
		s.rest(j, err == nil && !run.Due.After(ran.Last), run)
		return
	}
	pause := firstPause << (j.tries - 1)
	j.again = s.o.Now().Add(pause)
	s.o.Say(j.dir, "the run has failed: it is started again in %v", pause)
}

// rest leaves a series alone until its next nominal time. If the run has made no snapshot, rest
// records the run as missed.
func (s *Scheduler) rest(j *job, made bool, run Run) {
	j.rests = true
	if made {
		return
	}
	if err := j.series.NoteMissed(series.Missed{Due: run.Due, Why: series.WhyFailed, Noted: s.o.Now()}); err != nil {
		s.logProblem(j, err)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
