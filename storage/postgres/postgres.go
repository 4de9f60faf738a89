package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage"
	"golang.org/x/net/publicsuffix"
)

// A database implements storage.State.
type database struct {
	config *pgxpool.Config
	lease  time.Duration
	same   bool // set in tests, see clock.same
}

// usualLease is how long a node keeps its partitions after it last renewed its session.
const usualLease = 15 * time.Second

// New returns the state of the crawl in a database, for crawler.Options.State. The string url is a
// connection string of PostgreSQL, as a URL (postgres://user@host/name) or as words (host=...
// dbname=...). Missing parts come from the environment variables of PostgreSQL. One database has
// one crawl. If url has several hosts, they must be a primary and its standbys; the node uses the
// one that accepts writes. New does not connect. It returns an error if url cannot be parsed.
func New(url string) (storage.State, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connection string of PostgreSQL: %w", err)
	}
	run := config.ConnConfig.RuntimeParams
	run["search_path"] = "crawl"
	run["statement_timeout"] = "60000"
	if run["application_name"] == "" {
		run["application_name"] = "permesso"
	}
	if config.MaxConns < 8 {
		config.MaxConns = 8
	}
	return &database{config: config, lease: usualLease}, nil
}

// A node is the connection of one process to the state of its crawl. It implements state.Store and
// state.Cluster.
//
// Locks are taken in this order: changing, reading, mu, then the lock of the queue. Only changing
// and reading are held during a round trip to the database.
type node struct {
	// OpenStore and Begin set these fields; afterwards they are constant.
	dir     string
	name    string // name of the node
	opts    state.Options
	lease   time.Duration
	longest time.Duration
	outage  time.Duration // how long statements are repeated while the server cannot be reached
	outages outageLog
	begun   state.Begun
	outputs state.Outputs
	file    *os.File // crawl.json, which is locked as long as the node uses the directory
	seed    uint64
	parts   int
	id      [16]byte // random ID of the session
	num     int64    // number of the node among all nodes with a session

	pool    *pgxpool.Pool
	server  serverCheck
	clock   clock
	session session
	growths frontier.Growths
	grown   sync.Mutex    // locked during Growths.Put, which permits one caller at a time
	told    atomic.Uint64 // number of the last growth that was reported

	ctx       context.Context // cancelled when the node is closed or has failed
	cancel    context.CancelFunc
	closing   chan struct{}
	committed chan struct{} // closed when the committer has ended
	closed    atomic.Bool
	marks     state.Marks // marks of all outputs at their last flush; only the committer uses them
	acked     acked       // content of ackedFile; only the committer uses it
	forgotten *state.Forgotten
	finished  []string // files that were finished after the last commit; the next commit records them
	numbers   numbers
	orders    orders
	credit    credit
	addresses addresses
	wishes    wishes
	known     knownKeys

	// changing is held by the committer, and while news and partitions are read. So only one
	// goroutine at a time changes the counts of sites.
	changing sync.Mutex

	// reading is read-locked while Read selects entries, and write-locked while the result of a
	// commit is applied to memory. Otherwise Read could return an entry that it must skip, because
	// the entry was out when Read began.
	reading sync.RWMutex

	mu    sync.Mutex
	sites map[frontier.Site]*site // sites in memory, all of partitions that this node has
	byID  map[siteID]*site        // the same sites by ID
	ids   map[frontier.Site]siteID
	had   map[int]*partition
	terms []atomic.Uint64 // for each partition, the number of the term in which this node has it, or 0
	term  uint64          // the highest term number used so far
	queue queue
}

// OpenStore implements storage.State.
func (d *database) OpenStore(dir string, opts state.Options) (state.Store, error) {
	db, err := d.open(dir, opts)
	if err != nil {
		return nil, err
	}
	return db, nil
}

func (d *database) open(dir string, opts state.Options) (opened *node, err error) {
	if opts.Gather == 0 {
		opts.Gather = 200 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	db := &node{
		dir: dir, opts: opts, lease: d.lease, longest: 2 * time.Minute, outage: longestOutage, ctx: ctx, cancel: cancel,
		closing: make(chan struct{}), committed: make(chan struct{}),
		sites: map[frontier.Site]*site{}, byID: map[siteID]*site{}, ids: map[frontier.Site]siteID{}, had: map[int]*partition{},
	}
	db.outages.to = opts.Logger
	db.clock.same = d.same
	db.known.init()
	db.queue.init(opts.Bounds)
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Abandon())
		}
	}()
	if err := db.home(d); err != nil {
		return nil, err
	}
	if db.pool, err = pgxpool.NewWithConfig(ctx, db.configOf(d)); err != nil {
		return nil, d.failed(err)
	}
	if err := db.load(d); err != nil {
		return nil, d.failed(err)
	}
	return db, nil
}

