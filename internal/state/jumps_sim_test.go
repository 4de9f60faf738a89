package state

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A witness checks the pauses of a crawl by a clock of its own. This clock counts how long the
// crawl has run in total, so jumps of the machine's clock do not change it.
type witness struct {
	t *testing.T

	mu    sync.Mutex
	rand  *rand.Rand
	begun time.Time     // when this run began, by the machine's clock
	ran   time.Duration // duration of all runs before
	not   map[frontier.Site]time.Duration
	ended map[string]bool
	added int
}

// watch converts a time of the machine's clock to the witness's clock.
func (w *witness) watch(t time.Time) time.Duration { return w.ran + t.Sub(w.begun) }

func (w *witness) worker(ctx context.Context, f *frontier.Frontier) error {
	for {
		turn, err := f.Next(ctx)
		if err != nil {
			return err
		}
		o := w.ask(turn)
		fate, err := turn.Finish(o)
		if err != nil {
			return err
		}
		if fate.Code != frontier.Undecided && fate.Code != frontier.Waiting {
			w.mu.Lock()
			w.ended[turn.Entry().URL.Key()] = true
			w.mu.Unlock()
		}
	}
}

func (w *witness) ask(turn *frontier.Turn) frontier.Outcome {
	site, start := turn.Site(), time.Now()
	w.mu.Lock()
	if early := w.not[site] - w.watch(start); early > 0 {
		w.t.Errorf("%s got a request %v early", site, early)
	}
	kind, took := w.rand.IntN(10), time.Duration(w.rand.IntN(2000))*time.Millisecond
	retryAfter := time.Duration(w.rand.IntN(72)) * time.Hour / 2
	w.mu.Unlock()
	time.Sleep(took)
	end := time.Now()
	o := frontier.Outcome{
		Request: &frontier.Request{Started: start, FirstByte: end, Ended: end},
		Fate:    frontier.Fate{Code: frontier.Fetched, Status: 200},
	}
	pause := max(time.Second, 2*took)
	switch kind {
	case 0:
		o.Trouble = frontier.PageTrouble
	case 1:
		o.Trouble = frontier.ConnectTrouble
		pause = max(pause, 5*time.Second)
	case 2:
		o.Trouble, o.RetryAfter = frontier.SiteTrouble, end.Add(retryAfter)
		pause = max(pause, 5*time.Second, retryAfter)
		if kind == 2 && retryAfter%time.Hour == 0 {
			o.RetryAfter = o.RetryAfter.Round(0) // round to seconds and drop the monotonic clock, as a date in a Retry-After header does
		}
	}
	w.mu.Lock()
	w.not[site] = w.watch(end) + pause
	w.mu.Unlock()
	return o
}

// Between two runs the clock of the machine jumps by years, forward or back, or the directory
// is copied to a machine with such a clock. No pause becomes shorter, and no entry waits for
// years.
//
// For site owners: "No pause gets shorter if the machine's clock is wrong by years in one run,
// or on a machine to which a crawl is copied."
func TestPausesOutliveClocksThatJump(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			w := &witness{t: t, rand: rand.New(rand.NewPCG(seed, 3)), not: map[frontier.Site]time.Duration{}, ended: map[string]bool{}}
			for run := range 8 {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Duration(w.rand.IntN(8)) * 3 * year) // jump, unless the random number is 0: then no time has passed
					w.begun = time.Now()
					db, err := start(dir, Options{})
					if err != nil {
						t.Fatal(err)
					}
					patience := 30 * time.Minute
					if run == 7 {
						patience = 60 * 24 * time.Hour
					}
					f, err := frontier.New(db, frontier.Options{Patience: patience, IPDelay: -1, Restarted: db.Begun().Restarted})
					if err != nil {
						t.Fatal(err)
					}
					for range 6 {
						if err := f.Add(entry(t, fmt.Sprintf("http://h%d.example/%d", w.added%5, w.added))); err != nil {
							t.Fatal(err)
						}
						w.added++
					}
					ctx, cancel := context.WithCancel(t.Context())
					var all sync.WaitGroup
					for range 3 {
						all.Go(func() {
							if err := w.worker(ctx, f); !errors.Is(err, frontier.ErrEnd) {
								t.Error(err)
							}
						})
					}
					all.Wait()
					cancel()
					took := time.Since(w.begun)
					if most := 60 * 24 * time.Hour; took > most {
						t.Errorf("run %d took %v", run, took)
					}
					if err := db.Close(); err != nil {
						t.Error(err)
					}
					w.ran = w.watch(time.Now())
				})
			}
			if len(w.ended) != w.added {
				t.Errorf("%d of %d URLs have ended", len(w.ended), w.added)
			}
		})
	}
}
