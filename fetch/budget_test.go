package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// visitWith takes turns for a URL until its entry has ended, as a crawl does. It calls use with
// each result before the result is released.
func visitWith(ctx context.Context, f *Fetcher, raw string, use func(*Result)) error {
	u, err := frontier.ParseURL(raw)
	if err != nil {
		return err
	}
	front, err := frontier.New(frontier.NewMemory(), frontier.Options{Patience: 10 * time.Minute})
	if err == nil {
		err = front.Add(frontier.Entry{URL: u})
	}
	for err == nil {
		var turn *frontier.Turn
		if turn, err = front.Next(ctx); err != nil {
			break
		}
		var res Result
		res, err = f.Get(ctx, turn)
		if err == nil {
			use(&res)
		}
		_, ferr := turn.Finish(res.Outcome)
		res.Release()
		err = errors.Join(err, ferr)
	}
	if errors.Is(err, frontier.ErrEnd) {
		return nil
	}
	return err
}

// encoded returns an answer with the page plain in a content coding.
func encoded(t testing.TB, coding string, plain []byte) string {
	body := coded(t, coding, plain)
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", coding, len(body), body)
}

// With a budget of one byte, the bodies are read into memory one after another. Each body is
// complete, and no server waits for the budget.
func TestTheLeastBudgetLetsOneBodyAfterTheOtherThrough(t *testing.T) {
	plain := text(270 << 10)
	kinds := []string{"", "gzip", "br", "zstd"}
	pages := map[string]string{}
	for _, coding := range kinds {
		pages[coding] = encoded(t, coding, plain)
	}
	small := page("small")
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			w := &wire{serve: answers(noRobots(func(r *request, n int) string {
				if r.target == "/small" {
					return small
				}
				return pages[r.target[1:]]
			}))}
			f := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: keep, BodyBudget: 1, TempDir: dir}, Bounds: Bounds{MaxHosts: 1, MaxIdle: 1, MaxNames: 1}}).fetcher
			var large atomic.Int32
			var visits sync.WaitGroup
			for i := range 14 {
				// This goroutine makes one visit. It ends with its page.
				visits.Go(func() {
					url, small := fmt.Sprintf("http://h%d.example/%s", i, kinds[i%4]), false
					if i >= 10 {
						url, small = fmt.Sprintf("http://h%d.example/small", i), true
					}
					done := false
					err := visitWith(t.Context(), f, url, func(r *Result) {
						if r.Page == nil {
							return
						}
						done = true
						if small {
							return
						}
						if n := large.Add(1); n > 1 {
							t.Errorf("%d bodies in memory", n)
						}
						time.Sleep(time.Second)
						large.Add(-1)
						if x := r.Page; !bytes.Equal(x.Body, plain) || x.Ended.Sub(x.Started) > 100*time.Millisecond || keep && int64(len(x.Wire)) != x.WireBytes {
							t.Errorf("%s: %d bytes, %d of %d on the wire, in %v", url, len(x.Body), len(x.Wire), x.WireBytes, x.Ended.Sub(x.Started))
						}
					})
					if err != nil || !done {
						t.Errorf("%s: done %t, error %v", url, done, err)
					}
				})
			}
			visits.Wait()
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("files are left: %v", left)
			}
		})
	}
}

func TestBodiesThatAreCutOrBrokenAreSoWithoutMemory(t *testing.T) {
	const limit = 270 << 10
	long := text(300 << 10)
	for _, coding := range []string{"", "gzip", "br", "zstd"} {
		whole := encoded(t, coding, long)
		for name, tc := range map[string]struct {
			answer string
			stage  Stage
			cut    bool
		}{
			"long":   {whole, "", true},
			"broken": {whole[:len(whole)/2], StageTruncated, false},
		} {
			for _, budget := range []int64{0, 1} {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{}
					w.serve = func(c net.Conn, n int) {
						answers(noRobots(func(r *request, _ int) string { return tc.answer }))(&once{Conn: c}, n)
					}
					f := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true, MaxSize: limit, BodyBudget: budget, TempDir: t.TempDir()}}).fetcher
					if budget > 0 {
						// All decoders are in use, so the body waits in its encoded form.
						for range maxWindows {
							f.bodies.window("br")
						}
						time.AfterFunc(time.Minute, func() { f.bodies.freeWindow("br") })
					}
					var first *Exchange
					if err := visitWith(t.Context(), f, "http://a.example/", func(r *Result) {
						if x := r.Exchanges[0]; first == nil && !x.Robots {
							first = x
						}
					}); err != nil {
						t.Fatal(err)
					}
					if stage(first) != tc.stage && !(tc.stage == StageTruncated && coding == "" && tc.cut) || (first.Truncated == "length") != tc.cut || len(first.Body) > limit {
						t.Errorf("%s, %s, budget %d: stage %q, truncated %q, %d bytes: %v", coding, name, budget, stage(first), first.Truncated, len(first.Body), first.Err)
					}
					if tc.cut && name == "long" && !bytes.Equal(first.Body, long[:limit]) {
						t.Errorf("%s, budget %d: another body of %d bytes", coding, budget, len(first.Body))
					}
				})
			}
		}
	}
}

func TestTheContextEndsTheWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat("x", 300<<10)
		served := make(chan bool, 2)
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page(body) }))}
		serve := w.serve
		w.serve = func(c net.Conn, n int) { serve(c, n); served <- true }
		f := newTour(t, Options{Network: w, Bodies: Bodies{BodyBudget: 1, TempDir: t.TempDir()}}).fetcher
		ctx, cancel := context.WithCancel(t.Context())
		holds, stop := make(chan bool), make(chan bool)
		var visits sync.WaitGroup
		// This visit holds the whole budget until stop is closed.
		visits.Go(func() {
			visitWith(t.Context(), f, "http://a.example/", func(r *Result) {
				if r.Page != nil {
					close(holds)
					<-stop
				}
			})
		})
		<-holds
		begin := time.Now()
		time.AfterFunc(time.Hour, cancel)
		var waited *Exchange
		err := visitWith(ctx, f, "http://b.example/", func(r *Result) { waited = last(r.Exchanges) })
		if took := time.Since(begin); took != time.Hour || !errors.Is(err, context.Canceled) {
			t.Errorf("waited %v: %v", took, err)
		}
		if stage(waited) != StageStopped || waited.Ended.Sub(begin) > time.Minute || waited.WireBytes != int64(len(body)) {
			t.Errorf("stage %q, ended after %v with %d bytes", stage(waited), waited.Ended.Sub(begin), waited.WireBytes)
		}
		close(stop)
		visits.Wait()
	})
}

func TestWhatHasNoPlaceForItsFileIsNoFaultOfTheSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page(strings.Repeat("x", 300<<10)) }))}
		v := newTour(t, Options{Network: w, Bodies: Bodies{BodyBudget: 1, TempDir: filepath.Join(t.TempDir(), "none")}})
		err := visitWith(t.Context(), v.fetcher, "http://a.example/", func(*Result) {})
		if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "temporary file") {
			t.Errorf("error %v", err)
		}
	})
}

// A body stops waiting for a decoder when its context ends.
func TestTheContextEndsTheWaitForADecoder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return encoded(t, "br", []byte("hello")) }))}
		f := newTour(t, Options{Network: w, Bodies: Bodies{BodyBudget: 1 << 20, TempDir: t.TempDir()}}).fetcher
		if !f.bodies.windows.TryAcquire(maxWindows) {
			t.Fatal("decoders are in use")
		}
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Hour, cancel)
		err := visitWith(ctx, f, "http://a.example/", func(r *Result) {
			if x := last(r.Exchanges); !x.Robots && stage(x) != StageStopped {
				t.Errorf("stage %q, body %q", stage(x), x.Body)
			}
		})
		if took := time.Since(begin); took != time.Hour || !errors.Is(err, context.Canceled) {
			t.Errorf("waited %v: %v", took, err)
		}
		if f.bodies.windows.TryAcquire(1) {
			t.Error("a decoder was released that was not acquired")
		}
		f.bodies.windows.Release(maxWindows)
	})
}

func TestAFileThatFailsIsAnErrorOfThePile(t *testing.T) {
	for name, use := range map[string]func(*spool) error{
		"append":          func(p *spool) error { return p.append([]byte("x")) },
		"fill":            func(p *spool) error { return p.fill(strings.NewReader("x"), 100) },
		"load":            func(p *spool) error { return p.load() },
		"load of a share": func(p *spool) error { return p.share.load(context.Background(), p) },
	} {
		b := newBudget(1, t.TempDir())
		p := &spool{share: &share{budget: b, full: true}}
		if err := p.append([]byte("before")); err != nil {
			t.Fatal(err)
		}
		p.file.Close()
		if err := use(p); !isSpool(err) {
			t.Errorf("%s: %v", name, err)
		}
		b.dir = filepath.Join(b.dir, "none")
		p = &spool{share: &share{budget: b, full: true}, b: []byte("before")}
		if err := use(p); !isSpool(err) && name != "load" {
			t.Errorf("%s without a place for the file: %v", name, err)
		}
	}
}

