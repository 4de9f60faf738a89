package provenance

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// WriteLists writes all lists of the crawl in dir to out. It calls begun after it has read the
// settings of the crawl.
func WriteLists(dir string, out io.Writer, begun func() error) error {
	state, err := store.OpenReader(dir)
	if err != nil {
		return err
	}
	w := newWriter(context.Background(), dir, state, Options{})
	w.seeds = &seedList{to: out}
	for _, step := range []func() error{w.begin, begun, func() error { return w.writeRobots(out) }, func() error { return w.writeAbsences(out) }} {
		if err := step(); err != nil {
			return errors.Join(err, state.Close())
		}
	}
	return state.Close()
}

// Order is the interface of the sorter that Write uses.
type Order = order

// ReadLists is like WriteLists, but first reads the log, with sorters that f returns.
func ReadLists(dir string, out io.Writer, f func() Order) error {
	state, err := store.OpenReader(dir)
	if err != nil {
		return err
	}
	w := newWriter(context.Background(), dir, state, Options{})
	w.seeds, w.newOrder = &seedList{to: out}, func(string) order { return f() }
	for _, step := range []func() error{w.begin, w.readLog, func() error { return w.writeRobots(out) }} {
		if err := step(); err != nil {
			return errors.Join(err, state.Close())
		}
	}
	return state.Close()
}

// Unflipped reports whether a flipped bit in a text of n bytes is corrected.
func Unflipped(n int) bool {
	of := make([]byte, n)
	text := make([]byte, n)
	text[0] = 1
	at, ok := unflip(text, Output{Bytes: int64(n), SHA256: digestOf(of)})
	return ok && at == 0
}

// SpillAt counts the given sites. The parameter most is the largest number of sites in memory;
// the sorter by gets the counts of all others.
func SpillAt(most int, by Order, sites ...string) (*Figures, error) {
	h := newHostCounts(by)
	h.most = most
	for _, s := range sites {
		if err := h.add(frontier.Site(s)); err != nil {
			return nil, err
		}
	}
	var f Figures
	return &f, h.figures(&f)
}

// Steps makes the provenance of the crawl in dir without an audit. It writes the files into the
// directory into, under temporary names. It calls step between any two steps that read the
// state.
func Steps(dir, into string, now time.Time, step func()) (*Provenance, error) {
	state, err := store.OpenReader(dir)
	if err != nil {
		return nil, err
	}
	w := newWriter(context.Background(), dir, state, Options{NoAudit: true, Now: now, OptOut: func(frontier.URL) string { step(); return "" }})
	w.into = into
	w.newOrder = func(temp string) order {
		step()
		return &steppedOrder{crawllog.NewOrder(temp), step}
	}
	for _, next := range []func() error{
		w.begin, w.readLog, w.readPages, w.writeLists, w.readOutputs, func() error { return w.judge(audited{}) }, w.compare, w.writeSheet, w.writeFile,
	} {
		if step(); err == nil {
			err = next()
		}
	}
	if err = errors.Join(err, w.discard(), state.Close()); err != nil {
		return nil, err
	}
	return w.Provenance, nil
}

type steppedOrder struct {
	order
	step func()
}

func (o *steppedOrder) Add(key, line []byte) error {
	o.step()
	return o.order.Add(key, line)
}

func (o *steppedOrder) Each(f func(key, line []byte) error) error {
	return o.order.Each(func(key, line []byte) error { o.step(); return f(key, line) })
}

// ReadOutputs reads the outputs of the crawl in dir. It calls begun after it has read the
// settings of the crawl.
func ReadOutputs(dir string, begun func() error) error {
	state, err := store.OpenReader(dir)
	if err != nil {
		return err
	}
	w := newWriter(context.Background(), dir, state, Options{})
	for _, step := range []func() error{w.begin, begun, w.readOutputs} {
		if err := step(); err != nil {
			return errors.Join(err, state.Close())
		}
	}
	return state.Close()
}

// CloseSeeds writes the lists of the crawl in dir. It closes the file of the seeds before all
// are written, and returns the error of the lists.
func CloseSeeds(dir string) error {
	state, err := store.OpenReader(dir)
	if err != nil {
		return err
	}
	defer state.Close()
	var w *writer
	w = newWriter(context.Background(), dir, state, Options{OptOut: func(frontier.URL) string {
		w.staged[0].file.Close()
		return ""
	}})
	defer w.discard()
	if err := w.begin(); err != nil {
		return err
	}
	return w.writeLists()
}
