package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

// A machine has one series of real snapshots of a web that changes from week to week. Its
// processes share a clock, and a disk that a kill leaves as it is. It is in a bubble of
// virtual time.
type machine struct {
	t        *testing.T
	web      *crawltest.Web
	series   series.Series
	schedule *schedule.Schedule
	first    time.Time      // nominal time of week 0
	lasts    int            // how many later nominal times fall into the run of longWeek
	dying    chan *worker   // workers that wait in a step to be killed
	kills    map[string]int // kills of processes that had a snapshot, by its name

	mu            sync.Mutex
	at            *worker // the worker that holds the series
	starts        []started
	killed        map[string]int        // killed processes, by what they were doing
	steps, killAt int                   // of the scheduler
	lives         func(week, n int) int // step at which the nth process of a week is killed; 0: never
	said          []string
}

// started is a process that was started.
type started struct {
	due time.Time // zero if it was to continue a snapshot
	at  time.Time
}

func newMachine(t *testing.T, begin time.Time, spec schedule.Spec) *machine {
	time.Sleep(time.Until(begin))
	s, err := schedule.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{
		t: t, web: crawltest.New(t), series: series.Series{Dir: filepath.Join(t.TempDir(), "weekly")}, schedule: s, first: s.Next(begin),
		lasts: 1, dying: make(chan *worker), kills: map[string]int{}, killed: map[string]int{}, lives: func(int, int) int { return 0 },
	}
	if err := os.Mkdir(m.series.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, seed := range weekSeeds {
		answer := func(w http.ResponseWriter, req *http.Request) {
			m.during("a request")
			serve(w, req, m.week(time.Now()))
		}
		m.web.Site(seed).Latency(170*time.Millisecond).Default(answer).Func("/robots.txt", answer)
	}
	return m
}

// week returns the number of the week of a time. The web changes on Thursdays.
func (m *machine) week(at time.Time) int {
	return int(at.Sub(m.first.Add(-3*day)) / (7 * day))
}

// during makes the process that is at work take a step.
func (m *machine) during(what string) {
	m.mu.Lock()
	p := m.at
	m.mu.Unlock()
	if p != nil {
		p.step(what)
	}
}

// atTheEnd as killAt means the last step of a process, lastStep.
const (
	atTheEnd = -1
	lastStep = "after its last page"
)

// A worker is a process that makes a snapshot, as crawl run does.
type worker struct {
	m        *machine
	due      time.Time
	manual   bool
	killAt   int
	dead     chan bool // closed by a kill
	returned chan bool // closed after its last goroutine has ended
	ended    chan bool
	code     int

	mu      sync.Mutex
	steps   int
	crawl   *crawler.Crawler
	stopped bool
}

// step may kill the process. It reports whether it has.
func (p *worker) step(what string) (killed bool) {
	p.mu.Lock()
	p.steps++
	here := p.steps == p.killAt || p.killAt == atTheEnd && what == lastStep
	p.mu.Unlock()
	if here {
		p.m.mu.Lock()
		p.m.killed[what]++
		p.m.mu.Unlock()
		p.m.dying <- p
		<-p.dead
	}
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// Wait implements scheduler.Child.
func (p *worker) Wait() int {
	<-p.ended
	return p.code
}

// Stop implements scheduler.Child.
func (p *worker) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped = true; p.crawl != nil {
		p.crawl.Stop()
	}
}

// start starts a process, which ends by itself or by a kill.
func (m *machine) start(due time.Time, manual bool) *worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	week, n := m.week(time.Now()), 0
	for _, s := range m.starts {
		if m.week(s.at) == week {
			n++
		}
	}
	p := &worker{m: m, due: due, manual: manual, killAt: m.lives(week, n), dead: make(chan bool), returned: make(chan bool), ended: make(chan bool)}
	m.starts = append(m.starts, started{due, time.Now()})
	go func() {
		p.code = p.live()
		close(p.returned)
		select {
		case <-p.dead: // kill closes p.ended after it has restored the disk
		default:
			close(p.ended)
		}
	}()
	return p
}

