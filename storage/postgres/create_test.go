//go:build unix

package postgres

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/state"
)

// The connection of the first node breaks while the node creates the tables. It creates them with the
// next connection, or finds that they are there.
func TestConnectionsThatBreakWhileTablesAreMade(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"to_regclass('crawl.crawl')", "create schema crawl", "insert into crawl.crawl", "insert into crawl.part", "commit"} {
		for how, verdict := range map[string]Verdict{"before": CutBefore, "after": CutAfter} {
			t.Run(how+" "+statement, func(t *testing.T) {
				t.Parallel()
				var armed, broken atomic.Bool
				url := NewProxy(t, NewDatabase(t), func(said string) Verdict {
					if strings.Contains(said, statement) && armed.CompareAndSwap(true, false) {
						broken.Store(true)
						return verdict
					}
					return Forward
				})
				d, err := New(url)
				if err != nil {
					t.Fatal(err)
				}
				d.(*database).same, d.(*database).lease = true, time.Hour
				store, err := d.OpenStore(t.TempDir(), state.Options{})
				if err != nil {
					t.Fatal(err)
				}
				db := store.(*node)
				armed.Store(true)
				if err := store.Begin(noOutputs{}, store.Marks(), nil); err != nil {
					db.Abandon()
					t.Fatal(err)
				}
				defer kill(db)
				parts := 0
				if err := db.pool.QueryRow(db.ctx, "select count(*) from part").Scan(&parts); err != nil || parts != partitions {
					t.Error(parts, err)
				}
				if !broken.Load() {
					t.Error("no connection broke")
				}
			})
		}
	}
}
