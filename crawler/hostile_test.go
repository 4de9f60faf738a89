package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// The functions of a program cannot make a crawl impolite, and cannot lose a page. Here handlers,
// hooks and loop bodies panic, end their goroutine, wait for hours, change their arguments, follow
// forbidden URLs, call the crawl, and stop it. The web has rules, pauses, pages that fail for some
// time, and redirects to forbidden URLs. $PERMESSO_HOSTILE is the number of such programs.
func TestHostileProgramsAreNeitherRudeNorLosePages(t *testing.T) {
	programs, _ := strconv.Atoi(os.Getenv("PERMESSO_HOSTILE"))
	for seed := range uint64(max(3, programs)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			var moved atomic.Int64
			watchdog(t, &moved)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { hostileRuns(t, dir, seed, &moved) })
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
				t.Errorf("Verify: %v", err)
			}
		})
	}
}

// hostileRuns runs one crawl again and again until it is complete. In most runs the functions of the
// program misbehave, in the last one they do not.
func hostileRuns(t *testing.T, dir string, seed uint64, moved *atomic.Int64) {
	w := newWilds(t, seed, moved)
	h := &hostile{wilds: w, random: rand.New(rand.NewPCG(seed, 1)), seen: map[string]bool{}, skipped: map[string]bool{}}
	// The crawl in memory shares no pauses with the later runs, so the test waits until its pauses
	// are over.
	h.once(t, "")
	time.Sleep(24 * time.Hour)
	h.seen, h.skipped = map[string]bool{}, map[string]bool{}
	for range 10 {
		h.once(t, dir)
	}
	h.harmless = true
	c, err := h.once(t, dir)
	if sum := c.Summary(); err != nil || sum.End != crawler.EndDone || len(sum.Left) > 0 {
		t.Errorf("the last run: %v, %v", err, sum)
	}
	for u := range w.reach(w.seeds...) {
		if !h.seen[u] && !h.skipped[u] {
			t.Errorf("%s is lost", u)
		}
	}
	for _, r := range w.Log() {
		if w.forbidden(r.URL()) || r.Header.Get("User-Agent") != testIdentity.UserAgent() || r.Header.Get("X-Evil") != "" {
			t.Errorf("%s was requested as %s", r.URL(), r.Header)
		}
	}
	w.AssertPolite()
	w.AssertDelay("", time.Second)
	t.Logf("%d requests, %d pages, %d acts", len(w.Log()), len(h.seen), h.acts)
}

// once makes one run, in dir or in memory.
func (h *hostile) once(t *testing.T, dir string) (*crawler.Crawler, error) {
	h.crawl.Store(nil)
	o := h.options()
	o.Dir = dir
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h.crawl.Store(c) // from here on the functions misbehave
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if !h.harmless {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(h.below(40*60))*time.Minute)
		defer cancel()
	}
	if err = h.run(ctx, c); err == nil {
		h.assertNothingIsLost(t, c)
	}
	return c, err
}

// A hostile is a program whose functions misbehave at random.
type hostile struct {
	*wilds
	crawl atomic.Pointer[crawler.Crawler]

	mu       sync.Mutex // guards the fields below
	random   *rand.Rand
	harmless bool
	acts     int
	seen     map[string]bool // URLs that the handler got
	skipped  map[string]bool // URLs that OnSkip reported with a final result
}

func (h *hostile) below(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(n)
}

// chance returns true with the given probability, in percent.
func (h *hostile) chance(percent int) bool { return h.below(100) < percent }

// hook misbehaves at random: every hook calls it.
func (h *hostile) hook() {
	if h.harmless || h.crawl.Load() == nil || h.below(60) > 0 {
		return
	}
	h.act()
}

func (h *hostile) act() {
	h.mu.Lock()
	h.acts++
	h.mu.Unlock()
	c := h.crawl.Load()
	switch h.below(12) {
	case 0:
		panic(errors.New("a bug"))
	case 1:
		runtime.Goexit()
	case 2, 3:
		time.Sleep(time.Duration(h.below(3*3600)) * time.Second)
	case 4, 5:
		second(c.Add(h.anything(), h.anything()))
	case 6:
		c.Allow(func(l *crawler.Limits) { l.Rate, l.Patience = 1e9, frontier.Forever })
	case 7:
		for range c.Left() {
			if h.chance(10) {
				break
			}
		}
	case 8:
		c.Stats()
		_ = c.Summary().String()
		c.Oldest()
		c.Longest(time.Now())
	case 9:
		c.Run(context.Background(), nil)
	case 10:
		if h.chance(20) {
			c.Stop()
		}
	case 11:
		for range c.Pages(context.Background()) {
			panic("a second run")
		}
	}
}

// anything returns a random URL of the web. Most of these URLs are forbidden.
func (h *hostile) anything() string {
	kind := []string{"/no/%d", "/p/%d?secret", "/go/%d", "/p/%d"}[h.below(4)]
	return h.origin(h.below(wildSites)) + fmt.Sprintf(kind, h.below(20))
}

