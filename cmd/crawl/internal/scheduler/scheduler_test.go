package scheduler_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

const day = 24 * time.Hour

var (
	spring = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	autumn = time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC)
)

// Sixteen weeks, over a change of daylight saving: the scheduler is killed, its children
// die, and the machine is off for days. Each nominal time has one run, or is noted once as
// missed.
func TestNothingIsForgottenOrDoubledInSixteenWeeks(t *testing.T) {
	every := []string{"30 2 * * *", "0 3 * * MON,THU", "0 */6 * * *", "36h"}
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 14))
				w := newWorld(t, []time.Time{spring, autumn}[seed%2], schedule.Spec{
					Every: every[seed%4], Zone: "Europe/Rome", Jitter: []time.Duration{0, 40 * time.Minute}[r.IntN(2)],
					Overlap: []schedule.Overlap{schedule.OverlapSkip, schedule.OverlapWait}[r.IntN(2)],
					CatchUp: []schedule.CatchUp{schedule.CatchUpNone, schedule.CatchUpOnce}[r.IntN(2)],
				})
				lives := rand.New(rand.NewPCG(seed, 15)) // used by another goroutine
				w.life = func(int) life {
					return life{takes: []time.Duration{time.Minute, 5 * time.Hour, 40 * time.Hour}[lives.IntN(3)], dies: max(0, lives.IntN(8)-4)}
				}
				w.sixteenWeeks(r)
				w.check()
			})
		})
	}
}

func (w *world) sixteenWeeks(r *rand.Rand) {
	end := w.now().Add(16 * 7 * day)
	b := w.boot()
	for w.now().Before(end) {
		time.Sleep(time.Duration(r.Int64N(int64(5 * day))))
		synctest.Wait()
		switch r.IntN(5) {
		case 0:
			b.end()
			time.Sleep(time.Duration(r.Int64N(int64(2 * time.Hour))))
		case 1:
			w.off(b)
			time.Sleep(time.Duration(r.Int64N(int64(9 * day))))
		case 2:
			b.commands <- scheduler.Stop
			<-b.over
		case 3:
			b.commands <- scheduler.Reload
			continue
		case 4:
			w.mu.Lock()
			w.killAt = w.steps + 1 + r.IntN(20)
			w.mu.Unlock()
			<-b.over
			b.kill()
		}
		b = w.boot()
	}
	time.Sleep(7 * day)
	w.off(b)
	synctest.Wait()
}

// After a kill of the scheduler at any step, the next scheduler completes the work.
func TestTheSchedulerMayBeKilledAtEachStep(t *testing.T) {
	spec := schedule.Spec{Every: "0 */8 * * *", Zone: "Europe/Rome"}
	lives := []life{{takes: time.Minute}, {dies: 1}, {takes: 30 * time.Hour}, {dies: 2}, {takes: time.Hour, dies: 3}, {takes: time.Hour}}
	for kill, more := 1, true; more; kill++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, time.Date(2026, 3, 28, 6, 59, 0, 0, time.UTC), spec) // a minute before the first run
			w.killAt, w.life = kill, func(n int) life { return lives[n%len(lives)] }
			b := w.boot()
			select {
			case <-b.over:
				b.kill()
				time.Sleep(10 * time.Second)
				b = w.boot()
			case <-time.After(day):
				more = false // there are no more steps to kill it at
			}
			time.Sleep(2 * day)
			synctest.Wait()
			w.off(b)
			synctest.Wait()
			for _, m := range w.missed {
				if m.Why != series.WhyOverlap {
					t.Errorf("killed at step %d: the run of %v was missed: %s", kill, m.Due, m.Why)
				}
			}
			w.check()
		})
		more = more && kill < 120 // idle minutes are all alike
	}
}

// Two schedulers of one series do no harm: a run has one snapshot.
func TestTwoSchedulersDoNotDoubleARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 */6 * * *", Overlap: schedule.OverlapWait})
		w.shared = true
		r := rand.New(rand.NewPCG(1, 1))
		w.life = func(int) life {
			return life{takes: []time.Duration{0, time.Minute, 9 * time.Hour}[r.IntN(3)], dies: max(0, r.IntN(8)-4)}
		}
		first := w.boot()
		time.Sleep(17 * time.Second)
		second := w.boot()
		time.Sleep(21 * day)
		synctest.Wait()
		first.end()
		w.off(second)
		w.check()
	})
}

// runs starts a scheduler and lets it run for d.
func (w *world) runs(d time.Duration) *boot {
	b := w.boot()
	time.Sleep(d)
	synctest.Wait()
	return b
}