// failed wraps err in an error that names the database.
func (d *database) failed(err error) error {
	if err == nil {
		return nil
	}
	var version *state.VersionError
	if errors.As(err, &version) {
		return err
	}
	hosts, _ := hostsOf(d.config.ConnConfig)
	return fmt.Errorf("the state of the crawl is in the database %q of PostgreSQL at %s: %w%s", d.config.ConnConfig.Database, hosts, err, hint(err))
}

// load reads from the database what the node must know before Begin. It writes nothing.
func (db *node) load(d *database) error {
	ctx, cancel := context.WithTimeout(db.ctx, 30*time.Second)
	defer cancel()
	var version int
	var there bool
	err := db.pool.QueryRow(ctx, "select current_setting('server_version_num')::int, to_regclass('crawl.crawl') is not null").Scan(&version, &there)
	if err != nil {
		return err
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	db.begun.First, db.marks = true, state.Marks{}
	db.seed, db.parts = rand.Uint64(), partitions
	if !there {
		return db.remember(ctx, found{})
	}
	if err := db.check(ctx, d.config.ConnConfig.Database); err != nil {
		return err
	}
	if err := db.onlyHere(db.pool); err != nil { // before the check of the files, because the other process may be changing them
		return err
	}
	has := found{tables: true, seed: int64(db.seed)}
	var open bool
	var committed *time.Time
	err = db.pool.QueryRow(ctx, "select open, committed, coalesce(indexed, '{}') from home where name = $1", db.name).Scan(&open, &committed, &db.begun.Index)
	if errors.Is(err, pgx.ErrNoRows) {
		return db.remember(ctx, has)
	}
	if err != nil {
		return err
	}
	db.begun.First, db.begun.Unclean = false, open
	if committed != nil {
		db.begun.Committed, has.committed = committed.Local(), *committed
	}
	if err := db.remember(ctx, has); err != nil {
		return err
	}
	db.marks, err = db.readMarks(ctx, false)
	return err
}

// readMarks reads the marks of the outputs in the directory of this node: of the finished files if
// finished is true, or else of the files that still grow.
func (db *node) readMarks(ctx context.Context, finished bool) (state.Marks, error) {
	rows, err := db.pool.Query(ctx, "select file, mark from mark where node = $1 and finished = $2", db.name, finished)
	if err != nil {
		return nil, err
	}
	marks := state.Marks{}
	var file string
	var mark state.Mark
	_, err = pgx.ForEachRow(rows, []any{&file, &mark}, func() error {
		marks[file], mark = mark, state.Mark{}
		return nil
	})
	return marks, err
}

// check reads the row of the crawl. It returns an error if this program interprets the tables in
// another way than the program that made them. With another list of public suffixes, for example,
// a site would belong to another partition, and two nodes could make requests to it.
func (db *node) check(ctx context.Context, database string) error {
	var found, seed int64
	var suffixes string
	err := db.pool.QueryRow(ctx, "select format, parts, seed, suffixes from crawl where id = 1").Scan(&found, &db.parts, &seed, &suffixes)
	switch {
	case err != nil:
		return err
	case found != format:
		return refusal{&state.VersionError{Path: "database " + database, Have: uint64(found), Can: format}}
	case suffixes != publicsuffix.List.String():
		return refusal{fmt.Errorf("the crawl was begun by a version of the program that has another list of public suffixes (%s, not %s): run that version in all nodes",
			suffixes, publicsuffix.List)}
	}
	db.seed = uint64(seed)
	return nil
}

// Begun implements state.Store. Begun.Restarted is zero: the partitions of a killed node have
// their own times until which their sites rest.
func (db *node) Begun() state.Begun { return db.begun }

// Marks implements state.Store.
func (db *node) Marks() state.Marks { return maps.Clone(db.marks) }

// PutMarks implements state.Store.
func (db *node) PutMarks(growing state.Marks, index state.IndexMarks) error {
	return db.retry(func() error {
		b := &pgx.Batch{}
		db.putMarks(b, growing, nil)
		b.Queue("update home set indexed = $2 where name = $1", db.name, index)
		return db.send(b)
	})
}

// putMarks adds the statements that store marks to b. finished are the names of the files that no
// longer grow.
func (db *node) putMarks(b *pgx.Batch, marks state.Marks, finished []string) {
	if len(marks) == 0 {
		return
	}
	ended := map[string]bool{}
	for _, name := range finished {
		ended[name] = true
	}
	var names []string
	var ends []bool
	var all []state.Mark
	for name, m := range marks {
		names, ends, all = append(names, name), append(ends, ended[name]), append(all, m)
	}
	b.Queue(`insert into mark (node, file, finished, mark)
		select $1, * from unnest($2::text[], $3::bool[], $4::jsonb[])
		on conflict (node, file) do update set finished = excluded.finished, mark = excluded.mark`, db.name, names, ends, all)
}

// send sends a batch and waits for the results of all its statements. Statements outside a
// transaction are one transaction. A batch must not be sent twice, because it keeps the
// statements that were prepared for its first connection.
func (db *node) send(b *pgx.Batch) error { return db.pool.SendBatch(db.ctx, b).Close() }

// Begin implements state.Store.
func (db *node) Begin(outputs state.Outputs, growing, finished state.Marks) error {
	db.outputs, db.marks = outputs, maps.Clone(growing)
	if err := db.create(); err != nil {
		return err
	}
	if err := db.open(); err != nil {
		return err
	}
	err := db.retry(func() error {
		b := &pgx.Batch{}
		db.putMarks(b, growing, nil)
		names := make([]string, 0, len(finished))
		for name := range finished {
			names = append(names, name)
		}
		db.putMarks(b, finished, names)
		b.Queue("select 1")
		return db.send(b)
	})
	if err != nil {
		return err
	}
	if err := state.WriteRun(db.dir, db.opts.Disk); err != nil {
		return err
	}
	if err := db.acknowledge(time.Time{}, growing, true); err != nil {
		return err
	}
	db.terms = make([]atomic.Uint64, db.parts)
	// This goroutine is the committer. It ends when Close closes db.closing, or after an error.
	go db.commits()
	return nil
}

// create creates the tables, unless another node has done so.
func (db *node) create() error {
	for try := 0; ; try++ {
		there := false
		err := db.retryBroken(func() error {
			err := db.pool.QueryRow(db.ctx, "select to_regclass('crawl.crawl') is not null").Scan(&there)
			if err != nil || there {
				return err
			}
			if err := db.makeTables(); err != nil {
				return fmt.Errorf("creating the tables of the crawl in the schema crawl: %w", err)
			}
			return nil
		})
		switch {
		case err == nil && there:
			return db.retryBroken(func() error { return db.check(db.ctx, db.pool.Config().ConnConfig.Database) })
		case err == nil:
			return nil
		case try < 3 && already(err):
			continue
		case already(err):
			return fmt.Errorf("%w%s", err, foreign)
		}
		return fmt.Errorf("%w%s", err, hint(err))
	}
}

func (db *node) makeTables() error {
	return pgx.BeginFunc(db.ctx, db.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(db.ctx, tables); err != nil {
			return err
		}
		if _, err := tx.Exec(db.ctx, "insert into crawl.crawl (id, format, parts, seed, suffixes, timeline) values (1, $1, $2, $3, $4, $5)", format, db.parts, int64(db.seed), publicsuffix.List.String(), db.server.timeline.Load()); err != nil {
			return err
		}
		_, err := tx.Exec(db.ctx, "insert into crawl.part (id) select generate_series(0, $1 - 1)", db.parts)
		return err
	})
}

