package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

// A world has one series, the processes that work on it, and a clock. It is in a bubble
// of virtual time.
type world struct {
	t     *testing.T
	begin time.Time    // of the world
	epoch time.Time    // by the clock of the bubble
	shift atomic.Int64 // how far the clock of the world was set forward

	mu     sync.Mutex
	snaps  []snap
	missed []series.Missed
	since  time.Time
	holder *process // of the lock
	alive  map[*process]bool
	said   []string
	starts []time.Time
	gone   error // why the directory cannot be read

	steps, killAt int
	spec          schedule.Spec
	badJob        error
	life          func(n int) life // of the nth process
	shared        bool             // several schedulers look after the series
}

// A snap is a snapshot.
type snap struct {
	due, ended time.Time // ended is zero for one that is not over
}

// A life determines what happens to a process.
type life struct {
	takes time.Duration // how long it crawls
	dies  int           // 1: before it has a snapshot, 2: right after that, 3: at the end; 0: never
	code  int           // exit code before it has a snapshot; 0: it goes on
	finds int           // exit code with which it refuses the snapshot; 0: it does not refuse
}

func newWorld(t *testing.T, begin time.Time, spec schedule.Spec) *world {
	return &world{t: t, begin: begin, epoch: time.Now(), spec: spec, alive: map[*process]bool{}, life: func(int) life { return life{takes: time.Minute} }}
}

func (w *world) now() time.Time {
	return w.begin.Add(time.Since(w.epoch) + time.Duration(w.shift.Load()))
}

// step may kill the scheduler.
func (w *world) step() {
	w.mu.Lock()
	w.steps++
	kill := w.steps == w.killAt
	w.mu.Unlock()
	if kill {
		runtime.Goexit()
	}
}

func (w *world) Schedule() (*schedule.Schedule, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.badJob != nil {
		return nil, w.badJob
	}
	return schedule.New(w.spec)
}

func (w *world) Ran(now time.Time, child bool) (ran schedule.Ran, busy error, err error) {
	w.step()
	defer w.step()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone != nil {
		return ran, nil, w.gone
	}
	for _, s := range w.snaps {
		if s.due.After(ran.Last) {
			ran.Last, ran.Ended, ran.Going = s.due, s.ended, s.ended.IsZero()
		}
	}
	for _, m := range w.missed {
		if m.Due.After(ran.Last) {
			ran.Last = m.Due
		}
	}
	if w.since.IsZero() {
		w.since = now
	}
	ran.Since = w.since
	if w.holder != nil && !child {
		ran.Going, busy = true, errors.New("in use")
	}
	return ran, busy, nil
}

func (w *world) Dead() error { return nil }

func (w *world) NoteMissed(runs ...series.Missed) error {
	w.step()
	defer w.step()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range runs {
		if known := slices.ContainsFunc(w.missed, func(k series.Missed) bool { return k.Due.Equal(m.Due) }); !known || !w.shared {
			w.missed = append(w.missed, m)
		}
	}
	return nil
}

// A process is a crawl run of the series.
type process struct {
	w      *world
	run    scheduler.Run
	life   life
	stop   chan bool
	ended  chan int
	code   int
	killed atomic.Bool
}

func (w *world) start(run scheduler.Run) (scheduler.Child, error) {
	w.step()
	defer w.step()
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &process{w: w, run: run, life: w.life(len(w.starts)), stop: make(chan bool, 10), ended: make(chan int)}
	w.starts = append(w.starts, w.now())
	w.alive[p] = true
	go p.live()
	return p, nil
}

func (p *process) Wait() int {
	<-p.ended
	return p.code
}

func (p *process) Stop() { p.stop <- true }

// sleep sleeps for d, or until Stop.
func (p *process) sleep(d time.Duration) (stopped bool) {
	select {
	case <-time.After(d):
		return false
	case <-p.stop:
		return true
	}
}

// live does what crawl run does.
func (p *process) live() {
	code := scheduler.Killed
	defer func() {
		p.w.mu.Lock()
		defer p.w.mu.Unlock()
		if p.w.holder == p {
			p.w.holder = nil
		}
		delete(p.w.alive, p)
		p.code = code
		close(p.ended)
	}()
	if p.sleep(50*time.Millisecond) || p.life.dies == 1 {
		return
	}
	if p.life.code != 0 {
		code = p.life.code
		return
	}
	at, refused := p.takeSnapshot()
	if refused != 0 {
		code = refused
		return
	}
	if p.life.dies == 2 {
		return
	}
	if p.life.finds != 0 {
		code = p.life.finds
		return
	}
	if p.sleep(p.life.takes) {
		if !p.killed.Load() {
			code = 10
		}
		return
	}
	if p.life.dies == 3 {
		return
	}
	p.w.mu.Lock()
	p.w.snaps[at].ended = p.w.now()
	p.w.mu.Unlock()
	code = 0
}

