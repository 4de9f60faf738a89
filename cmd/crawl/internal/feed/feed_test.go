package feed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/feed"
)

// counting returns a Run that publishes a number each second, and what it counts: the runs that
// have begun, and those that have ended.
func counting() (run feed.Run, begun, ended *int) {
	begun, ended = new(int), new(int)
	n := 0
	return func(ctx context.Context, publish func(string, []feed.Part)) {
		*begun++
		defer func() { *ended++ }()
		for tick := time.NewTicker(time.Second); ; {
			n++
			publish("a", []feed.Part{{"same", "<p>x</p>"}, {"n", fmt.Sprint(n)}})
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}, begun, ended
}

// Any number of readers share one run, which ends some time after the last of them has left, and
// begins again with the next reader.
func TestReadersShareARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, begun, ended := counting()
		f := feed.New(10*time.Second, run)
		time.Sleep(time.Hour)
		if *begun != 0 {
			t.Error("it runs without readers")
		}
		var readers []*feed.Reader
		for range 1000 {
			readers = append(readers, f.Join())
		}
		for range 3 {
			for i, r := range readers {
				if u, err := r.Next(t.Context()); err != nil || len(u.Parts) != 2 {
					t.Fatalf("reader %d: %v, %v", i, u, err)
				}
			}
		}
		for _, r := range readers {
			r.Leave()
		}
		time.Sleep(9 * time.Second)
		again := f.Join() // before the run has ended
		time.Sleep(time.Minute)
		if *begun != 1 || *ended != 0 {
			t.Errorf("%d runs, %d ended", *begun, *ended)
		}
		again.Leave()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if *begun != 1 || *ended != 1 {
			t.Errorf("without readers: %d runs, %d ended", *begun, *ended)
		}
		last := f.Join()
		if u, err := last.Next(t.Context()); err != nil || u.Parts[1].HTML == "1" {
			t.Errorf("%v, %v", u, err)
		}
		f.Close()
		if *begun != 2 || *ended != 2 {
			t.Errorf("at the end: %d runs, %d ended", *begun, *ended)
		}
		last.Leave()
	})
}

// A reader gets only what has changed since its last update, and a slow one the latest of it.
func TestAReaderSeesTheLatestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, _, _ := counting()
		f := feed.New(0, run)
		defer f.Close()
		r := f.Join()
		defer r.Leave()
		seen := uint64(0)
		for i, want := range []string{`{"same":"<p>x</p>","n":"1"}`, `{"n":"2"}`, `{"n":"61"}`} {
			if i == 2 {
				time.Sleep(59500 * time.Millisecond)
			}
			u, err := r.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := "{" + string(bytes.Join(u.Since(seen), []byte(","))) + "}"
			if seen = u.Version; got != want || !json.Valid([]byte(got)) {
				t.Errorf("update %d: %s, want %s", i, got, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if u, err := r.Next(ctx); err != context.DeadlineExceeded {
			t.Errorf("%v, %v", u, err)
		}
	})
}

// Parts without a change are no update, but another layout is one, and so is a part that is gone.
func TestOnlyChangesAreUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := feed.Part{"a", "1"}, feed.Part{"b", "2"}
		f := feed.New(0, func(ctx context.Context, publish func(string, []feed.Part)) {
			for _, parts := range [][]feed.Part{{a, b}, {a, b}, {b}, {b}} {
				publish("x", parts)
				time.Sleep(time.Second)
			}
			publish("y", []feed.Part{b})
			<-ctx.Done()
			publish("z", []feed.Part{a}) // too late
		})
		r := f.Join()
		begin := time.Now()
		for i, want := range []time.Duration{0, 2 * time.Second, 4 * time.Second} {
			u, err := r.Next(t.Context())
			if err != nil || time.Since(begin) != want || (u.Layout == "y") != (i == 2) || (len(u.Parts) == 2) != (i == 0) {
				t.Errorf("update %d after %s: %+v, %v", i, time.Since(begin), u, err)
			}
		}
		f.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if u, err := r.Next(ctx); err == nil {
			t.Errorf("after the end: %+v", u)
		}
		r.Leave()
	})
}

// Hostile texts stay texts in JSON, on one line.
func TestTextsAreJSON(t *testing.T) {
	const text = "\u2028\u202e</script>\n\r\x00\"\\\xff"
	f := feed.New(0, func(ctx context.Context, publish func(string, []feed.Part)) {
		publish("", []feed.Part{{text, text}})
		<-ctx.Done()
	})
	defer f.Close()
	r := f.Join()
	defer r.Leave()
	u, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	member := u.Since(0)[0]
	var got map[string]string
	if err := json.Unmarshal([]byte("{"+string(member)+"}"), &got); err != nil || len(got) != 1 || bytes.ContainsAny(member, "\r\n") {
		t.Errorf("%q: %v", member, err)
	}
}

// A run begins when the one before has ended, also if that takes long.
func TestRunsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, runs := 0, 0
		f := feed.New(0, func(ctx context.Context, publish func(string, []feed.Part)) {
			if running++; running > 1 {
				t.Errorf("%d runs at a time", running)
			}
			runs++
			publish("a", []feed.Part{{"a", fmt.Sprint(runs)}})
			<-ctx.Done()
			time.Sleep(time.Minute)
			running--
		})
		for i := range 3 {
			r := f.Join()
			if u, err := r.Next(t.Context()); err != nil || u.Parts[0].HTML != fmt.Sprint(i+1) {
				t.Errorf("%+v, %v", u, err)
			}
			r.Leave()
			time.Sleep(time.Second)
		}
		f.Close()
		if runs != 3 || running != 0 {
			t.Errorf("%d runs, %d of them go on", runs, running)
		}
	})
}
