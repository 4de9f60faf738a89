package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/permesso-crawler/permesso/internal/state"
)

// ErrSession says that the session of a node is over. Either its lease ended before the node
// renewed it, and other nodes have taken its partitions, or the database has lost commits of this
// node. Start the node again; nothing is lost.
var ErrSession = errors.New("the session of this node is over: other nodes may have its sites now; start it again, nothing is lost")

// How long statements are repeated while the server cannot be reached.
const (
	longestOutage  = 15 * time.Minute // how long a node repeats a statement
	longestReading = 10 * time.Second // how long a program that only reads repeats it
)

// retry calls f until it succeeds, or fails with an error that repeating cannot remove. Repeated
// calls of f must have the same effect as one.
func (db *node) retry(f func() error) error {
	began := time.Now()
	for try := 0; ; try++ {
		err := f()
		if err == nil {
			db.outages.answered()
			return nil
		}
		wait, err := db.passes(err, try)
		if wait < 0 {
			return err
		}
		db.outages.failed(err, db.lease, db.outage)
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

// retryBroken is like retry, but calls f again only if the connection has broken or the server is
// stopping. It is for a node that begins: the user must see other errors at once, for example that
// the server has too many connections.
func (db *node) retryBroken(f func() error) error {
	return db.retry(func() error {
		err := f()
		var pg *pgconn.PgError
		if errors.As(err, &pg) && !strings.HasPrefix(pg.Code, "57P") || errors.Is(err, pgx.ErrNoRows) {
			return refusal{err}
		}
		return err
	})
}

// passes returns how long to wait before the next try after err. A negative duration means that
// the next try would fail, too.
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
		return slower, err // an error of the network
	case pg.Code == divisionByZero:
		return -1, ErrSession
	case missing(err):
		return -1, fmt.Errorf("the tables of the crawl are gone: %w (%w)", err, ErrSession)
	case pg.Code == isStandby: // the server has become a standby
		db.pool.Reset()
		return slower, err
	case pg.Code == "40P01" || pg.Code == "40001": // deadlock, serialization failure
		return slower / 8, err
	case pg.ConstraintName == "node_num_key": // another node has taken the same number at the same time
		return slower, err
	case pg.Code == "26000": // the prepared statements of the connection were lost
		db.pool.Reset()
		return slower, err
	case pg.Code == "57014": // the statement was cancelled by a time-out
		return slower, err
	case pg.Code == "25P03": // the transaction was idle for too long
		return slower, err
	case strings.HasPrefix(pg.Code, "57P"), strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "53"):
		return slower, err // the server is stopping or starting, the connection broke, or a resource is exhausted
	}
	return -1, err
}

// divisionByZero is the SQLSTATE with which the statement of fence stops a transaction.
const divisionByZero = "22012"

// already reports whether err says that another node is creating the tables at the same time.
func already(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42P06" || pg.Code == "42P07" || pg.Code == "23505")
}