// A run that dies is started again, after pauses that grow. In the end it is left alone
// until its next time.
func TestARunThatDiesIsStartedAgainAFewTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
		w.life = func(n int) life { return life{dies: 2} }
		b := w.runs(2 * day)
		w.off(b)
		var pauses []time.Duration
		for i := 1; i < 7; i++ {
			pauses = append(pauses, w.starts[i].Sub(w.starts[i-1]).Round(time.Second))
		}
		want := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, day - 31*time.Minute}
		if !slices.Equal(pauses, want) || len(w.starts) != 12 || len(w.snaps) != 1 {
			t.Errorf("%d starts, with pauses of %v, want %v", len(w.starts), pauses, want)
		}
		if said := strings.Join(w.said, "\n"); !strings.Contains(said, "13:00:00 the run has failed: it is started again in 1m0s\n") || !strings.Contains(said, "the run has failed 6 times: it is tried at the next time") {
			t.Errorf("it said:\n%s", said)
		}
	})
}

// A run that cannot begin, because its job file has a mistake, is noted as missed.
func TestARunThatCannotBeginIsMissed(t *testing.T) {
	for _, every := range []string{"0 13 * * *", "1d"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, autumn, schedule.Spec{Every: every})
			w.life = func(n int) life {
				if n == 0 {
					return life{code: 2}
				}
				return life{takes: time.Minute}
			}
			w.off(w.runs(day + 2*time.Hour))
			if len(w.missed) != 1 || w.missed[0].Why != series.WhyFailed || len(w.snaps) != 1 || len(w.starts) != 2 {
				t.Errorf("%s: missed %v, snapshots %v, %d starts", every, w.missed, w.snaps, len(w.starts))
			}
		})
	}
}

// If a run found the newest snapshot damaged, or of an older layout, the next run makes
// another one. If only the settings were wrong, the next run continues it.
func TestASnapshotThatItsRunRefusesIsLeft(t *testing.T) {
	for code, left := range map[int]bool{2: false, 6: true, 8: true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
			w.life = func(n int) life {
				if n == 0 {
					return life{finds: code}
				}
				return life{takes: time.Minute}
			}
			w.off(w.runs(3 * day))
			said := strings.Join(w.said, "\n")
			snapshots := 2 // the second run continues the first snapshot
			if left {
				snapshots = 3
			}
			ended := !w.snaps[0].ended.IsZero()
			notice := strings.Contains(said, "the newest snapshot cannot be continued, and the next run makes another one: its run found it damaged")
			if len(w.snaps) != snapshots || ended == left || notice != left || !strings.Contains(said, fmt.Sprint("13:00:00 the run ended with exit code ", code, ",")) {
				t.Errorf("exit code %d: %d snapshots, %v; it said\n%s", code, len(w.snaps), w.snaps, said)
			}
		})
	}
}

// A child that dies before it has made a snapshot is started again after the same pauses,
// also in a series whose first run begins at once.
func TestAFirstRunThatDiesHasItsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "1d"})
		w.life = func(n int) life { return life{dies: 1} }
		w.off(w.runs(2 * time.Hour))
		if len(w.starts) != 6 || len(w.missed) != 1 || !w.missed[0].Due.Equal(autumn) {
			t.Errorf("%d starts, missed %v", len(w.starts), w.missed)
		}
	})
}

// The first stop lets a child finish, the second ends it at once. No other child is
// started.
func TestAStopEndsTheChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
		w.life = func(int) life { return life{takes: day} }
		b := w.runs(2 * time.Hour)
		b.commands <- scheduler.Stop
		<-b.over
		synctest.Wait()
		if len(w.alive) > 0 || len(w.starts) != 1 || len(w.snaps) != 1 || !w.snaps[0].ended.IsZero() {
			t.Errorf("%d children, %d starts, %v", len(w.alive), len(w.starts), w.snaps)
		}
		b = w.runs(2 * day)
		w.off(b)
		if len(w.starts) != 3 || w.snaps[0].ended.IsZero() {
			t.Errorf("%d starts, %v: it goes on, and the next one comes", len(w.starts), w.snaps)
		}
	})
}

// A child that was stopped by another process is not started again before its next time.
func TestARunThatWasStoppedRestsUntilItsNextTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
		w.life = func(int) life { return life{takes: 3 * time.Hour} }
		b := w.runs(2 * time.Hour)
		w.mu.Lock()
		for p := range w.alive {
			p.stop <- true
		}
		w.mu.Unlock()
		time.Sleep(20 * time.Hour)
		synctest.Wait()
		w.mu.Lock()
		if len(w.starts) != 1 {
			t.Errorf("%d starts", len(w.starts))
		}
		w.mu.Unlock()
		time.Sleep(10 * time.Hour)
		w.off(b)
		if len(w.starts) != 2 || w.snaps[0].ended.IsZero() || len(w.missed) != 1 || w.missed[0].Why != series.WhyOverlap {
			t.Errorf("%d starts, %v, %v", len(w.starts), w.snaps, w.missed)
		}
	})
}

