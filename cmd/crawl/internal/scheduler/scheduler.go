package scheduler

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

// lookAgain is the longest time that the scheduler sleeps.
const lookAgain = time.Minute

// Exit codes of crawl run that the scheduler distinguishes. Killed means a process
// that was ended by a signal.
const (
	Killed  = -1
	usage   = 2
	damaged = 6
	inUse   = 7
	layout  = 8
	stopped = 10
	forced  = 130
)

// A Run is the task of a child process. If Due is zero, the child continues the newest snapshot
// (crawl) of the series. Otherwise it begins the snapshot for the time Due in the schedule,
// which is called its nominal time.
type Run struct {
	Dir   string
	Due   time.Time
	Fresh bool // make the next snapshot although the last one is not over, because the last one cannot be continued
}

// A Child is a process that makes a snapshot of a series.
type Child interface {
	Wait() (code int) // waits for the end of the process and returns its exit code; called once
	Stop()            // asks the process to end; the second call ends it at once
}

// A Series is what the scheduler reads and writes of a series.
type Series interface {
	// Ran returns what has run so far. busy is not nil if another process works on the series.
	// If child is true, a child of this process is at work, so Ran reads no state that the
	// child may be about to open. The first call for a new series records that the series
	// begins at the time now.
	Ran(now time.Time, child bool) (ran schedule.Ran, busy error, err error)
	NoteMissed(...series.Missed) error
	// Dead returns why the newest snapshot cannot be continued, as the last call of Ran
	// found it. It returns nil if the snapshot can be continued or is over.
	Dead() error
	// Schedule reads the job file.
	Schedule() (*schedule.Schedule, error)
}

// Options of a Scheduler. All are required.
type Options struct {
	AtOnce int // children at a time
	Now    func() time.Time
	Open   func(dir string) Series
	Start  func(Run) (Child, error)
	Say    func(dir, format string, args ...any) // logs a line about a series
}

// A Command is what a signal tells a Scheduler to do.
type Command int

const (
	Stop   Command = iota // ask the children to end; a second Stop ends them at once; Run returns when all have ended
	Reload                // read the job files again
)

// A Scheduler starts the runs of series. Its only exported method is Run, which may be
// called once.
type Scheduler struct {
	o        Options
	jobs     []*job
	running  int
	stopping bool
	ended    chan ending
}

// An ending is a child that has ended.
type ending struct {
	of   *job
	code int
}

// New returns a scheduler of the series in the directories dirs.
func New(dirs []string, o Options) *Scheduler {
	s := &Scheduler{o: o, ended: make(chan ending)}
	for _, dir := range dirs {
		s.jobs = append(s.jobs, &job{dir: dir, series: o.Open(dir)})
	}
	return s
}

// Run looks after the series. It returns when Stop was received and all children have
// ended. It also returns when ctx ends, and then leaves the children running.
func (s *Scheduler) Run(ctx context.Context, commands <-chan Command) {
	for _, j := range s.jobs {
		s.read(j)
	}
	for !s.stopping || s.running > 0 {
		timer := time.NewTimer(s.look(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case e := <-s.ended:
			s.over(e)
		case c := <-commands:
			s.obey(c)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look starts the runs that are due, and returns how long the scheduler may sleep.
func (s *Scheduler) look(ctx context.Context) time.Duration {
	wait := lookAgain
	if s.stopping {
		return wait
	}
	now := s.o.Now()
	// The series that has waited longest because AtOnce children run comes first.
	slices.SortStableFunc(s.jobs, func(a, b *job) int {
		if a.held.IsZero() != b.held.IsZero() {
			return cmp.Compare(b.held.Unix(), a.held.Unix())
		}
		return a.held.Compare(b.held)
	})
	for _, j := range s.jobs {
		if wake := s.lookAt(ctx, j, now); !wake.IsZero() {
			wait = min(wait, wake.Sub(now))
		}
	}
	return max(wait, 0)
}

func (s *Scheduler) obey(c Command) {
	switch {
	case c == Reload:
		for _, j := range s.jobs {
			s.read(j)
		}
		return
	case s.stopping:
		s.o.Say("", "ending %d runs at once", s.running)
	case s.running > 0:
		s.o.Say("", "stopping: %d runs end after the requests under way; once more ends them at once", s.running)
	}
	s.stopping = true
	for _, j := range s.jobs {
		if j.child != nil {
			j.child.Stop()
		}
	}
}

// read reads the job file of a series. If that fails, the series keeps the schedule that
// it had.
func (s *Scheduler) read(j *job) {
	is, err := j.series.Schedule()
	if err != nil && j.schedule != nil {
		err = &staysError{err}
	}
	s.logProblem(j, err)
	if err == nil {
		j.schedule = is
	}
}

// A staysError says that the schedule read before stays in force.
type staysError struct{ error }

func (e *staysError) Error() string { return e.error.Error() + "; the schedule stays as it was" }

// logProblem logs what is wrong with a series. It logs the same problem only once.
func (s *Scheduler) logProblem(j *job, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != j.lastProblem {
		s.o.Say(j.dir, "%s", text)
	}
	j.lastProblem = text
}
