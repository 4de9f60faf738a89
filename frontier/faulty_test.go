package frontier

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var errDisk = errors.New("the disk is full")

// faulty is a backlog in which one method, named by the field fails, returns an error.
type faulty struct {
	*memory
	fails string
	reads []int // the lengths of the buffers that Read got, in the order of the calls

	submits int
}

func (b *faulty) err(method string) error {
	if b.fails == method {
		return errDisk
	}
	return nil
}

func (b *faulty) Sites() iter.Seq2[SiteState, error] {
	return failing(b.memory.Sites(), b.err("Sites"))
}

func (b *faulty) Common() iter.Seq2[CommonClock, error] {
	return failing(b.memory.Common(), b.err("Common"))
}

// failing yields all pairs of all, and then the error fails, unless it is nil.
func failing[T any](all iter.Seq2[T, error], fails error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if !yield(v, err) {
				return
			}
		}
		if fails != nil {
			var none T
			yield(none, fails)
		}
	}
}

func (b *faulty) State(s Site) (SiteState, error) {
	st, _ := b.memory.State(s)
	return st, b.err("State")
}

func (b *faulty) Submit(c Completion) error {
	b.submits++
	if err := b.err("Submit"); err != nil {
		return err
	}
	return b.memory.Submit(c)
}

func (b *faulty) Read(s Site, now time.Time, entries []Entry) (int, error) {
	b.reads = append(b.reads, len(entries))
	if err := b.err("Read"); err != nil {
		return 0, err
	}
	return b.memory.Read(s, now, entries)
}

func (b *faulty) ReadRequisites(s Site, now time.Time, entries []Entry) (int, time.Time, error) {
	b.reads = append(b.reads, len(entries))
	if err := b.err("ReadRequisites"); err != nil {
		return 0, time.Time{}, err
	}
	return b.memory.ReadRequisites(s, now, entries)
}

// If the backlog returns an error, the method that called it returns this error, and the crawl
// ends.
func TestErrorsOfTheBacklog(t *testing.T) {
	for _, method := range []string{"Sites", "Common", "Submit"} {
		if _, err := New(&faulty{memory: new(memory), fails: method}, Options{}); !errors.Is(err, errDisk) {
			t.Errorf("%s: New: %v", method, err)
		}
	}
	start := func() (*faulty, *Frontier, *Turn) {
		b := &faulty{memory: new(memory)}
		f := opened(t, b, Options{}, "http://a.example/", "http://b.example/")
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return b, f, turn
	}
	ended := func(what string, f *Frontier) {
		for range 2 {
			if turn, err := f.Next(t.Context()); !errors.Is(err, errDisk) {
				t.Errorf("%s: Next: %v, %v", what, turn, err)
			}
		}
	}
	b, f, _ := start()
	b.fails = "Read"
	ended("Read", f)

	b, f, turn := start()
	b.fails = "ReadRequisites"
	f.opts.Requisites = true
	if err := f.Allow(func(l *Limits) { l.Pages = 1 }); err != nil {
		t.Fatal(err)
	}
	o := page
	o.Links = []Entry{turn.Entry().Found(mustParse(t, "http://c.example/i.png"), HopEmbed)}
	if _, err := turn.Finish(o); err != nil {
		t.Error(err)
	}
	ended("ReadRequisites", f)

	b, f, _ = start()
	b.fails = "Submit"
	if err := f.Add(Entry{URL: mustParse(t, "http://c.example/")}); !errors.Is(err, errDisk) {
		t.Errorf("Add: %v", err)
	}
	ended("Add", f)

	b, f, turn = start()
	b.fails = "Submit"
	if _, err := turn.Finish(page); !errors.Is(err, errDisk) {
		t.Errorf("Finish: %v", err)
	}
	ended("Finish", f)

	// An error of State in Hop does not end the crawl.
	b, f, turn = start()
	b.fails = "State"
	if _, err := turn.Hop("http://c.example"); !errors.Is(err, errDisk) {
		t.Errorf("Hop: %v", err)
	}
	b.fails = ""
	if _, err := turn.Finish(page); err != nil {
		t.Error(err)
	}
	if turn, err := f.Next(t.Context()); err != nil || turn.Site() != "http://b.example" {
		t.Error(turn, err)
	}
}

// A backlog that cannot continue sends an error in a growth. No Submit settles then.
func TestABacklogThatCannotGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(memory)
		f := opened(t, b, Options{}, "http://a.example/")
		f.mu.Lock()
		f.pending++ // one Submit that never settles
		f.mu.Unlock()
		b.growths.Put(Growth{Err: errDisk})
		f.Settle(t.Context())
		for range 2 {
			if _, err := f.Next(t.Context()); !errors.Is(err, errDisk) {
				t.Errorf("Next: %v", err)
			}
		}
	})
}

// After Finish a turn cannot be used again.
func TestAFinishedTurn(t *testing.T) {
	f := opened(t, new(memory), Options{}, "http://a.example/")
	turn, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Finish(page); err != nil {
		t.Fatal(err)
	}
	if err := turn.Bind(oneAddr, true); !errors.Is(err, errFinished) {
		t.Errorf("Bind: %v", err)
	}
	if hop, err := turn.Hop("http://b.example"); !errors.Is(err, errFinished) || hop != nil {
		t.Errorf("Hop: %v, %v", hop, err)
	}
	if fate, err := turn.Finish(page); !errors.Is(err, errFinished) || fate != (Fate{}) {
		t.Errorf("Finish: %v, %v", fate, err)
	}
	if st := f.Stats(); st.Out != 0 || st.Spent.Pages != 1 {
		t.Errorf("%+v", st)
	}
}

