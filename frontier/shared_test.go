package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

var publicAddr = netip.MustParseAddr("16.0.0.1")

func entries(t *testing.T, urls ...string) []frontier.Entry {
	t.Helper()
	var es []frontier.Entry
	for _, raw := range urls {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, frontier.Entry{URL: u})
	}
	return es
}

func open(t *testing.T, b frontier.Backlog, o frontier.Options, urls ...string) *frontier.Frontier {
	t.Helper()
	f, err := frontier.New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Add(entries(t, urls...)...); err != nil {
		t.Fatal(err)
	}
	return f
}

// fetched returns the outcome of a request that begins now and takes as long as took says.
func fetched(took time.Duration, size int64) frontier.Outcome {
	start := time.Now()
	time.Sleep(took)
	return frontier.Outcome{
		Request: &frontier.Request{Started: start, FirstByte: start, Ended: time.Now(), Bytes: size},
		Fate:    frontier.Fate{Code: frontier.Fetched, Status: 200},
	}
}

// crawl requests all entries of f at addr. It returns the start of each request and its URL.
func crawl(t *testing.T, f *frontier.Frontier, addr netip.Addr, public bool, took time.Duration) (starts []time.Time, urls []string) {
	t.Helper()
	for {
		turn, err := f.Next(context.Background())
		if err != nil {
			if !errors.Is(err, frontier.ErrEnd) && !errors.Is(err, frontier.ErrLimit) {
				t.Fatal(err)
			}
			return starts, urls
		}
		o := frontier.Outcome{Again: true}
		var notYet *frontier.NotYet
		switch err := turn.Bind(addr, public); {
		case err == nil:
			starts, urls = append(starts, time.Now()), append(urls, turn.Entry().URL.String())
			o = fetched(took, 100)
		case !errors.As(err, &notYet):
			t.Fatal(err)
		}
		if _, err := turn.Finish(o); err != nil {
			t.Fatal(err)
		}
	}
}

func least(t *testing.T, starts []time.Time, want time.Duration) {
	t.Helper()
	for i := 1; i < len(starts); i++ {
		if gap := starts[i].Sub(starts[i-1]); gap < want {
			t.Errorf("request %d began %v after the one before, want %v", i, gap, want)
		}
	}
}

// For site owners: "With `--domain-delay` all sites of a registrable domain get one
// request at a time together."
func TestSitesOfADomainAreAskedOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := frontier.NewMemory()
		o := frontier.Options{Delay: -1, IPDelay: -1, DomainDelay: 10 * time.Second, Limit: 4}
		f := open(t, b, o, "http://a.example.org/", "http://b.example.org/", "https://c.example.org/", "http://a.example.org/2", "http://b.example.org/2")
		starts, _ := crawl(t, f, publicAddr, false, time.Second)
		if len(starts) != 4 {
			t.Fatalf("%d requests", len(starts))
		}
		least(t, starts, 11*time.Second)
		// Another process continues the crawl.
		b.Forget()
		o.Limit = 0
		more, _ := crawl(t, open(t, b, o), publicAddr, false, time.Second)
		if len(more) != 1 {
			t.Fatalf("%d requests", len(more))
		}
		least(t, append(starts, more...), 11*time.Second)
	})
}

func TestTheClockOfAnAddressOutlivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := frontier.NewMemory()
		o := frontier.Options{Delay: -1, IPDelay: time.Minute, Limit: 1}
		starts, _ := crawl(t, open(t, b, o, "http://a.example/", "http://b.example/"), publicAddr, true, time.Second)
		b.Forget()
		o.Limit = 0
		more, _ := crawl(t, open(t, b, o), publicAddr, true, time.Second)
		if len(starts) != 1 || len(more) != 1 {
			t.Fatalf("%d and %d requests", len(starts), len(more))
		}
		least(t, append(starts, more...), time.Minute)
	})
}

// A table is a Shared in which a test can reserve keys as another process of the machine would.
type table struct {
	mu    sync.Mutex
	taken map[string]frontier.Taken
}

func (t *table) Reserve(key string, now, until time.Time) (frontier.Taken, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if is := t.taken[key]; is.Until.After(now) {
		return is, false
	}
	t.taken[key] = frontier.Taken{Until: until, Lease: true}
	return frontier.Taken{}, true
}

