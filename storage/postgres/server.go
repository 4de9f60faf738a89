package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/zeebo/xxh3"
)

// A serverCheck checks each new connection of a node. All connections of a session must lead to
// one timeline of the server. A standby that is promoted begins a timeline with a higher number.
// Its clock may differ, and it may have lost commits, so the session ends. A server with a lower
// number was replaced: commits on it are lost.
type serverCheck struct {
	timeline atomic.Int64 // number of the timeline; 0: not known
}

// isStandby is the SQLSTATE that a standby returns for statements that write.
const isStandby = "25006"

// validate returns a function that checks a new connection. It first calls before.
func (s *serverCheck) validate(before pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		if before != nil {
			if err := before(ctx, conn); err != nil {
				return err
			}
		}
		timeline, err := timelineOf(ctx, conn)
		if err != nil || timeline == 0 {
			return err
		}
		was := s.timeline.Load()
		if was == 0 && s.timeline.CompareAndSwap(0, timeline) {
			return nil
		}
		switch was = s.timeline.Load(); {
		case timeline > was:
			return fmt.Errorf("a standby was promoted (timeline %d after %d): %w", timeline, was, ErrSession)
		case timeline < was:
			return fmt.Errorf("the server is an old primary, which another one has replaced (timeline %d, not %d): stop it", timeline, was)
		}
		return nil
	}
}

// timelineNow is an SQL expression for the timeline of the server. It fails on a standby.
const timelineNow = "('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"

// timelineOf returns the timeline of a server, or 0 if the server does not permit the query. The
// error says that the server is a standby, or that the connection broke.
func timelineOf(ctx context.Context, conn *pgconn.PgConn) (int64, error) {
	results, err := conn.Exec(ctx, "select case when pg_catalog.pg_is_in_recovery() then 0 else "+timelineNow+" end").ReadAll()
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "0A000" || pg.Code == "42501" || pg.Code == "42883") {
		return 0, nil // the function is not supported, not permitted or missing
	}
	if err != nil {
		return 0, err
	}
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return 0, nil
	}
	timeline, err := strconv.ParseInt(string(results[0].Rows[0][0]), 10, 64)
	if err == nil && timeline == 0 {
		err = errStandby
	}
	return timeline, err
}

var errStandby = errors.New("the server is a standby, which cannot be written: name the primary, or all servers (postgres://user@db1,db2/name)")

// configOf returns the configuration of the connections of a node.
func (db *node) configOf(d *database) *pgxpool.Config {
	config := d.config.Copy()
	c := config.ConnConfig
	c.ValidateConnect = db.server.validate(c.ValidateConnect)
	c.RuntimeParams["application_name"] = application(c.RuntimeParams["application_name"], db.name)
	// End the transaction of a node that stands still between two statements, to free its locks.
	c.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt((db.lease / 2).Milliseconds(), 10)
	return config
}

// application returns the name that the connections of a node have at the server. It begins with
// the name of the program, and has at most 63 bytes.
func application(program, node string) string {
	return fmt.Sprintf("%.40s %016x", program, xxh3.HashString(node))
}

// cutDead ends the connections of nodes whose leases have ended. A node that stands still within a
// transaction would keep its locks, and other nodes could not end its session. The server permits
// this only if the nodes have the same user.
func (db *node) cutDead() error {
	rows, err := db.pool.Query(db.ctx, "select name from node where until < clock_timestamp() and id <> $1", db.id)
	if err != nil {
		return err
	}
	dead, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(dead) == 0 {
		return err
	}
	program := db.pool.Config().ConnConfig.RuntimeParams["application_name"]
	program = program[:strings.LastIndexByte(program, ' ')]
	for i, name := range dead {
		dead[i] = application(program, name)
	}
	_, err = db.pool.Exec(db.ctx, "select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity where application_name = any($1) and datname = current_database()", dead)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42501" { // not permitted, because the other node has another user
		return nil
	}
	return err
}

// onTimeline records the timeline of the server when a session begins. If this is a new timeline,
// all sites rest their full pause from now. The times in the tables are by the clock of the old
// server, so it is not known how long ago the last requests were. Clocks that several sites share
// rest longer, because the tables do not have the lengths of their pauses.
func (db *node) onTimeline(tx pgx.Tx) error {
	timeline := db.server.timeline.Load()
	if timeline == 0 {
		return nil
	}
	tag, err := tx.Exec(db.ctx, "update crawl set timeline = $1 where timeline <> $1", timeline)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	if _, err := tx.Exec(db.ctx, "update part set rest = greatest(rest, clock_timestamp())"); err != nil {
		return err
	}
	_, err = tx.Exec(db.ctx, "update common set due = greatest(due, clock_timestamp()) + $1", db.longest)
	return err
}

// hostsOf returns the hosts of a connection string, separated by commas. ports has the port of
// each of them, or is "" if all have the same port.
func hostsOf(c *pgx.ConnConfig) (hosts, ports string) {
	names, numbers := []string{c.Host}, []string{strconv.Itoa(int(c.Port))}
	for _, f := range c.Fallbacks { // a host has several fallbacks, with and without TLS
		port := strconv.Itoa(int(f.Port))
		if last := len(names) - 1; f.Host != names[last] || port != numbers[last] {
			names, numbers = append(names, f.Host), append(numbers, port)
		}
	}
	if len(slices.Compact(slices.Clone(numbers))) > 1 {
		ports = strings.Join(numbers, ",")
	}
	return strings.Join(names, ","), ports
}
