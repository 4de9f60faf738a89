package state

import (
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Sites, clocks and keys are read in several transactions. Each comes once, also if the crawl
// changes during the iteration. After Close the last pair has the error ErrClosed.
func TestManyRowsAreReadInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2*sitesAtOnce + 100
		db := open(t, t.TempDir())
		due := time.Now().Add(time.Hour)
		submit := func(name string) {
			t.Helper()
			c := frontier.Completion{Links: []frontier.Entry{entry(t, "http://"+name+".example/")}, Common: []frontier.CommonClock{{Name: "ip " + name, Due: due}}}
			if err := errors.Join(db.Submit(c), db.Put("key "+name, name)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			submit(fmt.Sprintf("h%04d", i))
		}
		time.Sleep(time.Minute) // time to commit everything
		synctest.Wait()
		for kind, names := range map[string]iter.Seq2[string, error]{
			"sites":  namesOfAll(db.Sites(), func(st frontier.SiteState) string { return string(st.Site) }),
			"clocks": namesOfAll(db.Common(), func(c frontier.CommonClock) string { return c.Name }),
			"keys":   db.Keys("key "),
		} {
			known := map[string]int{}
			for name, err := range names {
				if err != nil {
					t.Fatal(err)
				}
				if known[name]++; len(known) == sitesAtOnce/2 {
					submit("new-" + kind)
					time.Sleep(time.Minute)
				}
			}
			for name, times := range known {
				if times != 1 {
					t.Errorf("%s: %s came %d times", kind, name, times)
				}
			}
			if len(known) < n {
				t.Errorf("%s: %d, want at least %d", kind, len(known), n)
			}
		}
		for name, all := range map[string]iter.Seq[error]{"Sites": errorsOf(db.Sites()), "Common": errorsOf(db.Common()), "Keys": errorsOf(db.Keys(""))} {
			var last error
			pairs, failed := 0, 0
			for err := range all {
				if pairs++; pairs == 1 {
					db.Close()
				}
				if last = err; err != nil {
					failed++
				}
			}
			if !errors.Is(last, ErrClosed) || failed != 1 {
				t.Errorf("%s: %d pairs, %d errors, %v", name, pairs, failed, last)
			}
		}
	})
}

// When the iteration begins, a clock is only in the journal. It is merged during the iteration,
// and its name sorts before clocks that were read already. It comes exactly once.
func TestAClockThatIsMergedMeanwhileComesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, due := t.TempDir(), time.Now().Add(time.Hour)
		submit := func(db *DB, names ...string) {
			t.Helper()
			c := frontier.Completion{Site: "http://a.example", Clocks: frontier.Clocks{Good: 1}}
			for _, name := range names {
				c.Common = append(c.Common, frontier.CommonClock{Name: name, Due: due})
			}
			if err := db.Submit(c); err != nil {
				t.Fatal(err)
			}
		}
		db := open(t, dir)
		want := map[string]bool{"a": true, "z": true}
		for i := range sitesAtOnce + 100 {
			name := fmt.Sprintf("m%04d", i)
			submit(db, name)
			want[name] = true
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		l := Usual
		l.SmallPending = 0
		db, err := start(dir, Options{Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		submit(db, "a", "z")
		time.Sleep(25 * time.Millisecond)
		synctest.Wait()
		if n := len(db.book.pending.common); n != 2 {
			t.Fatalf("%d clocks are pending", n)
		}
		read := 0
		for c, err := range db.Common() {
			if err != nil {
				t.Fatal(err)
			}
			if !want[c.Name] || !c.Due.Equal(due) {
				t.Errorf("%s comes again, or has another time: %v", c.Name, c.Due)
			}
			delete(want, c.Name)
			if read++; read == sitesAtOnce/2 {
				time.Sleep(2 * someAge)
				synctest.Wait()
				if n := len(db.book.pending.common); n != 0 {
					t.Fatalf("%d clocks are still pending", n)
				}
			}
		}
		if len(want) > 0 {
			t.Errorf("left out: %v", want)
		}
	})
}

// namesOfAll yields the name of each value, and passes on errors.
func namesOfAll[T any](all iter.Seq2[T, error], name func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for v, err := range all {
			if !yield(name(v), err) {
				return
			}
		}
	}
}