// A problem of a job file or a directory is logged once. After it is fixed the series goes
// on without a restart of the scheduler.
func TestWhatIsWrongWithASeriesIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
		w.badJob = errors.New("job.yaml:1:1: no")
		b := w.runs(30 * time.Minute)
		w.mu.Lock()
		w.badJob = nil
		w.mu.Unlock()
		time.Sleep(2 * time.Hour)
		w.mu.Lock()
		w.gone = errors.New("no such directory")
		w.mu.Unlock()
		time.Sleep(3 * day)
		w.mu.Lock()
		w.gone, w.badJob = nil, errors.New("job.yaml:2:2: no")
		w.mu.Unlock()
		b.commands <- scheduler.Reload
		time.Sleep(2 * day)
		w.off(b)
		want := []string{"12:00:00 job.yaml:1:1: no", "14:30:00 no such directory", "14:30:00 job.yaml:2:2: no; the schedule stays as it was", "14:30:00 3 runs were missed, the last one that of 2026-09-23T13:00:00Z (off)"}
		if len(w.snaps) != 3 || !slices.Equal(w.said, want) {
			t.Errorf("%d snapshots, it said\n%s", len(w.snaps), strings.Join(w.said, "\n"))
		}
	})
}

// If the clock is set, or the machine sleeps, the next look comes within a minute all the
// same.
func TestAClockThatIsSetIsNoticedWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 3 * * *"})
		b := w.runs(time.Hour)
		w.shift.Store(int64(14*time.Hour - 10*time.Second)) // to ten seconds before its time
		time.Sleep(time.Minute)
		w.off(b)
		if len(w.starts) != 1 {
			t.Errorf("%d starts, it is %v", len(w.starts), w.now())
		}
	})
}

// No more than AtOnce children run at a time. A run that waits for its turn is not missed,
// and comes before those that came later.
func TestRunsWaitForRoomWithoutBeingMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c", "d"}
		worlds := map[string]*world{}
		for _, name := range names {
			w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
			w.life = func(int) life { return life{takes: 50 * time.Minute} }
			worlds[name] = w
		}
		o := worlds["a"].options(1)
		o.Open = func(dir string) scheduler.Series { return worlds[dir] }
		running, most := 0, 0
		o.Start = func(run scheduler.Run) (scheduler.Child, error) {
			for _, w := range worlds {
				w.mu.Lock()
				running += len(w.alive)
				w.mu.Unlock()
			}
			most, running = max(most, running+1), 0
			return worlds[run.Dir].start(run)
		}
		commands := make(chan scheduler.Command)
		over := make(chan bool)
		go func() {
			defer close(over)
			scheduler.New(names, o).Run(t.Context(), commands)
		}()
		time.Sleep(20 * time.Hour)
		commands <- scheduler.Stop
		<-over
		synctest.Wait()
		for i, name := range names {
			w := worlds[name]
			if len(w.missed) > 0 || len(w.starts) != 1 || w.starts[0].Sub(autumn.Add(time.Hour)).Round(time.Minute) != time.Duration(i)*50*time.Minute {
				t.Errorf("%s: %v, missed %v", name, w.starts, w.missed)
			}
		}
		if most != 1 {
			t.Errorf("%d children at a time", most)
		}
	})
}

// The same holds if other nominal times came meanwhile, which were missed.
func TestARunThatWasStoppedLateRestsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
		w.life = func(int) life { return life{takes: 100 * time.Hour} }
		b := w.runs(27 * time.Hour)
		w.mu.Lock()
		for p := range w.alive {
			p.stop <- true
		}
		w.mu.Unlock()
		time.Sleep(10 * time.Hour)
		w.off(b)
		if len(w.starts) != 1 || len(w.missed) != 1 {
			t.Errorf("%d starts, missed %v", len(w.starts), w.missed)
		}
	})
}

// If a process cannot be started it is tried again, after pauses, and then noted as missed.
func TestAProcessThatCannotBeStartedIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, autumn, schedule.Spec{Every: "0 13 * * *"})
		o := w.options(1)
		tries := 0
		o.Start = func(scheduler.Run) (scheduler.Child, error) {
			tries++
			return nil, errors.New("no more processes")
		}
		commands, over := make(chan scheduler.Command), make(chan bool)
		go func() {
			defer close(over)
			scheduler.New([]string{"weekly"}, o).Run(t.Context(), commands)
		}()
		time.Sleep(4 * time.Hour)
		commands <- scheduler.Stop
		<-over
		if tries != 6 || len(w.missed) != 1 || w.missed[0].Why != series.WhyFailed || !slices.Contains(w.said, "13:00:00 no more processes") {
			t.Errorf("%d tries, missed %v; it said\n%s", tries, w.missed, strings.Join(w.said, "\n"))
		}
	})
}
