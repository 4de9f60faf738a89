package state

import (
	"errors"
	"iter"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
	"go.etcd.io/bbolt"
)

// A none is an Outputs without files.
type none struct{}

func (none) Flush() (Moment, error) { return Moment{}, nil }

func (none) Finish([]string) error { return nil }

func (none) Close(end End) (Last, error) { return Last{Growing: end.Committed}, nil }

// start opens a state without outputs, and begins it.
func start(dir string, opts Options) (*DB, error) {
	db, err := Open(dir, opts)
	if err != nil {
		return nil, err
	}
	if err := db.Begin(none{}, db.Marks(), nil); err != nil {
		db.Abandon()
		return nil, err
	}
	return db, nil
}

var settle, crash, entry = statetest.Settle, statetest.Crash, statetest.Entry

// open opens a crawl in dir. Each commit has one operation, if the caller waits with settle
// after each operation.
func open(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := start(dir, Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// checked runs a Check of the state in dir, and fails the test for each problem.
func checked(t testing.TB, dir string) Checked {
	t.Helper()
	done, err := Check{
		Problem: func(err error) { t.Errorf("Check: %v", err) },
		Fate:    func(frontier.URL, frontier.Fate) {}, Payload: func(Payload) {},
	}.Read(t.Context(), dir)
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	return done
}

func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db := open(t, dir)
	var links []frontier.Entry
	for _, raw := range []string{"http://a.example/", "http://a.example/1", "https://b.example/"} {
		e := entry(t, raw)
		e.Tag = "t"
		links = append(links, e)
	}
	if err := db.Submit(frontier.Completion{Links: links}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pairErrors reads all pairs and returns their errors, joined.
func pairErrors[T any](all iter.Seq2[T, error]) error {
	var errs []error
	for _, err := range all {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// each calls f with the rows of b, a bucket without nested buckets.
func each(b *bbolt.Bucket, f func(key, value []byte)) {
	c := b.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		f(key, value)
	}
}
