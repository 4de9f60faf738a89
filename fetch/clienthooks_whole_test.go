package fetch_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// An oddNetwork calls functions before look-ups and connections. A nil function is not called.
type oddNetwork struct {
	*crawltest.Web
	lookup, dial func()
}

func (n oddNetwork) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if n.lookup != nil && host == "odd.example" {
		n.lookup()
	}
	return n.Web.LookupNetIP(ctx, network, host)
}

func (n oddNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if n.dial != nil {
		n.dial()
	}
	return n.Web.DialContext(ctx, network, address)
}

// An oddClocks calls a function before each reservation, or each release, of odd.example.
type oddClocks struct {
	frontier.Shared
	reserve, release func()
}

func (c oddClocks) Reserve(key string, now, until time.Time) (frontier.Taken, bool) {
	if c.reserve != nil && strings.HasSuffix(key, "odd.example") {
		c.reserve()
	}
	return c.Shared.Reserve(key, now, until)
}

func (c oddClocks) Release(key string, until time.Time) {
	if c.release != nil && strings.HasSuffix(key, "odd.example") {
		c.release()
	}
	c.Shared.Release(key, until)
}

// A clientHook is a function of ClientOptions that calls bug for odd.example.
type clientHook struct {
	put   func(o *fetch.ClientOptions, w *crawltest.Web, bug func())
	all   bool // a panic of the function ends the Client
	apart bool // the function is called on a goroutine that is not the caller's
	locks bool // the function must be quick, because the Client waits for it with a lock held
}

var clientHooks = map[string]clientHook{
	"OptOut": {put: func(o *fetch.ClientOptions, _ *crawltest.Web, bug func()) {
		o.OptOut = func(u frontier.URL) (string, error) {
			if u.Host() == "odd.example" {
				bug()
			}
			return "", nil
		}
	}},
	"Site": {put: func(o *fetch.ClientOptions, _ *crawltest.Web, bug func()) {
		o.Site = func(s frontier.Site) (fetch.SiteOptions, error) {
			if s.Host() == "odd.example" {
				bug()
			}
			return fetch.SiteOptions{}, nil
		}
	}},
	"Proxy": {put: func(o *fetch.ClientOptions, _ *crawltest.Web, bug func()) {
		o.Proxy = func(u *url.URL) (*url.URL, error) {
			if u.Host == "odd.example" {
				bug()
			}
			return nil, nil
		}
	}},
	"LookupNetIP": {put: func(o *fetch.ClientOptions, w *crawltest.Web, bug func()) {
		o.Network = oddNetwork{Web: w, lookup: bug}
	}, apart: true},
	"DialContext": {put: func(o *fetch.ClientOptions, w *crawltest.Web, bug func()) { o.Network = oddNetwork{Web: w, dial: bug} }},
	"Reserve": {put: func(o *fetch.ClientOptions, w *crawltest.Web, bug func()) {
		o.Shared = oddClocks{Shared: w.Clocks(), reserve: bug}
	}, all: true, locks: true},
	"Release": {put: func(o *fetch.ClientOptions, w *crawltest.Web, bug func()) {
		o.Shared = oddClocks{Shared: w.Clocks(), release: bug}
	}, all: true, locks: true},
}

// eachClientHook runs a test with a Client for each hook. The Client has already requested
// ok.example. The function bug is called for each request to odd.example until calm is set. If
// timed is true, the contexts of the requests have deadlines, so the requests are made on other
// goroutines.
func eachClientHook(t *testing.T, bug func(*fetch.Client), test func(t *testing.T, h clientHook, c *fetch.Client, w *crawltest.Web, ctx context.Context)) {
	for name, h := range clientHooks {
		for _, timed := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "", true: ", a deadline"}[timed], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					w.Site("http://ok.example").Page("/", "fine").Addr("16.1.0.1")
					w.Site("http://odd.example").Page("/", "odd").Addr("16.1.0.2")
					var c *fetch.Client
					var odd atomic.Bool
					o := fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Network: w, Dir: dir}
					h.put(&o, w, func() {
						if odd.Load() {
							bug(c)
						}
					})
					c, err := fetch.NewClient(o)
					if err != nil {
						t.Fatal(err)
					}
					get(t, c, "http://ok.example/")
					ctx := context.Background()
					if timed {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
						defer cancel()
					}
					odd.Store(true)
					test(t, h, c, w, ctx)
					odd.Store(false)
					assertUsable(t, h, c, w, strings.HasPrefix(t.Name(), "TestClose"))
				})
			})
		}
	}
}

// assertUsable checks that a Client can make further polite requests, unless it is closed, and
// that Close returns.
func assertUsable(t *testing.T, h clientHook, c *fetch.Client, w *crawltest.Web, closed bool) {
	t.Helper()
	for _, url := range []string{"http://ok.example/", "http://odd.example/"} {
		if closed {
			break
		}
		if resp, err := c.Get(t.Context(), url); (err != nil || resp.Status != 200) && !h.all {
			t.Errorf("%s: %v", url, err)
		}
	}
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := c.Get(t.Context(), "http://ok.example/"); err == nil || !h.all && !errors.Is(err, fetch.ErrClientClosed) {
		t.Errorf("after Close: %v", err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("Close took %v", took)
	}
	w.AssertPolite()
	time.Sleep(time.Hour) // time for the network to finish its work
}

// outcomeOf calls Get on a goroutine of its own, and returns how the call ended.
func outcomeOf(ctx context.Context, c *fetch.Client, url string) (returned bool, bad any, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { bad = recover() }()
		_, err = c.Get(ctx, url)
		returned = true
	}()
	<-ended
	return returned, bad, err
}