// The bytes after a body are read to the end, even if they end exactly at the limit.
func TestBytesAfterABodyAreReadToTheEnd(t *testing.T) {
	for size, want := range map[int]bool{0: true, 1024: true, 1536: true, 1537: false} {
		ended := false
		rest := strings.NewReader(strings.Repeat("x", size))
		r := readerFunc(func(p []byte) (int, error) {
			n, err := rest.Read(p)
			ended = ended || err != nil
			return n, err
		})
		if drain(&source{r: r, read: func(int) {}}, 1536); ended != want {
			t.Errorf("%d bytes: at the end %t, want %t", size, ended, want)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A body that fits in the free first bytes does not wait for bodies that need the budget.
func TestTheFirstBytesOfABodyNeedNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, t.TempDir())
		if s := (&share{budget: b}); !s.grow(maxScratch+10) || s.taken != 10 {
			t.Fatalf("no room in an empty budget: %+v", s)
		}
		go b.room.Acquire(t.Context(), 1)
		synctest.Wait()
		s := &share{budget: b}
		if !s.grow(maxScratch-1) || !s.grow(1) || s.taken != 0 {
			t.Errorf("held up: %+v", s)
		}
		if s.grow(1) || !s.full || s.grow(1) {
			t.Errorf("there is room in a full budget: %+v", s)
		}
		b.room.Release(10)
		synctest.Wait()
		s = &share{budget: b}
		if s.grow(maxScratch+10) || !s.full {
			t.Errorf("one byte is taken: %+v", s)
		}
		if s = (&share{budget: b}); !s.grow(maxScratch+9) || s.taken != 9 || s.grow(1) || s.taken != 0 {
			t.Errorf("a share without room keeps memory: %+v", s)
		}
	})
}

func TestWhatFailsGivesItsRoomBack(t *testing.T) {
	f := newTour(t, Options{Bodies: Bodies{BodyBudget: 10, TempDir: t.TempDir()}}).fetcher
	b := &body{share: share{budget: f.bodies, full: true}}
	b.plain.share, b.kept.share = &b.share, &b.share
	if err := b.plain.append(make([]byte, maxScratch+5)); err != nil {
		t.Fatal(err)
	}
	b.plain.file.Close()
	if err := b.settle(t.Context(), f); !isSpool(err) || !f.bodies.room.TryAcquire(10) {
		t.Errorf("%v; %d bytes are taken", err, b.share.taken)
	}
}

func TestWhatABudgetIs(t *testing.T) {
	if newBudget(0, "") != nil || newBudget(-1, "") != nil || newBudget(1, "") == nil {
		t.Error("0 and less are no bound, more is one")
	}
	b := newBudget(1, "")
	free := 0
	for b.window("zstd") {
		free++
	}
	if free != 4 || !b.window("gzip") {
		t.Errorf("%d decoders at once, want 4, and any number of gzip", free)
	}
}

// Memory grows from 4 KiB by doubling. Files are written in larger pieces.
func TestHowASpoolGrows(t *testing.T) {
	p := &spool{share: &share{}}
	for _, tc := range []struct{ size, want int }{{1, 4096}, {4096, 4096}, {4097, 8192}, {8193, 16384}} {
		if err := p.append(make([]byte, tc.size-len(p.b))); err != nil || cap(p.b) != tc.want {
			t.Errorf("%d bytes in %d, want %d: %v", len(p.b), cap(p.b), tc.want, err)
		}
	}
	p = &spool{share: &share{budget: newBudget(1, t.TempDir()), full: true}}
	defer p.free()
	if room, err := p.room(1 << 20); len(room) != 32768 || err != nil {
		t.Errorf("%d bytes at once: %v", len(room), err)
	}
}

// A body that is read back into memory takes as much of the budget as its size, and leaves no
// file.
func TestTheRoomOfWhatIsReadBack(t *testing.T) {
	for size, want := range map[int]int64{0: 0, 1: 0, 262144: 0, 262145: 1, 262149: 5, 262154: 10, 262155: 10} {
		b := newBudget(10, t.TempDir())
		s := &share{budget: b, full: true}
		plain, kept := &spool{share: s}, &spool{share: s}
		if err := plain.fill(strings.NewReader(strings.Repeat("x", size)), 1<<20); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(b.dir, ".body-*")); len(left) > 0 && runtime.GOOS != "windows" {
			t.Errorf("the file has the name %v", left)
		}
		file := plain.file
		b.dir = filepath.Join(b.dir, "none") // an empty body needs no file
		if err := s.load(t.Context(), plain, kept); err != nil || s.taken != want || len(plain.b) != size || plain.size() != int64(size) || kept.b != nil {
			t.Errorf("%d bytes: %d are there, of these %d need room, want %d: %v", size, len(plain.b), s.taken, want, err)
		}
		if err := file.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%d bytes: the file is open", size)
		}
		if s.release(); !b.room.TryAcquire(10) {
			t.Errorf("%d bytes: not all room was given back", size)
		}
	}
}
