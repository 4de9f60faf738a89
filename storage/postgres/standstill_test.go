//go:build unix

package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A node stands still within a transaction, in which it has locked its own row and that of a
// partition. It stops between two statements, or within a pipeline, for which the server has no
// time-out. The other node ends its session, and takes its partitions.
func TestANodeThatStandsStillInATransaction(t *testing.T) {
	t.Parallel()
	lock := []string{"update crawl.node set seq = seq", "update crawl.part set owner = owner where id = 0"}
	for name, still := range map[string]func(t *testing.T, conn *pgconn.PgConn){
		"between statements": func(t *testing.T, conn *pgconn.PgConn) {
			for _, sql := range append([]string{"begin"}, lock...) {
				if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
					t.Fatal(err)
				}
			}
		},
		"in a pipeline": func(t *testing.T, conn *pgconn.PgConn) {
			f := conn.Frontend()
			for _, sql := range lock {
				f.SendParse(&pgproto3.Parse{Query: sql})
				f.SendBind(&pgproto3.Bind{})
				f.SendExecute(&pgproto3.Execute{})
			}
			f.Send(&pgproto3.Flush{})
			if err := f.Flush(); err != nil {
				t.Fatal(err)
			}
			for done := 0; done < len(lock); {
				m, err := f.Receive()
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := m.(*pgproto3.CommandComplete); ok {
					done++
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := NewDatabase(t)
			dead := openFor(t, url, time.Hour)
			take(t, dead)
			dead.session.stop()
			config := dead.pool.Config().ConnConfig.Config
			conn, err := pgconn.ConnectConfig(t.Context(), &config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			// Make the lease of the dead node end.
			if _, err := dead.pool.Exec(t.Context(), "update node set until = clock_timestamp() - interval '1 second'"); err != nil {
				t.Fatal(err)
			}
			still(t, conn)
			db := openFor(t, url, 400*time.Millisecond)
			take(t, db) // returns when the node has all partitions
			kill(db)
			dead.Abandon()
			close(dead.closing)
			<-dead.committed
		})
	}
}

// openFor opens a node with the given lease and a directory of its own.
func openFor(t testing.TB, url string, lease time.Duration) *node {
	t.Helper()
	return openWith(t, url, t.TempDir(), lease)
}
