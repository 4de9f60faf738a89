package audit_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

var errStep = errors.New("this step fails")

// A failing counts the steps in which an audit calls the caller's functions, reads or sorts. It
// makes the step with the number fails return an error, and counts what the audit has opened
// and not closed.
type failing struct {
	steps, fails, open int
}

func (f *failing) step() error {
	if f.steps++; f.steps == f.fails {
		return errStep
	}
	return nil
}

// failEach first counts the steps of an audit. It then runs the audit once for each step, and
// makes this step fail. The audit must return the error, and close everything that it has
// opened.
func failEach(t *testing.T, run func(f *failing) error) {
	t.Helper()
	for n := 1; ; n++ {
		f := &failing{fails: n}
		err := run(f)
		if f.open != 0 {
			t.Errorf("step %d fails: %d are left open", n, f.open)
		}
		if f.steps < n {
			if err != nil {
				t.Errorf("no step fails: %v", err)
			}
			return
		}
		if !errors.Is(err, errStep) {
			t.Errorf("step %d fails: %v", n, err)
		}
	}
}

// crawl returns c with functions that count steps in f and may fail.
func (f *failing) crawl(c audit.Crawl) audit.Crawl {
	log, copies, entries := c.Log, c.Robots, c.Entries
	c.Log = func() (io.ReadCloser, error) {
		if err := f.step(); err != nil {
			return nil, err
		}
		r, err := log()
		f.open++
		return &failingReader{f, r}, err
	}
	c.Robots = func(site frontier.Site) iter.Seq2[*robots.Snapshot, error] { return failingSeq(f, copies(site)) }
	if c.Sites != nil {
		c.Sites = failingSeq(f, c.Sites)
		c.Entries = func(site frontier.Site) iter.Seq2[store.Kept, error] { return failingSeq(f, entries(site)) }
	}
	return c
}

// options returns o with functions that count steps in f and may fail, also for reading the log
// of a server and for sorting.
func (f *failing) options(o audit.Options) audit.Options {
	o.Site = "a.example"
	o.Violation = func(*audit.Violation) error { return f.step() }
	o.Request = func(audit.Request) error { return f.step() }
	o.Copy = func(audit.Copy) error { return f.step() }
	o.SortBy(func(temp string) audit.Order {
		f.open++
		return &failingOrder{f, crawllog.NewOrder(temp)}
	})
	return o
}

type failingReader struct {
	f *failing
	io.Reader
}

func (r *failingReader) Read(p []byte) (int, error) {
	if err := r.f.step(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

func (r *failingReader) Close() error {
	r.f.open--
	return nil
}

type failingOrder struct {
	f *failing
	*crawllog.Order
}

func (o *failingOrder) Add(key, line []byte) error {
	if err := o.f.step(); err != nil {
		return err
	}
	return o.Order.Add(key, line)
}

func (o *failingOrder) Each(each func(key, line []byte) error) error {
	if err := o.f.step(); err != nil {
		return err
	}
	return o.Order.Each(each)
}

func (o *failingOrder) Close() error {
	o.f.open--
	return errors.Join(o.f.step(), o.Order.Close())
}

// failingSeq yields the values of all. It counts a step before each value, and may fail.
func failingSeq[T any](f *failing, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		f.open++
		defer func() { f.open-- }()
		for v, err := range all {
			if failed := f.step(); failed != nil {
				yield(*new(T), failed)
				return
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// failAudit calls failEach for an audit of one crawl. access is the log of a server.
func failAudit(t *testing.T, c audit.Crawl, access []byte) {
	t.Helper()
	temp := t.TempDir()
	failEach(t, func(f *failing) error {
		o := f.options(audit.Options{Temp: temp})
		if access != nil {
			o.Server = &audit.ServerLog{Name: "access.log", Log: &failingReader{f, bytes.NewReader(access)}}
		}
		_, err := f.crawl(c).Audit(o)
		return err
	})
}
