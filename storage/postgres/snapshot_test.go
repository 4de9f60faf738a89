//go:build unix

package postgres

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// A long transaction, such as that of a backup, keeps the old rows of entries that have ended.
// Reads start after the last entry that was read, so they do not scan these rows.
func TestReadsUnderALongSnapshot(t *testing.T) {
	t.Parallel()
	db := open(t, NewDatabase(t), t.TempDir())
	defer kill(db)
	take(t, db)
	const pages, atOnce = 3000, 50
	var links []frontier.Entry
	for i := range pages {
		links = append(links, statetest.Entry(t, fmt.Sprintf("http://a.example/%d", i)))
	}
	if err := db.Submit(frontier.Completion{Links: links}); err != nil {
		t.Fatal(err)
	}
	name := links[0].URL.Site()
	settled := func(n int) {
		t.Helper()
		for n > 0 {
			g := <-db.Grown()
			if g.Err != nil {
				t.Fatal(g.Err)
			}
			n -= g.Settled
		}
	}
	settled(1)
	long, err := db.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer long.Rollback(db.ctx)
	var queued int
	if err := long.QueryRow(t.Context(), "select count(*) from queue").Scan(&queued); err != nil || queued != pages {
		t.Fatal(queued, err)
	}
	entries := make([]frontier.Entry, atOnce)
	for range pages/atOnce - 1 {
		n, err := db.Read(name, time.Now(), entries)
		if err != nil || n != atOnce {
			t.Fatal(n, err)
		}
		for _, e := range entries {
			if err := db.Submit(frontier.Completion{Site: name, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched}}); err != nil {
				t.Fatal(err)
			}
		}
		settled(atOnce)
	}
	w, ok := db.wanted(name, time.Now(), false)
	if !ok || !w.ready {
		t.Fatal("nothing is left to read")
	}
	cost := func(rank int16, n int64) int {
		t.Helper()
		var raw []byte
		err := db.pool.QueryRow(t.Context(), "explain (analyze, buffers, format json) select "+rowColumns+fromQueue+" where q.part = $1 and q.site = $2 and q.kind = 0 and (q.rank, q.n) > ($3, $4) and q.n <> all($5) order by q.rank, q.n limit $6",
			w.part, w.id, rank, n, w.out, 8).Scan(&raw)
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		if err == nil {
			err = json.Unmarshal(raw, &plans)
		}
		if err != nil || len(plans) != 1 {
			t.Fatal(err, string(raw))
		}
		return plans[0].Plan.Hit + plans[0].Plan.Read
	}
	head, cursor := cost(-1, 0), cost(w.rank, w.to)
	t.Logf("8 entries after %d ends: %d buffers, %d from the head", pages-atOnce, cursor, head)
	if cursor > 100 || head < 10*cursor {
		t.Errorf("a read of 8 entries costs %d buffers, and %d from the head", cursor, head)
	}
}
