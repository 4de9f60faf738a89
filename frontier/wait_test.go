package frontier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// waiting starts n goroutines that call Next. Each result comes as a string with its time.
func waiting(ctx context.Context, f *Frontier, n int) <-chan string {
	begin := time.Now()
	told := make(chan string, n)
	for range n {
		go func() {
			turn, err := f.Next(ctx)
			if err != nil {
				told <- fmt.Sprintf("+%v %v", time.Since(begin), err)
				return
			}
			told <- fmt.Sprintf("+%v %s", time.Since(begin), turn.Site())
		}()
		synctest.Wait()
	}
	return told
}

// reads returns the next n results of the goroutines.
func reads(t *testing.T, told <-chan string, n int) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for range n {
		select {
		case s := <-told:
			all[s] = true
		case <-time.After(time.Hour):
			t.Fatalf("only %v", all)
		}
	}
	return all
}

// A goroutine in Next is woken as soon as there is a turn for it, even if all earlier turns are
// still out.
func TestWaitingGoroutinesAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Patience: 2 * time.Hour}, "http://held.example/")
		if _, err := f.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		told := waiting(t.Context(), f, workers)
		time.Sleep(time.Minute)
		var some []Entry
		for i := range workers {
			some = append(some, Entry{URL: mustParse(t, fmt.Sprintf("http://h%d.example/", i))})
		}
		if err := f.Add(some...); err != nil {
			t.Fatal(err)
		}
		all := reads(t, told, workers)
		for i := range workers {
			if want := fmt.Sprintf("+1m0s http://h%d.example", i); !all[want] {
				t.Errorf("%s is not among %v", want, all)
			}
		}
	})
}

// One of the goroutines in Next is the leader. If the leader's context ends, another one becomes
// the leader.
func TestALeaderThatLeavesIsReplaced(t *testing.T) {
	for leaving := range 3 {
		synctest.Test(t, func(t *testing.T) {
			f := opened(t, new(memory), Options{Delay: 10 * time.Second}, "http://a.example/1", "http://a.example/2")
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o := page
			o.Request = &Request{Started: time.Now(), Ended: time.Now()}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			var all sync.WaitGroup
			for i := range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i == leaving {
					time.AfterFunc(5*time.Second, cancel)
				}
				all.Go(func() {
					turn, err := f.Next(ctx)
					switch after := time.Since(begin); {
					case i == leaving:
						if !errors.Is(err, context.Canceled) || after != 5*time.Second {
							t.Errorf("the canceled call returned %v after %v", err, after)
						}
					case err == nil:
						if after != 10*time.Second {
							t.Errorf("%s is had after %v", turn.Site(), after)
						}
						if _, err := turn.Finish(page); err != nil {
							t.Error(err)
						}
					case !errors.Is(err, ErrEnd) || after != 10*time.Second:
						t.Errorf("%v after %v", err, after)
					}
				})
				synctest.Wait()
			}
			all.Wait()
		})
	}
}

func TestStopReachesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{}, "http://a.example/")
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := waiting(t.Context(), f, workers)
		time.Sleep(time.Second)
		f.Stop()
		if all := reads(t, told, workers); len(all) != 1 || !all["+1s "+ErrStopped.Error()] {
			t.Errorf("%v", all)
		}
		if fate, err := turn.Finish(page); err != nil || fate.Code != Fetched {
			t.Errorf("a turn that was out: %+v, %v", fate, err)
		}
	})
}

// gated is a backlog whose Read waits until a gate is opened.
type gated struct {
	*memory
	gate chan struct{} // closed to let Read continue; nil: Read does not wait
}

func (b *gated) Read(s Site, now time.Time, entries []Entry) (int, error) {
	if b.gate != nil {
		<-b.gate
	}
	return b.memory.Read(s, now, entries)
}

// If a due site has only an entry that waits for its Due, the leader learns when this entry is
// due.
func TestASiteThatHadNothingToReadIsWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &gated{memory: new(memory)}
		f := opened(t, b, Options{ReadAhead: 1, Patience: Forever}, "http://a.example/")
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if fate, err := turn.Finish(Outcome{Trouble: PageTrouble, Request: &Request{Started: time.Now(), Ended: time.Now()}}); err != nil || fate.Code != Waiting {
			t.Fatalf("%v, %v", fate, err)
		}
		b.gate = make(chan struct{})
		reader := waiting(t.Context(), f, 1)
		time.Sleep(2 * time.Second) // now the site is due, and its entry is not
		keeper := waiting(t.Context(), f, 1)
		close(b.gate)
		select {
		case got := <-reader:
			if got != "+15s http://a.example" {
				t.Errorf("the reader got %s", got)
			}
		case got := <-keeper:
			if got != "+13s http://a.example" {
				t.Errorf("the leader got %s", got)
			}
		case <-time.After(time.Hour):
			t.Error("no call got the entry")
		}
		f.Stop()
		synctest.Wait()
	})
}
