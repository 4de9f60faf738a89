package crawler_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
)

// The error for an invalid option names it, even if it is a number that has no text form.
func TestMisuseNamesTheField(t *testing.T) {
	for name, test := range map[string]struct {
		change        func(*crawler.Options)
		field, reason string
	}{
		"a rate that is no number":  {func(o *crawler.Options) { o.Rate = math.NaN() }, "Rate", "is no number"},
		"more visits than memory":   {func(o *crawler.Options) { o.Concurrency = math.MaxInt }, "Concurrency", "is more than 65536"},
		"one visit too many":        {func(o *crawler.Options) { o.Concurrency = 65537 }, "Concurrency", "is more than 65536"},
		"a scope of nothing":        {func(o *crawler.Options) { o.Scope = (*nilScope)(nil) }, "Scope", "panicked"},
		"a scope without function":  {func(o *crawler.Options) { o.Scope = crawler.ScopeFunc(nil) }, "Scope", "is nil"},
		"a port that is a word":     {func(o *crawler.Options) { o.ConnectTo = []fetch.ConnectTo{{ToHost: "h", ToPort: "http"}} }, "ConnectTo", `port "http" is not a number`},
		"the other port":            {func(o *crawler.Options) { o.ConnectTo = []fetch.ConnectTo{{Port: "0"}} }, "ConnectTo", `port "0" is not a number`},
		"a seed of blanks":          {func(o *crawler.Options) { o.Seeds = []string{" "} }, "Seeds", `the seed " " at 0`},
		"a seed of another scheme":  {func(o *crawler.Options) { o.Seeds = []string{"http://a.example/", "mailto:x@a.example"} }, "Seeds", "at 1"},
		"sitemaps of another kind":  {func(o *crawler.Options) { o.Sitemaps = "all" }, "Sitemaps", `"all" is not one of`},
		"a contact with a line end": {func(o *crawler.Options) { o.Identity.Contact = "https://example.org/\r\nX: y" }, "Identity.Contact", ""},
		"a header with a line end":  {func(o *crawler.Options) { o.Header = map[string][]string{"X": {"a\r\nb"}} }, "Header", ""},
	} {
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
		test.change(&o)
		_, err := crawler.New(o)
		var bad *crawler.OptionError
		if !errors.As(err, &bad) || bad.Field != test.field || !strings.Contains(bad.Reason, test.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type nilScope struct{ crawler.Scope }

// The largest number of each option is accepted and takes effect.
func TestTheLargestNumbers(t *testing.T) {
	for _, s := range new(crawler.Options).Settings() {
		if s.Field == "Concurrency" || s.Field == "Dialect" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 2)
				o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0", "http://a.example/1"}, Wire: crawler.Wire{Network: w}, Dir: dir}
				switch f := reflect.ValueOf(&o).Elem().FieldByName(s.Field); f.Kind() {
				case reflect.Int:
					f.SetInt(math.MaxInt)
				case reflect.Int64:
					f.SetInt(math.MaxInt64)
				case reflect.Float64:
					f.SetFloat(math.Inf(1))
				default:
					return
				}
				c, err := crawler.New(o)
				if err != nil {
					t.Fatal(err)
				}
				want := 2
				if strings.HasSuffix(s.Name, "delay") { // the first request is for robots.txt
					want = 0
				}
				if err := c.Run(t.Context(), nil); err != nil || c.Summary().Fetched != want {
					t.Errorf("%v, %v", err, c.Summary())
				}
				w.AssertPolite()
			})
		})
	}
}

// A nil handler, parse function or loop body is an error.
func TestNilFunctionsAreRefused(t *testing.T) {
	var bad *crawler.OptionError
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		if err := newCrawl(t, w, nil, "http://a.example/").Run(t.Context(), crawler.HandlerFunc(nil)); !errors.As(err, &bad) || bad.Field != "Handler" {
			t.Errorf("HandlerFunc(nil): %v", err)
		}
		for n, parse := range map[int]func(context.Context, *crawler.Page) ([]string, error){1: nil, -1: books} {
			var failed error
			for rows, err := range crawler.Batches(t.Context(), newCrawl(t, w, nil, "http://a.example/"), n, 0, parse) {
				if failed = err; rows != nil {
					t.Errorf("%q", rows)
				}
			}
			if want := map[int]string{1: "parse", -1: "n"}[n]; !errors.As(failed, &bad) || bad.Field != want {
				t.Errorf("%d: %v, want %s", n, failed, want)
			}
		}
		if n := len(w.Log()); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}

// If two goroutines call Run at the same time, the crawl runs once.
func TestTwoRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		book(w, "http://a.example", 3)
		c := newCrawl(t, w, nil, "http://a.example/0")
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- c.Run(t.Context(), nil) }()
		}
		one, other := <-ended, <-ended
		if errors.Is(one, crawler.ErrRan) == errors.Is(other, crawler.ErrRan) || errors.Join(one, other).Error() != crawler.ErrRan.Error() {
			t.Errorf("%v, %v", one, other)
		}
		w.AssertFetched("http://a.example/0", "http://a.example/1", "http://a.example/2")
		w.AssertPolite()
	})
}

// NaN is not accepted as a limit of a running crawl.
func TestALimitThatIsNoNumber(t *testing.T) {
	c := newCrawl(t, nil, nil, "http://a.example/")
	var bad *crawler.OptionError
	err := c.Allow(func(l *crawler.Limits) { l.Rate = math.NaN() })
	if !errors.As(err, &bad) || bad.Field != "Limits.Rate" || bad.Reason != "is no number" || c.Limits().Rate != 0 {
		t.Errorf("%v", err)
	}
	if err := c.Allow(func(l *crawler.Limits) { l.Rate, l.Time = math.Inf(1), time.Duration(math.MaxInt64) }); err != nil {
		t.Error(err)
	}
}
