package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A refusal is an error that a repetition would not remove, so retry does not try again.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// hint returns advice how to remove the cause of an error of the server, as the end of a sentence.
// It returns "" if none exists.
func hint(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return ""
	}
	switch {
	case pg.Code == "28P01", pg.Code == "28000":
		return ": the user is in the connection string or in $PGUSER, and the password in $PGPASSWORD or ~/.pgpass"
	case pg.Code == "3D000":
		return ": createdb makes it"
	case pg.Code == "42501":
		return ": all nodes need the user that has made the tables, and the first node needs one that may create a schema in the database"
	case pg.Code == "53300":
		return ": a node has up to 8 connections; raise max_connections of the server, or the limit of the user"
	case pg.Code == "42703", missing(err): // undefined column, undefined table
		return foreign
	}
	return ""
}

// foreign is the end of the error message for a schema named crawl that has unknown tables.
const foreign = ": the schema crawl of the database is of another program, or of an unfinished version: give the crawl a database of its own"

// oldest is the oldest supported version of PostgreSQL, in the form of server_version_num.
const oldest = 13_00_00

func checkVersion(version int) error {
	if version < oldest {
		return fmt.Errorf("the server has version %d; PostgreSQL %d or newer is needed", version/10000, oldest/10000)
	}
	return nil
}

// place returns the machine and path of this node's directory. It is the same after a restart.
func (db *node) place() string {
	host, _ := os.Hostname()
	dir, err := filepath.Abs(db.dir)
	if err != nil {
		dir = db.dir
	}
	return strings.ToValidUTF8(host+":"+dir, "?")
}

// onlyHere returns an error if this node has a session with another machine or path. Then the
// directory was copied, and two processes would make requests to the same sites.
func (db *node) onlyHere(in interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) error {
	var place string
	var until time.Time
	err := in.QueryRow(db.ctx, "select place, until from node where name = $1 and place <> $2 and until > clock_timestamp()", db.name, db.place()).Scan(&place, &until)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return refusal{fmt.Errorf("the node %s runs in %s, or was killed there and has its lease until %s: %s is a copy of its directory; give this node a directory of its own",
		db.name, place, until.Local().Format(time.TimeOnly), db.dir)}
}