func (h *hostile) options() crawler.Options {
	o := crawler.Options{
		Identity: testIdentity, Seeds: slices.Clone(h.seeds), Wire: crawler.Wire{Network: h.Web}, Pace: crawler.Pace{Concurrency: 2 + h.below(6)}, Follow: crawler.Follow{FollowTraps: true, Requisites: h.chance(50)},
		Budget: crawler.Budget{Patience: frontier.Forever}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler), OnError: func(*crawler.Page, error) { h.hook() }, OnStart: func(crawler.Start) { h.hook() }},
		Scope:  crawler.ScopeFunc(func(frontier.Entry) bool { h.hook(); return true }),
		OptOut: func(frontier.URL) string { h.hook(); return "" },
	}
	o.Rewrite = func(u frontier.URL) frontier.URL {
		h.hook()
		if raw, ok := strings.CutSuffix(u.String(), "?from=x"); ok {
			u, _ = frontier.ParseURL(raw)
		}
		return u
	}
	o.Links = func(p *crawler.Page, l *crawler.Link) bool {
		url := l.URL.String()
		h.hook()
		if !h.harmless && h.chance(5) {
			l.URL, l.Rank, l.Hop = p.URL, uint8(h.below(256)), frontier.HopRedirect
		}
		return !h.refused(url)
	}
	o.OnSkip = func(s crawler.Skip) {
		if s.Code == frontier.Failed {
			h.mu.Lock()
			h.skipped[s.URL.String()] = true
			h.mu.Unlock()
		}
		h.hook()
	}
	return o
}

// handle is the handler of the program.
func (h *hostile) handle(ctx context.Context, p *crawler.Page) error {
	h.mu.Lock()
	h.seen[p.URL.String()] = true
	h.mu.Unlock()
	if h.harmless || h.chance(60) {
		return nil
	}
	switch h.below(14) {
	case 0, 1:
		panic("a bug")
	case 2:
		return errors.New("a bad row")
	case 3:
		return crawler.ErrRetry
	case 4:
		if h.chance(10) {
			return fmt.Errorf("enough: %w", crawler.ErrStop)
		}
	case 5, 6:
		p.Follow(h.anything())
		p.FollowTag(h.anything(), "evil")
	case 7:
		time.Sleep(time.Duration(h.below(3*3600)) * time.Second)
	case 8:
		if h.chance(5) {
			<-ctx.Done()
		}
	case 9, 10:
		spoil(p)
	default:
		if h.chance(15) {
			h.act()
		}
	}
	return nil
}

// spoil changes all arguments of a handler except the targets of the page.
func spoil(p *crawler.Page) {
	for _, header := range []http.Header{p.Header, p.Exchange.Header, p.Exchange.RequestHeader} {
		for _, values := range header {
			for i := range values {
				values[i] = "evil"
			}
		}
		header.Set("User-Agent", "evil")
		header.Set("X-Evil", "evil")
		header.Set("Retry-After", "0")
	}
	clear(p.Body)
	p.Exchange.Ended, p.Exchange.Status, p.Exchange.WireBytes = time.Time{}, 0, -1<<40
	p.Verdict.Access, p.Directives.NoFollow = 0, false
	s := p.Signals()
	clear(s.Deciding())
}

// run runs c in a random way, on a goroutine of its own, which a function may end.
func (h *hostile) run(ctx context.Context, c *crawler.Crawler) (err error) {
	err = errors.New("a goroutine ended")
	var done sync.WaitGroup
	way := h.below(4)
	if h.harmless {
		way = 0
	}
	done.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("a panic of a loop: %v", v)
			}
		}()
		switch way {
		case 0:
			err = c.Run(ctx, crawler.HandlerFunc(h.handle))
		case 1:
			err = c.Run(ctx, crawler.Tags{"": crawler.HandlerFunc(h.handle), "evil": crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
				return h.handle(ctx, p)
			})})
		case 2:
			err = h.pages(ctx, c)
		case 3:
			err = h.batches(ctx, c)
		}
	})
	done.Wait()
	return err
}

func (h *hostile) pages(ctx context.Context, c *crawler.Crawler) error {
	for p, err := range c.Pages(ctx) {
		if err != nil {
			return err
		}
		if h.chance(2) {
			break
		}
		if err := h.handle(ctx, p); errors.Is(err, crawler.ErrRetry) {
			return err
		}
	}
	return nil
}

func (h *hostile) batches(ctx context.Context, c *crawler.Crawler) error {
	parse := func(ctx context.Context, p *crawler.Page) ([]string, error) {
		return make([]string, h.below(4)), h.handle(ctx, p)
	}
	for _, err := range crawler.Batches(ctx, c, 1+h.below(5), time.Duration(h.below(100)-10)*time.Second, parse) {
		if err != nil {
			return err
		}
		if h.chance(5) {
			break
		}
		if h.chance(10) {
			h.act()
		}
	}
	return nil
}