// If a hook panics, the callers whose requests it was called for panic with the same value, or get
// an error. The process continues, and so does the Client, unless its clocks are broken.
func TestEachClientHookThatPanics(t *testing.T) {
	t.Parallel()
	bug := errors.New("a bug")
	eachClientHook(t, func(*fetch.Client) { panic(bug) }, func(t *testing.T, h clientHook, c *fetch.Client, _ *crawltest.Web, ctx context.Context) {
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				returned, bad, err := outcomeOf(ctx, c, "http://odd.example/")
				var not *fetch.NotYetError // the reservation of the panicking clock stays
				if h.all && (!returned || !errors.Is(err, bug) && !errors.As(err, &not)) || !h.all && bad != bug {
					t.Errorf("returned: %v, panic %v, %v", returned, bad, err)
				}
			})
		}
		callers.Wait()
	})
}

// If a hook ends its goroutine, it ends the caller's goroutine, or the call returns an error.
func TestEachClientHookThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	eachClientHook(t, func(*fetch.Client) { runtime.Goexit() }, func(t *testing.T, h clientHook, c *fetch.Client, _ *crawltest.Web, ctx context.Context) {
		if h.locks {
			return // the clocks stay locked in this case: see Shared
		}
		returned, bad, err := outcomeOf(ctx, c, "http://odd.example/")
		_, timed := ctx.Deadline()
		if bad != nil || returned && err == nil || !returned && (timed || h.apart) {
			t.Errorf("returned: %v, panic %v, %v", returned, bad, err)
		}
	})
}

// A call whose hook blocks until the context ends returns at the end of the context.
func TestEachClientHookThatBlocks(t *testing.T) {
	t.Parallel()
	eachClientHook(t, func(*fetch.Client) { time.Sleep(15 * time.Minute) }, func(t *testing.T, h clientHook, c *fetch.Client, _ *crawltest.Web, ctx context.Context) {
		if h.locks {
			return // these hooks must be quick
		}
		began := time.Now()
		_, _, err := outcomeOf(ctx, c, "http://odd.example/")
		took := time.Since(began)
		if _, timed := ctx.Deadline(); timed && took > 10*time.Minute || took > time.Hour {
			t.Errorf("it took %v", took)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			var failed *fetch.Error
			var not *fetch.NotYetError
			if !errors.As(err, &failed) && !errors.As(err, &not) {
				t.Errorf("%v", err)
			}
		}
		time.Sleep(time.Hour) // by then the hook has returned
	})
}

// A hook that makes a request with its own Client (which the documentation forbids) waits at most
// until its own context ends. Calls of other goroutines continue.
func TestEachClientHookThatCallsItsClient(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"http://odd.example/", "http://ok.example/"} {
		var nested sync.Map // the Clients that a hook has called
		call := func(c *fetch.Client) {
			if _, again := nested.LoadOrStore(c, true); again {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			c.Get(ctx, of)
		}
		t.Run(of, func(t *testing.T) {
			eachClientHook(t, call, func(t *testing.T, h clientHook, c *fetch.Client, _ *crawltest.Web, ctx context.Context) {
				if h.locks {
					return // these hooks are called with the clocks locked
				}
				began := time.Now()
				returned, bad, err := outcomeOf(ctx, c, "http://odd.example/")
				var not *fetch.NotYetError // a look-up that takes a minute is too slow
				if took := time.Since(began); !returned || bad != nil || err != nil && !errors.As(err, &not) || took > 3*time.Minute {
					t.Errorf("after %v: returned: %v, %v, %v", took, returned, bad, err)
				}
				time.Sleep(time.Hour) // by then the site has rested
			})
		})
	}
}

// Close waits for a hook that blocks. Other calls end at once with ErrClientClosed.
func TestCloseWhileAHookBlocks(t *testing.T) {
	t.Parallel()
	eachClientHook(t, func(*fetch.Client) { time.Sleep(20 * time.Second) }, func(t *testing.T, h clientHook, c *fetch.Client, w *crawltest.Web, ctx context.Context) {
		if h.locks {
			return
		}
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				if _, _, err := outcomeOf(ctx, c, "http://odd.example/"); !errors.Is(err, fetch.ErrClientClosed) {
					t.Errorf("%v", err)
				}
			})
		}
		time.Sleep(5 * time.Second)
		began := time.Now()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		callers.Wait()
		if took := time.Since(began); took > time.Minute {
			t.Errorf("Close took %v", took)
		}
		if n := w.Fetched("http://odd.example/"); n > 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// The methods of a zero or nil Client return errors.
func TestTheZeroClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*fetch.Client{"zero": {}, "nil": nil} {
		if _, err := c.Get(t.Context(), "http://a.example/"); err == nil || !strings.Contains(err.Error(), "NewClient makes one") {
			t.Errorf("%s: Get: %v", name, err)
		}
		req, _ := http.NewRequest("GET", "http://a.example/", nil)
		if _, err := c.RoundTrip(req); err == nil || !strings.Contains(err.Error(), "NewClient makes one") {
			t.Errorf("%s: RoundTrip: %v", name, err)
		}
		if _, err := (&http.Client{Transport: c}).Get("http://a.example/"); err == nil {
			t.Errorf("%s: net/http: no error", name)
		}
		for range 2 {
			if err := c.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		}
	}
}
