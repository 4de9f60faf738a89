//go:build unix

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// When a node dies or ends, its unused credit returns to the crawl. If it has spent more than its
// credit, the difference is counted.
func TestCreditComesBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, db *node, url, dir string){
		"closed": func(t *testing.T, db *node, url, dir string) {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		},
		"buried": func(t *testing.T, db *node, url, dir string) {
			kill(db)
			other := open(t, url, t.TempDir())
			defer kill(other)
			other.session.sure.Store(true)
			if _, err := other.pool.Exec(other.ctx, "update node set until = 'epoch' where id = $1", db.id); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := (&keeper{node: other, frontier: idle{}}).balance(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		},
		"started again": func(t *testing.T, db *node, url, dir string) {
			kill(db)
			kill(open(t, url, dir))
		},
		"at rest": func(t *testing.T, db *node, url, dir string) {
			f := &resting{grown: 1 << 40, ended: make(chan error, 1), limits: frontier.Limits{Pages: 100, Bytes: 100}}
			db.Join(f, time.Minute)
			<-f.ended
			kill(db)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := NewDatabase(t), t.TempDir()
			db := open(t, url, dir)
			db.credit.spent.Store(&frontier.Spent{Pages: 20, Bytes: 12}) // the next commit writes these values
			if _, err := db.pool.Exec(db.ctx, "update crawl set pages = 90, bytes = 7"); err != nil {
				t.Fatal(err)
			}
			if _, err := db.pool.Exec(db.ctx, "update node set pages = 20, bytes = 12, pages_credit = 50, bytes_credit = 7"); err != nil {
				t.Fatal(err)
			}
			end(t, db, url, dir)
			look := open(t, url, t.TempDir())
			defer kill(look)
			var pages, bytes int
			if err := look.pool.QueryRow(context.Background(), "select pages, bytes from crawl").Scan(&pages, &bytes); err != nil {
				t.Fatal(err)
			}
			if pages != 60 || bytes != 12 {
				t.Errorf("%d pages and %d bytes are granted, want 60 and 12", pages, bytes)
			}
		})
	}
}