// Abandon implements state.Store.
func (db *node) Abandon() error {
	db.cancel()
	if db.pool != nil {
		db.pool.Close()
	}
	if db.file != nil {
		return outfile.Release(db.file)
	}
	return nil
}

// Hasten implements state.Store.
func (db *node) Hasten() { db.queue.hasten() }

// Close implements state.Store.
func (db *node) Close() error {
	if db.closed.Swap(true) {
		return state.ErrClosed
	}
	close(db.closing)
	<-db.committed
	db.session.stop()
	err := db.queue.failed()
	last, outputs := db.outputs.Close(state.End{Committed: db.marks, Unknown: db.queue.unknown(), Failed: err != nil})
	err = errors.Join(err, outputs)
	if err == nil {
		err = db.release(last)
	}
	if err == nil {
		err = db.acknowledge(time.Time{}, last.Growing, false)
	}
	if state.DiskFull(err) {
		state.NoteFull(db.dir)
	}
	err = errors.Join(err, db.Abandon())
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(db.dir, state.RunFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return db.opts.Disk.SyncDir(db.dir)
}

// release ends the session: it stores the last marks, and gives the partitions back.
func (db *node) release(last state.Last) error {
	tries := 0
	return db.retry(func() error {
		if tries++; tries > 1 {
			var done bool // an earlier try, whose answer was lost, has ended the session
			err := db.pool.QueryRow(db.ctx, "select not open and not exists (select 1 from node where id = $2) from home where name = $1", db.name, db.id).Scan(&done)
			if done || err != nil {
				return err
			}
		}
		return db.change(func(b *pgx.Batch) {
			db.putMarks(b, last.Growing, nil)
			names := make([]string, 0, len(last.Finished))
			for name := range last.Finished {
				names = append(names, name)
			}
			db.putMarks(b, last.Finished, names)
			b.Queue("update home set open = false, indexed = $2 where name = $1", db.name, last.Index)
			b.Queue("update part set owner = null where owner = $1", db.id)
			b.Queue("with dead as (delete from node where id = $1 returning *), "+creditBack+" select 1", db.id)
		})
	})
}

// nodeName makes a name for a new node with the directory dir.
func nodeName(dir string) string {
	name := "node"
	if abs, err := filepath.Abs(dir); err == nil {
		name = strings.TrimSuffix(filepath.Base(abs), ".crawl")
	}
	return fmt.Sprintf("%s-%06x", name, rand.Uint32N(1<<24))
}

var (
	_ state.Store   = (*node)(nil)
	_ state.Cluster = (*node)(nil)
)
