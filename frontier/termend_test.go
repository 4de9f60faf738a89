package frontier

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

func TestEndIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, f := newTermed(t, Options{}, "http://a.example/1", "http://a.example/2")
		f.Rest()
		for _, err := range []error{nil, ErrStopped, errDisk} {
			if f.End(err) == nil {
				t.Errorf("End(%v) is accepted", err)
			}
		}
		turn, o := turnOf(t, f, siteA), page
		if err := f.End(ErrEnd); err == nil || errors.Is(err, ErrEnd) {
			t.Errorf("End while a turn is out: %v", err)
		}
		o.Hold = true
		finish(t, turn, o)
		f.Rest()
		if err := f.End(ErrPatience); err == nil || errors.Is(err, ErrEnd) {
			t.Errorf("End while an entry is held: %v", err)
		}
		turn.Done()
		if err := f.End(ErrUnasked); err == nil || errors.Is(err, ErrEnd) {
			t.Errorf("End before the backlog has settled: %v", err)
		}
		f.Rest()
		finish(t, turnOf(t, f, siteA), page)
		f.Rest()
		if r := f.Rest(); r.Verdict != ErrEnd || r.Out+r.Pending+r.Held != 0 {
			t.Errorf("%+v", r)
		}
		none(t, f, time.Hour) // without End the run does not end
		found := fmt.Errorf("found by another frontier: %w", ErrPatience)
		if err := f.End(found); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := f.End(ErrEnd); err != found {
				t.Errorf("a second End: %v", err)
			}
			if _, err := f.Next(t.Context()); err != found {
				t.Errorf("Next: %v", err)
			}
		}
		if r := f.Rest(); r.Verdict != found {
			t.Errorf("%+v", r)
		}
	})
}

func TestEndWithALimitDoesNotWait(t *testing.T) {
	_, f := newTermed(t, Options{}, "http://a.example/1")
	turn := turnOf(t, f, siteA)
	if err := f.End(ErrLimit); err != nil {
		t.Error(err)
	}
	finish(t, turn, page)
	if _, err := f.Next(t.Context()); err != ErrLimit {
		t.Error(err)
	}
}

// Rest.Verdict is the error with which the run would end if Limits.Open were not set.
func TestVerdicts(t *testing.T) {
	for name, test := range map[string]struct {
		opts Options
		do   func(t *testing.T, f *Frontier)
		want error
	}{
		"due":      {Options{}, func(*testing.T, *Frontier) {}, nil},
		"out":      {Options{}, func(t *testing.T, f *Frontier) { turnOf(t, f, siteA) }, nil},
		"ended":    {Options{}, func(t *testing.T, f *Frontier) { finish(t, turnOf(t, f, siteA), page) }, ErrEnd},
		"excluded": {Options{}, func(t *testing.T, f *Frontier) { f.Exclude(string(siteA), "x") }, ErrUnasked},
		"held": {Options{}, func(t *testing.T, f *Frontier) {
			o := page
			o.Hold = true
			finish(t, turnOf(t, f, siteA), o)
		}, nil},
		"waits":          {Options{}, func(t *testing.T, f *Frontier) { finish(t, turnOf(t, f, siteA), deferred(time.Minute)) }, nil},
		"waits too long": {Options{}, func(t *testing.T, f *Frontier) { finish(t, turnOf(t, f, siteA), deferred(time.Hour)) }, ErrPatience},
		"pages":          {Options{Limit: 1}, func(t *testing.T, f *Frontier) { finish(t, turnOf(t, f, siteA), page) }, ErrLimit},
		"paused": {Options{}, func(t *testing.T, f *Frontier) {
			finish(t, turnOf(t, f, siteA), page)
			f.Allow(func(l *Limits) { l.Paused = true })
		}, nil},
		"stopped": {Options{}, func(t *testing.T, f *Frontier) { f.Stop() }, ErrStopped},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, f := newTermed(t, test.opts, "http://a.example/1")
			test.do(t, f)
			f.Rest()
			if r := f.Rest(); r.Verdict != test.want {
				t.Errorf("%s: %+v, want %v", name, r, test.want)
			}
		})
	}
}

// deferred returns the outcome of a turn after which the site gets no request for d.
func deferred(d time.Duration) Outcome { return Outcome{Again: true, Defer: time.Now().Add(d)} }

// A gate provides an Options.Blocked. The zero gate is open: requests are permitted.
type gate struct{ shut atomic.Pointer[chan struct{}] }

func (g *gate) blocked() <-chan struct{} {
	if shut := g.shut.Load(); shut != nil {
		return *shut
	}
	return nil
}

func (g *gate) close() {
	shut := make(chan struct{})
	g.shut.Store(&shut)
}

func (g *gate) open() { close(*g.shut.Swap(nil)) }

func TestNoTurnLeavesNextWhileRequestsAreBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		g.close()
		f := opened(t, new(memory), Options{Blocked: g.blocked}, "http://a.example/1", "http://a.example/2")
		none(t, f, time.Hour)
		if r := f.Rest(); r.Out != 0 || r.Verdict != nil {
			t.Errorf("%+v", r)
		}
		time.AfterFunc(time.Minute, g.open)
		begin := time.Now()
		turn := turnOf(t, f, siteA)
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("a turn after %v", d)
		}
		g.close()
		var notYet *NotYet
		if err := turn.Bind(oneAddr, true); !errors.As(err, &notYet) || *notYet != (NotYet{}) {
			t.Errorf("Bind: %v", err)
		}
		finish(t, turn, Outcome{Again: true})
		time.AfterFunc(time.Minute, f.Stop)
		if _, err := f.Next(t.Context()); err != ErrStopped {
			t.Errorf("Next after Stop: %v", err)
		}
	})
}

// blockedByRead is a backlog whose Read closes a gate, so that requests become blocked.
type blockedByRead struct {
	*memory
	g     *gate
	reads int
}

func (b *blockedByRead) Read(s Site, now time.Time, entries []Entry) (int, error) {
	if b.reads++; b.reads == 1 {
		b.g.close()
	}
	return b.memory.Read(s, now, entries)
}

// A turn is put back if requests become blocked while its entry is read. An entry that becomes
// forbidden in this time is not handed out later.
func TestATurnIsPutBackWhenRequestsAreBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{}
		b := &blockedByRead{memory: new(memory), g: g}
		f := opened(t, b, Options{Blocked: g.blocked, Rate: rate.Every(10 * time.Second)}, "http://a.example/1", "http://b.example/1")
		time.AfterFunc(time.Minute, func() {
			if st := f.Stats(); st.Out != 0 || st.Entries != 2 {
				t.Errorf("while requests are blocked: %+v", st)
			}
			f.Exclude(string(siteA), "meanwhile")
			g.open()
		})
		begin := time.Now()
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != time.Minute || turn.Site() != siteB || turn.Entry().Tries != 0 {
			t.Errorf("after %v: %+v", d, turn.Entry())
		}
		finish(t, turn, page)
	})
}
