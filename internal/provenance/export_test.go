package provenance

import (
	"context"
	"errors"
	"io"

	"github.com/permesso-crawler/permesso/storage"
)

// WriteLists writes all lists of the crawl in dir to one writer. It calls begun when it has
// read what the crawl was asked to be.
func WriteLists(dir string, out io.Writer, begun func() error) error {
	state, err := storage.OpenReader(dir)
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