// assertNothingIsLost checks a run that ended without an error. Each link of a fetched page must
// have been seen by the handler, or must be left in the queue.
func (h *hostile) assertNothingIsLost(t *testing.T, c *crawler.Crawler) {
	t.Helper()
	left := map[string]bool{}
	for s, err := range c.Left() {
		if err != nil {
			t.Fatal(err)
		}
		left[s.URL.String()] = true
	}
	for _, url := range slices.Sorted(maps.Keys(h.seen)) {
		if left[url] {
			continue
		}
		for _, next := range h.next(url) {
			if next = strings.TrimSuffix(next, "?from=x"); !h.forbidden(next) && !h.seen[next] && !left[next] && !h.skipped[next] {
				t.Errorf("%s, to which %s leads, was neither seen nor is it left", next, url)
			}
		}
	}
}

// A handler that does not return blocks only its own site. Oldest returns that site and the start
// of the visit; the log names the page.
func TestABlockedHandlerBlocksOnlyItsSite(t *testing.T) {
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 5)
		book(w, "http://b.example", 50)
		c := newCrawl(t, w, func(o *crawler.Options) {
			o.Concurrency, o.Logger = 2, slog.New(slog.NewTextHandler(&said, nil))
		}, "http://a.example/0", "http://b.example/0")
		release, ended := make(chan struct{}), make(chan error)
		go func() {
			ended <- c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
				if p.URL.String() == "http://a.example/0" {
					<-release
				}
				return nil
			}))
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		for i := range 50 {
			w.AssertFetched(fmt.Sprintf("http://b.example/%d", i))
		}
		w.AssertNeverFetched("http://a.example/1")
		if site, since, ok := c.Oldest(); !ok || site != "http://a.example" || time.Since(since) < 59*time.Minute {
			t.Errorf("%q since %v", site, since)
		}
		if n := strings.Count(said.String(), `level=WARN msg="the program is busy with what it was given" url=http://a.example/0 for=5m0s`); n != 1 {
			t.Errorf("logged %d times: %s", n, said.String())
		}
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		w.AssertFetched("http://a.example/1")
		w.AssertPolite()
	})
	if n := strings.Count(said.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings: %s", n, said.String())
	}
}

// If the body of a loop over a crawl does not return, a warning is logged.
func TestABlockedLoopIsLogged(t *testing.T) {
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 1, 3)
		c := newCrawl(t, w, func(o *crawler.Options) { o.Logger = slog.New(slog.NewTextHandler(&said, nil)) }, seedsOf(1)...)
		for range crawler.Batches(t.Context(), c, 4, frontier.Forever, books) {
			time.Sleep(6 * time.Minute)
		}
	})
	if n := strings.Count(said.String(), `level=WARN msg="the program is busy with what it was given" rows=`); n != 2 {
		t.Errorf("logged %d times: %s", n, said.String())
	}
}

// If a handler or the caller changes arguments, or values that it has passed, no request changes.
func TestWhatAProgramChangesIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 4)
		header := http.Header{"X-Project": {"thesis"}}
		c := newCrawl(t, w, func(o *crawler.Options) { o.Header = header }, "http://a.example/0")
		header["X-Project"][0], header["X-Other"] = "changed", []string{"x"}
		err := c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			spoil(p)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.Log() {
			if h := r.Header; r.UserAgent != testIdentity.UserAgent() || h.Get("X-Evil")+h.Get("X-Other") != "" || h.Get("X-Project") != "thesis" || h.Get("Accept") == "evil" {
				t.Errorf("%s was requested with %v", r.URL(), h)
			}
		}
		w.AssertPolite()
	})
}

// If a function ends the goroutine of a run while the run begins, the directory is closed, and
// another run can use it.
func TestARunThatEndsItsGoroutineAtTheBeginningIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 1, 3)
		dir := t.TempDir()
		run := func(start func()) (err error) {
			c := newCrawl(t, w, func(o *crawler.Options) { o.Dir, o.OnStart = dir, func(crawler.Start) { start() } }, seedsOf(1)...)
			var done sync.WaitGroup
			done.Go(func() { err = c.Run(t.Context(), nil) })
			done.Wait()
			return err
		}
		run(runtime.Goexit)
		if err := run(func() {}); err != nil {
			t.Error(err)
		}
	})
}

// If a function ends the goroutine of a run, the loop over the crawl ends with an error.
func TestALoopEndsWhereItsRunEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 1, 3)
		c := newCrawl(t, w, func(o *crawler.Options) { o.OnStart = func(crawler.Start) { runtime.Goexit() } }, seedsOf(1)...)
		var failed error
		for _, err := range c.Pages(t.Context()) {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), "Goexit") {
			t.Errorf("%v", failed)
		}
	})
}
