package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/state"
)

// A reader reads the state of a whole crawl, also while nodes run. It has no session. Its queries
// see the database at different moments. A reader implements state.Reading.
type reader struct {
	*node // has no session; its marks are those of the outputs in its directory
}

// OpenRecords implements state.Opener.
func (d *database) OpenRecords(dir string) (state.Reading, error) {
	config := d.config.Copy()
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	config.MinConns, config.MaxConns = 0, 2
	ctx, cancel := context.WithCancel(context.Background())
	db := &node{dir: dir, outage: longestReading, ctx: ctx, cancel: cancel}
	db.clock.same = d.same
	if err := db.openRecords(d, config); err != nil {
		return nil, errors.Join(d.failed(err), db.Abandon())
	}
	return reader{db}, nil
}

// openRecords connects to the database, and reads what all methods of a reader need.
func (db *node) openRecords(d *database, config *pgxpool.Config) (err error) {
	if db.dir != "" {
		if err := db.named(d); err != nil {
			return err
		}
	}
	if db.pool, err = pgxpool.NewWithConfig(db.ctx, config); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(db.ctx, longestReading)
	defer cancel()
	sent := uptime()
	var now time.Time
	var there bool
	if err := db.pool.QueryRow(ctx, "select clock_timestamp(), to_regclass('crawl.crawl') is not null").Scan(&now, &there); err != nil {
		return err
	}
	db.clock.met(sent, now)
	if !there {
		return noCrawl()
	}
	if err := db.check(ctx, config.ConnConfig.Database); err != nil {
		return err
	}
	// A node was killed if its home row is still open but it has no session.
	var committed *time.Time
	err = db.pool.QueryRow(ctx, `select max(h.committed), coalesce(bool_or(h.open and n.name is null), false), coalesce(bool_or(n.name is not null), false)
		from home h left join node n on n.name = h.name and n.until > clock_timestamp()`).Scan(&committed, &db.begun.Unclean, &db.begun.Live)
	if err != nil {
		return err
	}
	if committed != nil {
		db.begun.Committed = db.clock.local(*committed)
	}
	db.marks, err = db.readMarks(ctx, false)
	return err
}

// A nodeStatus describes a node. It is an alias of a type without a name, so that callers outside
// of this package can use it.
type nodeStatus = struct {
	Name             string
	Live, Open       bool // Live: the node has a session. Open: its last run has not ended by itself
	Partitions       int
	Began, Committed time.Time // start of the session, and the last commit, by the clock of the database
}

// Nodes returns the nodes of the crawl, by name.
func (d *database) Nodes(ctx context.Context) (all []nodeStatus, err error) {
	conn, err := pgx.ConnectConfig(ctx, d.config.ConnConfig)
	if err != nil {
		return nil, d.failed(err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, `select h.name, n.id is not null, h.open, (select count(*) from part p where p.owner = n.id), n.began, h.committed
		from home h left join node n on n.name = h.name and n.until > clock_timestamp() order by h.name`)
	if err != nil {
		return nil, d.failed(err)
	}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (n nodeStatus, err error) {
		var began, committed *time.Time
		err = row.Scan(&n.Name, &n.Live, &n.Open, &n.Partitions, &began, &committed)
		for to, t := range map[*time.Time]*time.Time{&n.Began: began, &n.Committed: committed} {
			if t != nil {
				*to = t.UTC()
			}
		}
		return n, err
	})
	if missing(err) {
		err = noCrawl()
	}
	return all, d.failed(err)
}

// named sets db.name to the name of the node that has the directory.
func (db *node) named(d *database) error {
	f, err := os.Open(filepath.Join(db.dir, state.NodeFile))
	if errors.Is(err, os.ErrNotExist) {
		return noNode(db.dir)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	note, err := readNote(f)
	if err != nil {
		return err
	}
	if is := d.config.ConnConfig.Database; note.Database != is {
		return fmt.Errorf("%s is the directory of a node of the crawl in the database %q, not in %q", db.dir, note.Database, is)
	}
	db.name = note.Node
	return nil
}

// Close implements state.Reading.
func (r reader) Close() error {
	if r.closed.Swap(true) {
		return state.ErrClosed
	}
	return r.Abandon()
}

// Marks implements state.Reading.
func (r reader) Marks() state.Marks { return maps.Clone(r.marks) }

// Files implements state.Reading.
func (r reader) Files() (f state.Files, err error) {
	f.Growing = r.Marks()
	err = r.retry(func() error {
		if f.Finished, err = r.readMarks(r.ctx, true); err != nil {
			return err
		}
		err := r.pool.QueryRow(r.ctx, "select coalesce(indexed, '{}') from home where name = $1", r.name).Scan(&f.Index)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return f, err
}

// Aside implements state.Reading.
func (r reader) Aside() (is bool, err error) {
	err = r.retry(func() error {
		return r.pool.QueryRow(r.ctx, "select exists (select 1 from aside)").Scan(&is)
	})
	return is, err
}

// Sites implements state.Records.
func (r reader) Sites() iter.Seq2[frontier.SiteState, error] {
	return func(yield func(frontier.SiteState, error) bool) {
		after := siteID{-1, 0}
		for {
			some, err := r.selected("(s.part, s.id) > ($1, $2) order by s.part, s.id limit $3", after.part, after.id, atOnce)
			for _, s := range some {
				after = s.siteID
				if !yield(s.state(), nil) {
					return
				}
			}
			if err != nil {
				yield(frontier.SiteState{}, err)
			}
			if err != nil || len(some) == 0 {
				return
			}
		}
	}
}

// State implements state.Records.
func (r reader) State(name frontier.Site) (frontier.SiteState, error) {
	some, err := r.selected("s.part = $1 and s.name = $2", partOf(name, r.parts), string(name))
	if err != nil || len(some) == 0 {
		return frontier.SiteState{Site: name}, err
	}
	return some[0].state(), nil
}

// selected returns the sites that satisfy the SQL condition, in the order of the table.
func (r reader) selected(condition string, args ...any) (all []*site, err error) {
	err = r.retry(func() error {
		return pgx.BeginTxFunc(r.ctx, r.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			rows, err := tx.Query(r.ctx, "select s.part, s.id from site s where "+condition, args...)
			if err != nil {
				return err
			}
			var parts []int32
			var numbers []int64
			var part int32
			var id int64
			if _, err := pgx.ForEachRow(rows, []any{&part, &id}, func() error {
				parts, numbers = append(parts, part), append(numbers, id)
				return nil
			}); err != nil {
				return err
			}
			const of = " join unnest($1::int[], $2::bigint[]) u(part, id) on "
			all, err = r.collectSites(tx, of+"s.part = u.part and s.id = u.id", of+"q.part = u.part and q.site = u.id", "", nil, parts, numbers)
			return err
		})
	})
	slices.SortFunc(all, func(a, b *site) int { return bySite(a.siteID, b.siteID) })
	return all, err
}

// Get implements state.Records. If each node has a value for key, it returns the one that is valid
// for the whole crawl.
func (r reader) Get(key string, value any) (ok bool, err error) {
	if !own(key) {
		return r.node.Get(key, value)
	}
	var run struct{ Began time.Time }
	if _, err := r.node.Get(processes.HistoryKey, &run); err != nil {
		return false, err
	}
	var raw []byte
	err = r.retry(func() error {
		rows, err := r.pool.Query(r.ctx, endsQuery, key)
		if err == nil {
			raw, _, err = lastEnd(rows, run.Began)
		}
		return err
	})
	if err != nil || raw == nil {
		return false, err
	}
	return true, json.Unmarshal(raw, value)
}

var _ state.Reading = reader{}
