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
// goes on during the iteration, and after Close the last pair has the error.
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
		time.Sleep(time.Minute) // everything is committed
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

// namesOfAll yields the name of each value.
func namesOfAll[T any](all iter.Seq2[T, error], name func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for v, err := range all {
			if !yield(name(v), err) {
				return
			}
		}
	}
}
