//go:build unix

package postgres

import (
	"errors"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// fullOutputs report one full file at each flush, and fail to finish it.
type fullOutputs struct {
	noOutputs
	finish error
}

func (f fullOutputs) Flush() (state.Moment, error) {
	return state.Moment{Marks: state.Marks{"warc/a": {Length: 7}}, Full: []string{"warc/a"}}, nil
}

func (f fullOutputs) Finish([]string) error { return f.finish }

// A process may end after it has committed that a file is full, and before it has renamed the
// file. The next process must find the mark of this file: it removes files without a mark.
func TestAFullFileThatWasNotFinishedKeepsItsMark(t *testing.T) {
	t.Parallel()
	url, dir := NewDatabase(t), t.TempDir()
	broken := errors.New("killed")
	d, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, finish := range []error{broken, nil} {
		store, err := d.OpenStore(dir, state.Options{Gather: -1})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Begin(fullOutputs{finish: finish}, store.Marks(), nil); err != nil {
			t.Fatal(err)
		}
		db := store.(*node)
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{statetest.Entry(t, "http://a.example/")}}); err != nil {
			t.Fatal(err)
		}
		if finish == nil {
			statetest.Settle(t, db, 1)
		} else {
			for g := range db.Grown() {
				if errors.Is(g.Err, broken) {
					break
				}
			}
		}
		kill(db)
		store, err = d.OpenStore(dir, state.Options{Gather: -1})
		if err != nil {
			t.Fatal(err)
		}
		if got := store.Marks()["warc/a"].Length; got != 7 {
			t.Errorf("finish %v: the mark has length %d, want 7", finish, got)
		}
		if err := store.Abandon(); err != nil {
			t.Fatal(err)
		}
	}
}
