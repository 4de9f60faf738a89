package fetch

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBandwidthIsSharedByAllSites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, rate = 100_000, 20_000
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page(strings.Repeat("x", size)) }))}
		v := newTour(t, Options{Network: w, Bandwidth: rate})
		start := time.Now()
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				other := *v
				res, _ := other.visit(fmt.Sprintf("http://%d.example/", i))
				if res.Page == nil || len(res.Page.Body) != size {
					t.Errorf("outcome: %+v", res.Outcome)
				}
			})
		}
		all.Wait()
		least := time.Duration((3*size - portion)) * time.Second / rate
		if took := time.Since(start); took < least || took > least+3*time.Second {
			t.Errorf("took %v, want about %v", took, least)
		}
	})
}

// A read of no bytes does not wait.
func TestWhatAReadCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t.Context(), time.Hour)
		defer w.stop()
		for n, want := range map[int]time.Duration{0: 0, 1: 10*time.Second + time.Millisecond, 2000: 12 * time.Second} {
			th := newThrottle(1000)
			th.limiter.ReserveN(time.Now(), portion) // use up all tokens
			th.limiter.ReserveN(time.Now(), 10_000)  // another body has borrowed tokens
			begin := time.Now()
			th.pay(w, n)
			if took := time.Since(begin).Round(time.Microsecond); took != want {
				t.Errorf("%d bytes took %v, want %v", n, took, want)
			}
		}
		if newThrottle(0) != nil || newThrottle(-1) != nil || newThrottle(1).limiter.Burst() != 16384 {
			t.Error("0 and less are no limit")
		}
	})
}

func TestOurOwnThrottleIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// At this rate a portion takes longer than a phase may, and the body
		// longer than the whole exchange.
		const size, rate = 50_000, 100
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page(strings.Repeat("x", size)) }))}
		_, all := newTour(t, Options{Network: w, Bandwidth: rate, Timeout: 10 * time.Second}).visit("http://a.example/")
		x := last(all)
		if x.Err != nil || len(x.Body) != size || x.Ended.Sub(x.Started) < 300*time.Second {
			t.Errorf("%d bytes after %v: %v", len(x.Body), x.Ended.Sub(x.Started), x.Err)
		}
		if x.FirstByte.Sub(x.Started) != 0 {
			t.Errorf("the first byte came after %v: the throttle counts as the site's slowness", x.FirstByte.Sub(x.Started))
		}
	})
}

func TestASiteThatStopsIsATimeoutUnderTheThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string {
			return "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 40_000)
		}))}
		v := newTour(t, Options{Network: w, Bandwidth: 1000, Timeout: 10 * time.Second})
		_, all := v.visit("http://a.example/")
		if x := all[1]; stage(x) != StageBodyTimeout || len(x.Body) != 40_000 || x.Truncated != "time" {
			t.Errorf("stage %q, %d bytes, truncated %q", stage(x), len(x.Body), x.Truncated)
		}
	})
}