// takeSnapshot makes the next snapshot or continues the last one.
func (p *process) takeSnapshot() (at, refused int) {
	w := p.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.holder != nil {
		return 0, 7
	}
	w.holder = p
	at = len(w.snaps) - 1
	if at >= 0 && w.snaps[at].ended.IsZero() && !p.run.Fresh {
		return at, 0
	}
	if w.shared && at >= 0 && !p.run.Due.After(w.snaps[at].due) {
		return 0, 2 // as crawl run says of a snapshot that is there
	}
	if p.run.Due.IsZero() || at >= 0 && !p.run.Due.After(w.snaps[at].due) {
		w.t.Errorf("%v: a child is to make the snapshot of %v after %v", w.now(), p.run.Due, w.snaps)
		return 0, 2
	}
	w.snaps = append(w.snaps, snap{due: p.run.Due})
	return at + 1, 0
}

// A boot is a running scheduler.
type boot struct {
	kill     context.CancelFunc
	commands chan scheduler.Command
	over     chan bool
}

func (w *world) boot() *boot {
	ctx, cancel := context.WithCancel(context.Background())
	b := &boot{cancel, make(chan scheduler.Command, 10), make(chan bool)}
	s := scheduler.New([]string{"weekly"}, w.options(1))
	go func() {
		defer close(b.over)
		s.Run(ctx, b.commands)
	}()
	return b
}

func (w *world) options(atOnce int) scheduler.Options {
	return scheduler.Options{
		AtOnce: atOnce, Now: w.now, Open: func(string) scheduler.Series { return w }, Start: w.start,
		Say: func(dir, format string, args ...any) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.said = append(w.said, w.now().UTC().Format("15:04:05 ")+fmt.Sprintf(format, args...))
		},
	}
}

// end ends the scheduler as kill -9 does: its children keep running.
func (b *boot) end() {
	b.kill()
	<-b.over
}

// off kills all processes.
func (w *world) off(b *boot) {
	b.end()
	w.mu.Lock()
	for p := range w.alive {
		p.killed.Store(true)
		select {
		case p.stop <- true:
		default:
		}
	}
	w.mu.Unlock()
	synctest.Wait()
}

// check compares the runs with the times of the schedule.
func (w *world) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := schedule.New(w.spec)
	if err != nil {
		w.t.Fatal(err)
	}
	account := map[int64]string{}
	note := func(due time.Time, how string) {
		if was := account[due.Unix()]; was != "" {
			w.t.Errorf("the run of %v: %s, and %s", due, was, how)
		}
		account[due.Unix()] = how
	}
	first := time.Time{}
	for i, one := range w.snaps {
		note(one.due, "run")
		if one.ended.IsZero() && i < len(w.snaps)-1 {
			w.t.Errorf("the run of %v did not end, and another one has begun", one.due)
		}
		if first.IsZero() {
			first = one.due
		}
	}
	for _, m := range w.missed {
		note(m.Due, m.Why)
		overlapped := false
		for _, one := range w.snaps {
			start := s.Start("weekly", m.Due)
			overlapped = overlapped || one.due.Before(m.Due) && (one.ended.IsZero() || one.ended.After(start))
		}
		if m.Why == series.WhyOverlap && !overlapped {
			w.t.Errorf("the run of %v was missed by overlap, but no run was in its way", m.Due)
		}
	}
	at := s.Next(w.since)
	if !strings.Contains(w.spec.Every, " ") { // runs are counted from the first
		at = first
	}
	n := 0
	for ; !s.Start("weekly", at).After(w.now()); at = s.Next(at) {
		newest := s.Start("weekly", s.Next(at)).After(w.now()) // it may wait, or be about to be tried again
		if account[at.Unix()] == "" && !newest {
			w.t.Errorf("the run of %v was forgotten", at)
		}
		delete(account, at.Unix())
		n++
	}
	if len(account) > 0 {
		w.t.Errorf("runs at no time of the schedule: %v", account)
	}
	if n < 5 {
		w.t.Errorf("%d runs in all", n)
	}
}
