//go:build unix

package postgres_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// changes are parts of the statements with which a node changes the database after its session has
// begun.
var changes = []string{"set seq = ", "changes = changes + 1", "update part set owner", "delete from news", "insert into site", "set until", "update node set idle"}

// Connections break in the middle of a commit, after the server has committed, or before it
// received anything. The server may also be out of resources for some time. The statements are
// repeated, and the crawl has each page once.
func TestConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	verdicts := []postgres.Verdict{postgres.CutBefore, postgres.CutAfter, postgres.NoRoom, postgres.TooMany}
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	broken := map[string]int{}
	judge := func(said string) postgres.Verdict {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			// Each kind of statement fails once in each way, and later one time in five.
			if n := broken[c]; strings.Contains(said, c) && (n < len(verdicts) || random.IntN(5) == 0) {
				broken[c]++
				return verdicts[n%len(verdicts)]
			}
		}
		return postgres.Forward
	}
	direct := postgres.NewDatabase(t)
	url, dir := postgres.NewProxy(t, direct, judge), filepath.Join(t.TempDir(), "node.crawl")
	next := chain(t, url, dir, 8)
	if err := run(t, next()); err != nil {
		t.Fatal(err)
	}
	all := pagesOf(t, filepath.Join(dir, storage.PagesFile))
	for u, n := range all {
		if n != 1 {
			t.Errorf("%s is there %d times", u, n)
		}
	}
	if len(all) != 9 {
		t.Errorf("%d pages: %v", len(all), all)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, c := range changes[:3] {
		if broken[c] < len(verdicts) {
			t.Errorf("broken: %v", broken)
		}
	}
	t.Log(broken)
}