func TestNotYetSaysWhatAndWhen(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	for want, err := range map[string]error{
		"frontier: not yet: site is in use":                        &NotYet{By: SiteClock},
		"frontier: not yet: ip until 2026-01-02T03:04:05.0000006Z": &NotYet{IPClock, at},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// If more than mostAhead entries are in memory, each read reads one entry only.
func TestWhatIsReadAheadIsBounded(t *testing.T) {
	const ahead = 5 // number of entries of each read; one of them is handed out at once
	b := &faulty{memory: new(memory)}
	f := opened(t, b, Options{ReadAhead: ahead, Delay: -1})
	next := func(site Site) *Turn {
		t.Helper()
		turn, err := f.Next(t.Context())
		if err != nil || site != "" && turn.Site() != site {
			t.Fatal(turn, err)
		}
		return turn
	}
	add := func(site string) {
		var all [ahead]Entry
		for n := range all {
			all[n].URL = mustParse(t, fmt.Sprintf("%s/%d", site, n))
		}
		if err := f.Add(all[:]...); err != nil {
			t.Fatal(err)
		}
	}
	// The last of these reads brings more than mostAhead entries into memory.
	var turn *Turn
	for i := range mostAhead/(ahead-1) + 1 {
		add(fmt.Sprintf("http://h%d.example", i))
		if taken := next(""); i == 0 {
			turn = taken
		}
	}
	if i := slices.IndexFunc(b.reads, func(n int) bool { return n != ahead }); i >= 0 {
		t.Fatalf("read %d is of %d entries", i, b.reads[i])
	}
	again := func(o Outcome) {
		t.Helper()
		if _, err := turn.Finish(o); err != nil {
			t.Fatal(err)
		}
		turn = next("http://h0.example")
	}
	read := func(site Site, want int) {
		t.Helper()
		add(string(site))
		if next(site); b.reads[len(b.reads)-1] != want {
			t.Errorf("%s reads %d entries, want %d", site, b.reads[len(b.reads)-1], want)
		}
	}
	// An entry finished with Again returns to memory, and leaves it when it is handed out.
	again(Outcome{Again: true})
	again(Outcome{Again: true})
	again(page)
	again(page)
	again(page)
	read("http://x.example", 1)
	again(page)
	read("http://y.example", ahead)
}

// A site reads ReadAhead entries at once, and reads no more before these are used up.
func TestHowManyEntriesAreReadAtOnce(t *testing.T) {
	for n, want := range map[int]string{0: "[8 8]", 1: "[1 1 1 1 1 1 1 1 1 1]", 3: "[3 3 3 3]", 7: "[7 7]", 8: "[8 8]", 9: "[8 8]"} {
		b := &faulty{memory: new(memory)}
		f := opened(t, b, Options{ReadAhead: n, Delay: -1}, pagesOf([]string{"http://a.example"}, 10)...)
		for range 10 {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Finish(page); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(b.reads); got != want {
			t.Errorf("ReadAhead %d: reads of %s, want %s", n, got, want)
		}
	}
}

// Finish submits a completion only if something has changed.
func TestFinishSubmitsOnlyChanges(t *testing.T) {
	now := time.Now()
	asked := &Request{Started: now, Ended: now}
	for _, tc := range []struct {
		o    Outcome
		want int
	}{
		{Outcome{Again: true}, 0},
		{Outcome{Again: true, RobotsFailures: maxRobotsFails - 1}, 0},
		{Outcome{Again: true, RobotsFailures: maxRobotsFails}, 1},
		{Outcome{Again: true, Gone: true}, 1},
		{Outcome{Again: true, Defer: now.Add(time.Hour)}, 1},
		{Outcome{Again: true, Request: asked}, 1},
		{Outcome{Trouble: PageTrouble}, 1},
		{page, 1},
	} {
		b := &faulty{memory: new(memory)}
		turn, err := opened(t, b, Options{}, "http://a.example/").Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := b.submits
		if _, err := turn.Finish(tc.o); err != nil || b.submits-before != tc.want {
			t.Errorf("%+v: %d submits, want %d; %v", tc.o, b.submits-before, tc.want, err)
		}
	}
}

// A pause that was moved because of a wrong clock is submitted if it is longer than a minute.
func TestMovedPausesAreSubmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for _, tc := range []struct {
			ended, pause time.Duration
			want         int // number of completions, not counting the empty one
		}{
			{0, time.Hour, 0},
			{time.Second, time.Minute, 0},
			{time.Second, time.Minute + 1, 1},
			{-longSleep, time.Hour, 0},
			{-longSleep - 1, time.Hour, 1},
			{-longSleep - 1, time.Second, 0},
		} {
			end := now.Add(tc.ended)
			b := &faulty{memory: knowing(t, Clocks{Ended: end, Due: end.Add(tc.pause), By: OwnClock})}
			opened(t, b, Options{})
			if got := b.submits - 1; got != tc.want {
				t.Errorf("ended %v from now, due %v later: %d submits, want %d", tc.ended, tc.pause, got, tc.want)
			}
		}
	})
}
