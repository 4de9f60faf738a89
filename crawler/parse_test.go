package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// If parse returns an error or panics, the loop ends, and the next run parses the page again. So no
// row is lost.
func TestAnErrorOfParseEndsTheLoop(t *testing.T) {
	bad := errors.New("the disk is full")
	for name, fail := range map[string]func() error{"error": func() error { return bad }, "panic": func() error { panic(bad) }} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 12)
				rows := map[string]bool{}
				for run := 0; ; run++ {
					c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w}, Dir: dir, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}})
					if err != nil {
						t.Fatal(err)
					}
					parsed, failed := 0, false
					for batch, err := range crawler.Batches(t.Context(), c, 3, 0, func(_ context.Context, p *crawler.Page) ([]string, error) {
						if parsed++; run < 3 && parsed == 4 {
							return []string{"lost"}, fail()
						}
						return []string{p.URL.String()}, nil
					}) {
						if err != nil {
							if failed = errors.Is(err, bad); !failed {
								t.Errorf("run %d: %v", run, err)
							}
						}
						for _, r := range batch {
							rows[r] = true
						}
					}
					if failed != (run < 3) {
						t.Errorf("run %d failed: %t", run, failed)
					}
					if !failed {
						break
					}
				}
				for i := range 12 {
					if !rows[fmt.Sprintf("http://a.example/%d", i)] {
						t.Errorf("the row of page %d is lost", i)
					}
				}
				if rows["lost"] {
					t.Error("a row counts that came with an error")
				}
			})
		})
	}
}

// Options that have no effect without a directory are refused if Dir is empty.
func TestOptionsThatNeedADirectoryAreRefusedWithoutOne(t *testing.T) {
	for field, o := range map[string]crawler.Options{"Output": {Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC}}}, "Lift": {Pace: crawler.Pace{Lift: []string{crawler.LiftAll}}}} {
		o.Identity, o.Seeds = testIdentity, []string{"http://a.example/"}
		var bad *crawler.OptionError
		if _, err := crawler.New(o); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// panicking is a slog.Handler whose methods panic.
type panicking struct{}

func (panicking) Enabled(context.Context, slog.Level) bool  { panic("Enabled") }
func (panicking) Handle(context.Context, slog.Record) error { panic("Handle") }
func (panicking) WithAttrs([]slog.Attr) slog.Handler        { panic("WithAttrs") }
func (panicking) WithGroup(string) slog.Handler             { panic("WithGroup") }

// If a Logger panics, lines of the log are lost, and the crawl continues.
func TestALoggerThatPanicsLosesItsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Hooks: crawler.Hooks{Logger: slog.New(panicking{})}})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return errors.New("to be logged") }))
		if err != nil || c.Summary().Fetched != 1 {
			t.Errorf("%v, %v", err, c.Summary())
		}
	})
}
