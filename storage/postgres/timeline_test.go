//go:build unix

package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
)

// After the promotion of a standby all sites rest, even those that their nodes gave back. The
// times in the tables are by the clock of another server.
func TestSitesRestAfterAPromotion(t *testing.T) {
	t.Parallel()
	for name, promoted := range map[string]bool{"the same server": false, "a promoted one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := NewDatabase(t), t.TempDir()
			db := open(t, url, dir)
			if db.server.timeline.Load() == 0 {
				t.Fatal("the timeline is not known")
			}
			take(t, db)
			if promoted {
				if _, err := db.pool.Exec(t.Context(), "update crawl set timeline = timeline - 1"); err != nil {
					t.Fatal(err)
				}
				if _, err := db.pool.Exec(t.Context(), "insert into common (name, due) values ('ip 192.0.2.1', clock_timestamp())"); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			db = open(t, url, dir)
			defer kill(db)
			take(t, db)
			db.mu.Lock()
			defer db.mu.Unlock()
			for id, p := range db.had {
				if rests := !p.term.Rest.Before(began); rests != promoted {
					t.Fatalf("partition %d rests until %v, now is %v", id, p.term.Rest, began)
				}
			}
			var common []frontier.CommonClock
			for c, err := range db.Common() {
				if err != nil {
					t.Fatal(err)
				}
				common = append(common, c)
			}
			if promoted && (len(common) != 1 || !common[0].Due.After(began)) {
				t.Errorf("the clock that sites share: %v", common)
			}
		})
	}
}

// A connection pooler between the node and the server can switch a connection to another server.
// The renewal of the lease detects it.
func TestARenewalFindsAnotherTimeline(t *testing.T) {
	t.Parallel()
	db := open(t, NewDatabase(t), t.TempDir())
	defer kill(db)
	if err := db.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.server.timeline.Add(-2)
	if err := db.renew(t.Context()); !errors.Is(err, ErrSession) {
		t.Error(err)
	}
}

// A session does not continue on a server with another timeline. A server with a later timeline
// may have lost commits, and one with an earlier timeline is an old primary.
func TestASessionHasOneTimeline(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]int64{"an old primary": 1, "a promoted standby": -2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, NewDatabase(t), t.TempDir())
			defer kill(db)
			db.server.timeline.Add(ahead)
			conn, err := pgx.ConnectConfig(t.Context(), db.pool.Config().ConnConfig)
			if err == nil {
				conn.Close(t.Context())
			}
			if err == nil || errors.Is(err, ErrSession) != (ahead < 0) {
				t.Error(err)
			}
		})
	}
}