func (t *table) Renew(key string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken[key] = frontier.Taken{Until: until, Lease: true}
}

func (t *table) Release(key string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken[key] = frontier.Taken{Until: until}
}

var privateAddr = netip.MustParseAddr("10.0.0.1")

func TestAnotherCrawlOfTheMachineIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		shared := &table{taken: map[string]frontier.Taken{
			"host a.example":               {Until: begin.Add(time.Minute)},
			"ip " + publicAddr.String():    {Until: begin.Add(10 * time.Second)},
			"site http://private.example":  {Until: begin.Add(time.Minute)},
			"site http://loopback.example": {Until: begin.Add(time.Hour)},
		}}
		f := open(t, frontier.NewMemory(), frontier.Options{Shared: shared}, "http://a.example/", "http://b.example/")
		starts, urls := crawl(t, f, publicAddr, true, time.Second)
		if fmt.Sprint(urls) != "[http://b.example/ http://a.example/]" {
			t.Errorf("asked in the order %v", urls)
		}
		if starts[0].Sub(begin) < 10*time.Second || starts[1].Sub(begin) < time.Minute {
			t.Errorf("requests %v and %v after the beginning", starts[0].Sub(begin), starts[1].Sub(begin))
		}
		// After the request, a.example stays reserved for other processes until it has rested.
		if free := shared.taken["host a.example"]; free.Lease || free.Until.Before(starts[1].Add(2*time.Second)) {
			t.Errorf("a.example is free %v after its request, %+v", free.Until.Sub(starts[1]), free)
		}
		begin = time.Now()
		shared.taken["site http://private.example"] = frontier.Taken{Until: begin.Add(time.Minute)}
		f = open(t, frontier.NewMemory(), frontier.Options{Shared: shared}, "http://private.example/")
		if starts, _ := crawl(t, f, privateAddr, false, 0); len(starts) != 1 || starts[0].Sub(begin) != time.Minute {
			t.Errorf("a private site got requests at %v, %v", starts, begin)
		}
		// A loopback address is not reserved.
		f = open(t, frontier.NewMemory(), frontier.Options{Shared: shared}, "http://loopback.example/")
		begin = time.Now()
		if starts, _ := crawl(t, f, netip.MustParseAddr("127.0.0.1"), false, 0); len(starts) != 1 || !starts[0].Equal(begin) {
			t.Errorf("a site of this machine got requests at %v, %v", starts, begin)
		}
	})
}

// A run waits for another process at most as long as its patience: for a rest, and for a lease
// that is never released.
func TestAnotherCrawlOfTheMachineIsNotWaitedForBeyondThePatience(t *testing.T) {
	for name, taken := range map[string]frontier.Taken{
		"centuries":          {Until: time.Now().AddDate(300, 0, 0)},
		"a centuries' lease": {Until: time.Now().AddDate(300, 0, 0), Lease: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				shared := &table{taken: map[string]frontier.Taken{"host a.example": taken}}
				f := open(t, frontier.NewMemory(), frontier.Options{Shared: shared}, "http://a.example/")
				if starts, _ := crawl(t, f, publicAddr, true, 0); len(starts) > 0 {
					t.Errorf("requests at %v", starts)
				}
				if took := time.Since(begin); took > 2*time.Minute {
					t.Errorf("the run took %v, its patience is two minutes", took)
				}
			})
		})
	}
}

func TestBudgetsOfBytesAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		urls := func() (u []string) {
			for i := range 10 {
				u = append(u, fmt.Sprintf("http://a.example/%d", i), fmt.Sprintf("http://b.example/%d", i))
			}
			return u
		}()
		for _, tc := range []struct {
			name string
			o    frontier.Options
			want int
		}{
			{"pages of a site", frontier.Options{MaxSite: frontier.Spent{Pages: 3}}, 6},
			{"bytes of a site", frontier.Options{MaxSite: frontier.Spent{Bytes: 250}}, 6},
			{"time of a site", frontier.Options{MaxSite: frontier.Spent{Time: 4 * time.Second}}, 8},
			{"bytes", frontier.Options{MaxBytes: 500}, 5},
		} {
			b := frontier.NewMemory()
			starts, _ := crawl(t, open(t, b, tc.o, urls...), publicAddr, false, time.Second)
			if len(starts) != tc.want {
				t.Errorf("%s: %d requests, want %d", tc.name, len(starts), tc.want)
			}
			// After a restart, the budgets still count what this run has spent.
			b.Forget()
			if starts, _ := crawl(t, open(t, b, tc.o), publicAddr, false, time.Second); len(starts) != 0 {
				t.Errorf("%s: %d requests in the next run", tc.name, len(starts))
			}
		}
	})
}

func TestWhatIsNearASeedComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, frontier.NewMemory(), frontier.Options{Delay: time.Minute})
		deep, middle, near := entries(t, "http://deep.example/"), entries(t, "http://middle.example/"), entries(t, "http://near.example/")
		deep[0].Rank, middle[0].Rank = frontier.RankOf(5), frontier.RankOf(2)
		for _, e := range [][]frontier.Entry{deep, middle, near} {
			if err := f.Add(e...); err != nil {
				t.Fatal(err)
			}
		}
		if _, urls := crawl(t, f, publicAddr, false, 0); fmt.Sprint(urls) != "[http://near.example/ http://middle.example/ http://deep.example/]" {
			t.Errorf("asked in the order %v", urls)
		}
	})
}

// A site without entries is removed from memory. When it returns, it has its clocks again.
func TestDrainedSitesAreLeftToTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range 50 {
			urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
		}
		f := open(t, frontier.NewMemory(), frontier.Options{Delay: time.Minute}, urls...)
		held := 0
		for range urls {
			turn, err := f.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Finish(fetched(time.Millisecond, 1)); err != nil {
				t.Fatal(err)
			}
		}
		f.Settle(t.Context())
		for range f.Sites() {
			held++
		}
		if held > 0 || f.Stats().Sites != len(urls) {
			t.Errorf("%d sites are held, %d are known", held, f.Stats().Sites)
		}
		asked := time.Now()
		if err := f.Add(entries(t, "http://h7.example/again")...); err != nil {
			t.Fatal(err)
		}
		starts, _ := crawl(t, f, publicAddr, false, 0)
		if len(starts) != 1 || starts[0].Sub(asked) < 59*time.Second || f.Stats().Sites != len(urls) {
			t.Errorf("requested again %v later; %d sites are known", starts, f.Stats().Sites)
		}
	})
}

// A site is free for another process after the answer, before the lease would end.
func TestALeaseIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &table{taken: map[string]frontier.Taken{"host a.example": {Until: time.Now().Add(time.Hour), Lease: true}}}
		time.AfterFunc(3*time.Second, func() { shared.Release("host a.example", time.Now()) })
		begin := time.Now()
		starts, _ := crawl(t, open(t, frontier.NewMemory(), frontier.Options{Shared: shared}, "http://a.example/"), publicAddr, true, 0)
		if len(starts) != 1 || starts[0].Sub(begin) > 5*time.Second {
			t.Errorf("requests at %v, began %v", starts, begin)
		}
	})
}

// A site is also removed from memory if its last entries fill the buffer of a read.
func TestASiteOfAWholeReadIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range 16 {
			urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
		}
		f := open(t, frontier.NewMemory(), frontier.Options{}, urls...)
		crawl(t, f, publicAddr, false, 0)
		f.Settle(t.Context())
		for st := range f.Sites() {
			t.Errorf("still held: %+v", st)
		}
	})
}

// Two crawls of one machine send requests to a host no faster than one crawl does, even if they
// request different services of the host.
func TestTwoCrawlsOfAMachineAreNoFasterThanOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := &table{taken: map[string]frontier.Taken{}}
		var mu sync.Mutex
		var starts []time.Time
		var both sync.WaitGroup
		for _, origin := range []string{"http://a.example", "https://a.example"} {
			var urls []string
			for i := range 10 {
				urls = append(urls, fmt.Sprintf("%s/%d", origin, i))
			}
			f := open(t, frontier.NewMemory(), frontier.Options{Shared: shared, Patience: time.Hour}, urls...)
			both.Go(func() {
				some, _ := crawl(t, f, publicAddr, true, time.Second)
				mu.Lock()
				defer mu.Unlock()
				starts = append(starts, some...)
			})
		}
		both.Wait()
		if len(starts) != 20 {
			t.Errorf("%d requests, want 20", len(starts))
		}
		slices.SortFunc(starts, time.Time.Compare)
		least(t, starts, 2*time.Second)
	})
}
