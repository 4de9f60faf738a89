package frontier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// meanwhile is a backlog that calls do after it has stored the end of a held entry.
type meanwhile struct {
	*memory
	do  func()
	err error
}

func (b *meanwhile) Submit(c Completion) error {
	err := b.memory.Submit(c)
	if c.Held && c.Fate.Code != Undecided {
		b.do()
		err = b.err
	}
	return err
}

// held returns a turn whose entry is held, and its frontier, which has another entry.
func held(t *testing.T, b *meanwhile) (*Frontier, *Turn) {
	t.Helper()
	f := opened(t, b, Options{}, "http://a.example/1", "http://a.example/2")
	turn, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := page
	o.Hold = true
	if err := turn.Done(); !errors.Is(err, errNotHeld) {
		t.Errorf("Done before Finish: %v", err)
	}
	if _, err := turn.Finish(o); err != nil || !turn.Held() {
		t.Fatal(turn.Held(), err)
	}
	if err := turn.Done(Entry{}); !errors.Is(err, ErrNoURL) || !turn.Held() {
		t.Errorf("Done with a link that leads nowhere: %v, held %v", err, turn.Held())
	}
	return f, turn
}

// While the end of a held entry is submitted, its site is in no queue. The crawl does not end in
// this time, and no other turn gets the site.
func TestARunDoesNotEndWhileAnEndIsSubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &meanwhile{memory: new(memory)}
		f, turn := held(t, b)
		got := make(chan *Turn, 1)
		b.do = func() {
			go func() {
				next, err := f.Next(t.Context())
				if err != nil {
					t.Errorf("Next: %v", err)
				}
				got <- next
			}()
			synctest.Wait()
			if len(got) > 0 {
				t.Error("Next has returned while the end was submitted")
			}
			if r := f.Rest(); r.Pending == 0 {
				t.Errorf("at rest: %+v", r)
			}
		}
		if err := turn.Done(); err != nil {
			t.Error(err)
		}
		if next := <-got; next == nil || next.Entry().URL.Target() != "/2" {
			t.Errorf("the next turn is %+v", next)
		}
	})
}

// If Submit fails for a held entry, the crawl ends. Either Done or the Finish of another turn
// returns the error.
func TestAnEndThatCannotBeKept(t *testing.T) {
	for name, out := range map[string]bool{"at once": false, "with the turn that has the site": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &meanwhile{memory: new(memory), do: func() {}, err: errDisk}
				f, turn := held(t, b)
				want := errDisk
				var other *Turn
				if out {
					var err error
					if other, err = f.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
					want = nil
				}
				if err := turn.Done(); !errors.Is(err, want) {
					t.Errorf("Done: %v", err)
				}
				if out {
					if _, err := other.Finish(page); err != nil {
						t.Error(err)
					}
				}
				if _, err := f.Next(t.Context()); !errors.Is(err, errDisk) {
					t.Errorf("Next: %v", err)
				}
			})
		})
	}
}

// A turn that is handed out removes the value of Idle, because the frontier is no longer idle.
func TestIdleEndsWithTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, &meanwhile{memory: new(memory)}, Options{}, "http://a.example/1")
		for n := range 2 {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Idle()) > 0 {
				t.Errorf("turn %d is out, and the frontier is idle", n)
			}
			o := page
			o.Hold = true
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			soon, cancel := context.WithTimeout(t.Context(), time.Minute)
			if _, err := f.Next(soon); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
			if len(f.Idle()) == 0 {
				t.Errorf("only held entries are left after turn %d, and the frontier is not idle", n)
			}
			if n > 0 {
				break
			}
			if err := f.Add(Entry{URL: mustParse(t, "http://a.example/2")}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
