package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/permesso-crawler/permesso/internal/state"
)

// ErrSession says that the session of a node is over: its lease ended before it could renew it, so
// other nodes have taken its partitions, or the database has lost commits of this node. Start the
// node again; nothing is lost.
var ErrSession = errors.New("the session of this node is over: other nodes may have its sites now; start it again, nothing is lost")

// The longest time that statements are repeated while the server cannot be reached.
const (
	longestOutage  = 15 * time.Minute // of a node
	longestReading = 10 * time.Second // of a program that only reads
)

// retry calls f until it succeeds, or fails for a reason that will not pass by itself. The
// statements of f must have the same effect when they are repeated.
func (db *node) retry(f func() error) error {
	began := time.Now()
	for try := 0; ; try++ {
		err := f()
		if err == nil {
			return nil
		}
		wait, err := db.passes(err, try)
		if wait < 0 {
			return err
		}
		if time.Since(began) > db.outage {
			return fmt.Errorf("the database was away for %v: %w", db.outage, err)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-db.ctx.Done():
			t.Stop()
			return errors.Join(state.ErrClosed, err)
		}
	}
}

// passes returns how long to wait before what has failed with err is tried again. A negative
// result says that it would fail again.
func (db *node) passes(err error, try int) (time.Duration, error) {
	slower := min(time.Second, 20*time.Millisecond<<min(try, 6))
	var pg *pgconn.PgError
	switch {
	case db.ctx.Err() != nil:
		return -1, state.ErrClosed
	case errors.Is(err, ErrSession), errors.As(err, new(refusal)):
		return -1, err
	case !errors.As(err, &pg):
		if errors.Is(err, context.Canceled) {
			return -1, err
		}
		return slower, err // of the network
	case pg.Code == divisionByZero:
		return -1, ErrSession
	case missing(err):
		return -1, fmt.Errorf("the tables of the crawl are gone: %w (%w)", err, ErrSession)
	case pg.Code == isStandby: // the server became one
		db.pool.Reset()
		return slower, err
	case pg.Code == "40P01" || pg.Code == "40001": // deadlock, serialization failure
		return slower / 8, err
	case pg.ConstraintName == "node_num_key": // another node has taken the number at the same time
		return slower, err
	case pg.Code == "26000": // the connection has lost its prepared statements
		db.pool.Reset()
		return slower, err
	case pg.Code == "57014": // the statement took too long
		return slower, err
	case pg.Code == "25P03": // the transaction stood still for too long
		return slower, err
	case strings.HasPrefix(pg.Code, "57P"), strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "53"):
		return slower, err // the server ends or begins, the connection broke, or there is no room
	}
	return -1, err
}

// divisionByZero is the code of the error with which the fence stops a transaction.
const divisionByZero = "22012"

// already reports whether err says that another node creates the tables at the same time.
func already(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42P06" || pg.Code == "42P07" || pg.Code == "23505")
}
