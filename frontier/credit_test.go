package frontier

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A frontier spends no more of a limit than its credit. With more credit it continues. Without
// credit it reports that the limit is reached.
func TestAFrontierSpendsItsCredit(t *testing.T) {
	for name, test := range map[string]struct {
		opts Options
		one  Spent // cost of one page
	}{
		"pages":                 {Options{Limit: 100}, Spent{Pages: 1}},
		"pages with requisites": {Options{Limit: 100, Requisites: true}, Spent{Pages: 1}},
		"bytes":                 {Options{MaxBytes: 10_000}, Spent{Bytes: 100}},
		"both":                  {Options{MaxBytes: 10_000, Limit: 100}, Spent{Bytes: 100, Pages: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var urls []string
			for i := range 10 {
				urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
			}
			var credit Spent
			test.opts.Credit = func() Spent { return credit }
			b, f := newTermed(t, test.opts, urls...)
			for granted := range 4 {
				credit = Spent{Pages: granted * test.one.Pages, Bytes: int64(granted) * test.one.Bytes}
				b.grown.Put(Growth{})
				var turns []*Turn
				for n := f.Rest().Spent; n != credit; n = f.Rest().Spent {
					turn, err := f.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					turns = append(turns, turn)
					o, now := page, time.Now()
					o.Request = &Request{Started: now, Ended: now, Bytes: test.one.Bytes}
					if test.one.Pages == 0 {
						o.Fate.Status = 404
					}
					finish(t, turn, o)
				}
				if len(turns) > 1 {
					t.Errorf("%s: %d turns for one more of credit", name, len(turns))
				}
				none(t, f, time.Hour)
				if r := f.Rest(); !errors.Is(r.Verdict, ErrLimit) || r.Spent != credit {
					t.Errorf("%s: with the credit %+v: %+v", name, credit, r)
				}
			}
		})
	}
}

// Rest.Grown is the number of the last growth that was absorbed.
func TestARestHasTheNumberOfTheGrowth(t *testing.T) {
	b, f := newTermed(t, Options{})
	for _, n := range []uint64{3, 7} {
		b.grown.Put(Growth{Number: n - 1})
		b.grown.Put(Growth{Number: n})
		b.grown.Put(Growth{})
		if r := f.Rest(); r.Grown != n {
			t.Errorf("growth %d, want %d", r.Grown, n)
		}
	}
}