// live does what crawl run does.
func (p *worker) live() (code int) {
	time.Sleep(50 * time.Millisecond)
	if p.step("before its snapshot") {
		return scheduler.Killed
	}
	opts := crawler.Options{
		Identity: crawler.Identity{Token: "weekbot", Contact: "https://example.org/weekbot"}, Seeds: weekSeeds,
		Wire: crawler.Wire{Network: p.m.web}, Budget: crawler.Budget{Patience: 2 * time.Hour}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
	}
	r, err := p.m.series.Begin(series.Job{File: []byte("job"), Options: &opts}, series.Moment{Now: time.Now(), Due: p.due})
	if err != nil {
		p.m.t.Errorf("the run of %v: %v", p.due, err)
		return 2
	}
	defer r.Close()
	if p.due.IsZero() && !p.manual && !r.Resumed {
		p.m.t.Errorf("%v: a process that was to go on has made %s", time.Now(), r.Dir)
	}
	p.m.set(p)
	defer p.m.set(nil)
	if p.step("a snapshot that is empty") {
		return scheduler.Killed
	}
	opts.Dir, opts.Seeds, opts.Previous, opts.TextDigest = r.Dir, r.Seeds, r.Previous, true
	if err := p.run(opts); err != nil {
		select {
		case <-p.dead:
		default:
			p.m.t.Errorf("the run of %v: %v", p.due, err)
		}
		return scheduler.Killed
	}
	if p.m.week(time.Now()) == longWeek {
		time.Sleep(time.Until(p.m.due(longWeek + p.m.lasts).Add(2 * time.Hour)))
	}
	if p.step(lastStep) {
		return scheduler.Killed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return 10
	}
	return 0
}

// run crawls until it is done or killed.
func (p *worker) run(opts crawler.Options) error {
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.crawl = c
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	return c.Run(ctx, crawler.HandlerFunc(func(ctx context.Context, _ *crawler.Page) error {
		p.step("a page")
		return ctx.Err()
	}))
}

func (m *machine) set(p *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = p
}

// kill ends a process that waits in a step. Only what it wrote to disk until then remains.
func (m *machine) kill(p *worker) {
	synctest.Wait()
	snapshots, err := m.series.Snapshots()
	if err != nil {
		m.t.Fatal(err)
	}
	m.mu.Lock()
	has := m.at == p
	m.mu.Unlock()
	dir, left := "", filepath.Join(m.t.TempDir(), "left")
	if n := len(snapshots); has && n > 0 {
		dir = snapshots[n-1].Dir
		m.kills[filepath.Base(dir)]++
		if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
			m.t.Fatal(err)
		}
	}
	close(p.dead)
	<-p.returned
	if dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			m.t.Fatal(err)
		}
		if err := os.Rename(left, dir); err != nil {
			m.t.Fatal(err)
		}
	}
	close(p.ended)
}

// A watched series is one whose scheduler may be killed at each step.
type watched struct {
	*scheduler.Dir
	m *machine
}

func (w watched) Ran(now time.Time, child bool) (schedule.Ran, error, error) {
	w.m.step()
	defer w.m.step()
	return w.Dir.Ran(now, child)
}

func (w watched) NoteMissed(runs ...series.Missed) error {
	w.m.step()
	defer w.m.step()
	return w.Dir.NoteMissed(runs...)
}

// step may kill the scheduler.
func (m *machine) step() {
	m.mu.Lock()
	m.steps++
	kill := m.steps == m.killAt
	m.mu.Unlock()
	if kill {
		runtime.Goexit()
	}
}

// boot starts a scheduler, which is killed after killIn steps, or not if killIn is 0.
func (m *machine) boot(killIn int) *boot {
	m.mu.Lock()
	m.killAt = 0
	if killIn > 0 {
		m.killAt = m.steps + killIn
	}
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	b := &boot{cancel, make(chan scheduler.Command, 10), make(chan bool)}
	s := scheduler.New([]string{m.series.Dir}, scheduler.Options{
		AtOnce: 1, Now: time.Now,
		Open: func(string) scheduler.Series {
			return watched{&scheduler.Dir{Series: m.series, Job: func() (*schedule.Schedule, error) { return m.schedule, nil }}, m}
		},
		Start: func(run scheduler.Run) (scheduler.Child, error) {
			m.step()
			defer m.step()
			return m.start(run.Due, false), nil
		},
		Say: func(_, format string, args ...any) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.said = append(m.said, time.Now().UTC().Format("01-02 15:04:05 ")+fmt.Sprintf(format, args...))
		},
	})
	go func() {
		defer close(b.over)
		s.Run(ctx, b.commands)
	}()
	return b
}

// on runs the machine until a time, and restarts a scheduler that was killed.
func (m *machine) on(b *boot, until time.Time) *boot {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	over, again := b.over, (<-chan time.Time)(nil)
	for {
		select {
		case p := <-m.dying:
			m.kill(p)
		case <-over:
			b.kill()
			over, again = nil, time.After(10*time.Second)
		case <-again:
			b = m.boot(0)
			over, again = b.over, nil
		case <-timer.C:
			return b
		}
	}
}
