package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/collect"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
)

// Collect makes a crawl of one machine from all nodes of the crawl, as collect.Crawl does.
func (d *database) Collect(ctx context.Context, dirs []string, into string, moved bool) (collect.Result, error) {
	return collect.Crawl(ctx, d, dirs, into, moved)
}

func noNode(dir string) error {
	return fmt.Errorf("%w of several nodes in %s: it has no %s", storage.ErrNoCrawl, dir, state.NodeFile)
}

// noCrawl returns the error for a database that has no tables of a crawl.
func noCrawl() error { return fmt.Errorf("%w of several nodes in it", storage.ErrNoCrawl) }

func readNote(f *os.File) (note homeNote, err error) {
	raw, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return note, err
	}
	if err := json.Unmarshal(raw, &note); err != nil {
		return note, &state.DamagedError{Path: f.Name(), Err: err}
	}
	if note.State != "postgres" {
		return note, &state.DamagedError{Path: f.Name(), Err: fmt.Errorf("the state is in %q, which this version does not know", note.State)}
	}
	return note, nil
}

// Node returns the name of this node.
func (db *node) Node() string { return db.name }

// A liveError says that nodes still have sessions, so that their state may change.
type liveError struct {
	in    string
	nodes []string
}

func (e *liveError) Error() string {
	return fmt.Sprintf("the crawl in %s is in use: %s", e.in, strings.Join(e.nodes, "; "))
}

func (e *liveError) Unwrap() error { return &state.InUseError{Dir: e.in} }

// A source implements state.Source. All its queries run in one transaction, so they all see the
// database at the same moment.
type source struct {
	of    *database
	conn  *pgx.Conn
	tx    pgx.Tx
	db    *node // decodes rows; it has no connection of its own
	nodes []state.Node
	seed  int64
	acked map[string]time.Time // for each node, the time of its last commit

	committed, restarted time.Time // arguments for state.Maker.Ended
	killed               bool      // a partition belongs to a node that has died
}

// CollectState implements state.Collector.
func (d *database) CollectState(ctx context.Context) (state.Source, error) {
	conn, err := pgx.ConnectConfig(ctx, d.config.ConnConfig)
	if err != nil {
		return nil, d.failed(err)
	}
	s := &source{of: d, conn: conn, db: new(node), acked: map[string]time.Time{}}
	s.db.clock.same = d.same
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(d.failed(err), s.Close())
	}
	return s, nil
}

// begin starts the transaction of s, and reads the rows of the crawl and of its nodes.
func (s *source) begin(ctx context.Context) (err error) {
	s.tx, err = s.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	// Disable the time-outs: writing the file takes time, and a query is open meanwhile.
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		if _, err := s.tx.Exec(ctx, "set local "+name+" = 0"); err != nil {
			return err
		}
	}
	sent := uptime()
	var now time.Time
	var there bool
	if err := s.tx.QueryRow(ctx, "select clock_timestamp(), to_regclass('crawl.crawl') is not null").Scan(&now, &there); err != nil {
		return err
	}
	s.db.clock.met(sent, now)
	if !there {
		return noCrawl()
	}
	var have int64
	if err := s.tx.QueryRow(ctx, "select format, parts, seed from crawl where id = 1").Scan(&have, &s.db.parts, &s.seed); err != nil {
		return err
	}
	if have != format {
		return &state.VersionError{Path: "database " + s.of.config.ConnConfig.Database, Have: uint64(have), Can: format}
	}
	if err := s.live(ctx); err != nil {
		return err
	}
	if err := s.readNodes(ctx); err != nil {
		return err
	}
	return s.readRests(ctx)
}

// live returns a *liveError if a node has a session.
func (s *source) live(ctx context.Context) error {
	rows, err := s.tx.Query(ctx, "select name, until from node where until > clock_timestamp() order by name")
	if err != nil {
		return err
	}
	var all []string
	var name string
	var until time.Time
	_, err = pgx.ForEachRow(rows, []any{&name, &until}, func() error {
		// A node that was killed keeps its session until the end of its lease.
		all = append(all, fmt.Sprintf("node %s runs, or was killed and has its lease until %s", name, until.Local().Format(time.TimeOnly)))
		return nil
	})
	if err == nil && len(all) > 0 {
		return &liveError{fmt.Sprintf("the database %q", s.of.config.ConnConfig.Database), all}
	}
	return err
}

func (s *source) readNodes(ctx context.Context) error {
	rows, err := s.tx.Query(ctx, "select name, open, committed from home order by name")
	if err != nil {
		return err
	}
	byName := map[string]int{}
	var n state.Node
	var committed *time.Time
	_, err = pgx.ForEachRow(rows, []any{&n.Name, &n.Unclean, &committed}, func() error {
		byName[n.Name] = len(s.nodes)
		n.Growing, n.Finished = state.Marks{}, state.Marks{}
		s.nodes = append(s.nodes, n)
		if committed != nil {
			s.acked[n.Name] = *committed
			if t := s.db.clock.local(*committed); t.After(s.committed) {
				s.committed = t
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows, err = s.tx.Query(ctx, "select node, file, finished, mark from mark")
	if err != nil {
		return err
	}
	var name, file string
	var finished bool
	var mark state.Mark
	_, err = pgx.ForEachRow(rows, []any{&name, &file, &finished, &mark}, func() error {
		i, ok := byName[name]
		switch {
		case !ok:
			return fmt.Errorf("the table mark has the node %s, and home does not", name)
		case finished:
			s.nodes[i].Finished[file] = mark
		default:
			s.nodes[i].Growing[file] = mark
		}
		mark = state.Mark{}
		return nil
	})
	return err
}

// readRests reads whether some nodes did not give their sites back, and until when these nodes may
// have made requests.
func (s *source) readRests(ctx context.Context) error {
	var rest *time.Time
	if err := s.tx.QueryRow(ctx, "select coalesce(bool_or(owner is not null), false), max(rest) from part").Scan(&s.killed, &rest); err != nil {
		return err
	}
	if rest != nil {
		s.restarted = s.db.clock.local(*rest)
	}
	// The processes of these nodes have ended, because Hold could lock their directories.
	if now := time.Now(); s.killed && now.After(s.restarted) {
		s.restarted = now
	}
	return nil
}

// Nodes implements state.Source.
func (s *source) Nodes() []state.Node { return s.nodes }

// Hold implements state.Source.
func (s *source) Hold(dir string) (name string, release io.Closer, err error) {
	path := filepath.Join(dir, state.NodeFile)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) { // the archive is read-only
		f, err = os.Open(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, noNode(dir)
	}
	if err != nil {
		return "", nil, err
	}
	name, err = s.hold(dir, f)
	if err != nil {
		f.Close()
		return "", nil, err
	}
	return name, held{f}, nil
}

// held is a locked file. Close releases it.
type held struct{ *os.File }

func (h held) Close() error { return outfile.Release(h.File) }

func (s *source) hold(dir string, f *os.File) (string, error) {
	if got, err := outfile.Lock(f); err != nil {
		return "", fmt.Errorf("%s: %w", f.Name(), err)
	} else if !got {
		run, _ := state.ReadRun(dir)
		return "", &state.InUseError{Dir: dir, Run: run}
	}
	note, err := readNote(f)
	if err != nil {
		return "", err
	}
	c := s.of.config.ConnConfig
	a, err := readAcked(dir)
	if err != nil {
		return "", err
	}
	known := slices.ContainsFunc(s.nodes, func(n state.Node) bool { return n.Name == note.Node })
	if note.Database != c.Database || !known {
		hosts, _ := hostsOf(c)
		mend := ""
		if a != nil && a.Seed == s.seed {
			mend = "; if the database has lost the node, run it again, and then collect"
		}
		return "", fmt.Errorf("%s is the directory of the node %s of the crawl in the database %q at %s, not of a node of the crawl in %q at %s%s",
			dir, note.Node, note.Database, note.Host, c.Database, hosts, mend)
	}
	forgot := false
	if a != nil {
		forgot, err = a.compare(dir, found{true, s.seed, s.acked[note.Node]}, "", 0)
	}
	if forgot {
		err = fmt.Errorf("the database has lost the last commits of the node in %s: run the node again, and then collect", dir)
	}
	return note.Node, err
}

// Close implements state.Source.
func (s *source) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.conn.Close(ctx)
}

// Copy implements state.Source.
func (s *source) Copy(ctx context.Context, m *state.Maker) error {
	for _, step := range []func(context.Context, *state.Maker) error{s.copySites, s.copySnapshots, s.copyValues, s.copyPayloads, s.copyCommon} {
		err := step(ctx, m)
		var made *makerError
		if errors.As(err, &made) {
			return made.err
		}
		if err != nil {
			return s.of.failed(err)
		}
	}
	return m.Ended(s.committed, s.restarted, s.killed)
}

// A makerError is an error of a state.Maker, not of the database.
type makerError struct{ err error }

func (e *makerError) Error() string { return e.err.Error() }

func made(err error) error {
	if err == nil {
		return nil
	}
	return &makerError{err}
}

// sitesAtOnce is the number of sites whose entries one query reads.
const sitesAtOnce = 1000

// copySites writes all sites with their entries.
func (s *source) copySites(ctx context.Context, m *state.Maker) error {
	after := siteID{-1, 0}
	for {
		rows, err := s.tx.Query(ctx, "select part, id, name, clocks, spent, fate from site where (part, id) > ($1, $2) order by part, id limit $3", after.part, after.id, sitesAtOnce)
		if err != nil {
			return err
		}
		sites, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*site, error) {
			one := new(site)
			var clocks, spent, fate []byte
			if err := row.Scan(&one.part, &one.id, &one.name, &clocks, &spent, &fate); err != nil {
				return nil, err
			}
			return one, s.db.decode(one, clocks, spent, fate)
		})
		if err != nil || len(sites) == 0 {
			return err
		}
		if err := s.copyEntries(ctx, m, sites); err != nil {
			return err
		}
		after = sites[len(sites)-1].siteID
	}
}

// copyEntries writes sites and their entries. The sites must be in the order of the table.
func (s *source) copyEntries(ctx context.Context, m *state.Maker, sites []*site) error {
	// The same conditions are also on queue: without them each query would read all of queue.
	const in = " where (part, site) >= ($1, $2) and (part, site) <= ($3, $4)"
	first, last := sites[0].siteID, sites[len(sites)-1].siteID
	rows, err := s.tx.Query(ctx, "select e.part, e.site, "+rowColumns+" from (select * from entry"+in+") e left join (select * from queue"+in+`) q
		on q.part = e.part and q.site = e.site and q.n = e.n and q.key = e.key order by e.part, e.site, e.n`, first.part, first.id, last.part, last.id)
	if err != nil {
		return err
	}
	begin := func(one *site) error {
		return made(m.Site(&frontier.SiteState{Site: one.name, Clocks: one.clocks, Spent: one.spent, Fate: one.fate}))
	}
	next := 0 // index in sites of the first site that was not written yet
	var id siteID
	var r row
	_, err = pgx.ForEachRow(rows, append([]any{&id.part, &id.id}, r.into()...), func() error {
		for ; next == 0 || sites[next-1].siteID != id; next++ {
			if next == len(sites) {
				return fmt.Errorf("the table entry has the site %d in partition %d, and the table site does not", id.id, id.part)
			}
			if one := sites[next]; one.siteID == id || !blank(one) {
				if err := begin(one); err != nil {
					return err
				}
			}
		}
		k, err := s.db.kept(&r)
		if err == nil {
			err = made(m.Entry(&k))
		}
		return err
	})
	for ; err == nil && next < len(sites); next++ {
		if !blank(sites[next]) {
			err = begin(sites[next])
		}
	}
	return err
}

// blank reports whether only the name of a site is known. Such a site was added to the table
// before its first entry, and the commit of this entry failed.
func blank(s *site) bool {
	return s.clocks == (frontier.Clocks{}) && s.spent == (frontier.Spent{}) && s.fate == (frontier.Fate{})
}

// copySnapshots writes all snapshots of robots.txt and licenses.
func (s *source) copySnapshots(ctx context.Context, m *state.Maker) error {
	rows, err := s.tx.Query(ctx, "select s.site, s.record, b.gzip from snapshot s left join body b on b.digest = s.body order by s.part, s.site, s.put")
	if err != nil {
		return err
	}
	var name string
	var record, zipped []byte
	_, err = pgx.ForEachRow(rows, []any{&name, &record, &zipped}, func() error {
		one, at, err := decodeSnapshot(frontier.Site(name), record, zipped)
		if err != nil {
			return err
		}
		if !at.IsZero() {
			one.Copy = &robots.Snapshot{Fetched: at}
		}
		return made(m.Snapshot(frontier.Site(name), one))
	})
	return err
}

// copyValues writes all values. Each node has an end of its last run: copyValues writes the last one,
// and, if there are several, all of them under processes.EndsKey.
func (s *source) copyValues(ctx context.Context, m *state.Maker) error {
	history, err := readHistory(ctx, s.tx)
	if err != nil {
		return err
	}
	rows, err := s.tx.Query(ctx, "select key, value::text from value where node = '' order by key")
	if err != nil {
		return err
	}
	var key string
	var value []byte
	var last struct{ Began time.Time } // the start of the last run
	_, err = pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		if key == processes.HistoryKey {
			value = history
			if err := json.Unmarshal(value, &last); err != nil {
				return err
			}
		}
		return made(m.Value(key, value))
	})
	if err != nil {
		return err
	}
	rows, err = s.tx.Query(ctx, endsQuery, processes.EndKey)
	if err != nil {
		return err
	}
	best, all, err := lastEnd(rows, last.Began)
	if err != nil || best == nil {
		return err
	}
	if err := made(m.Value(processes.EndKey, best)); err != nil || len(all) == 1 {
		return err
	}
	ends, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return made(m.Value(processes.EndsKey, ends))
}

// endsQuery is the query for the stored end of each node's last run. $1 is the key of this value.
const endsQuery = "select value::text from value where node <> '' and key = $1"

// lastEnd returns the end of the run that began at began. If no node has stored it, it returns the
// latest end that a node has stored. all are the ends of all nodes. rows are the result of endsQuery.
func lastEnd(rows pgx.Rows, began time.Time) (best []byte, all []json.RawMessage, err error) {
	var value []byte
	var end processes.End
	_, err = pgx.ForEachRow(rows, []any{&value}, func() error {
		var one processes.End
		if err := json.Unmarshal(value, &one); err != nil {
			return err
		}
		all = append(all, slices.Clone(value))
		of, was := one.Of.Equal(began), end.Of.Equal(began)
		if best == nil || of && !was || of == was && one.Time.After(end.Time) {
			best, end = slices.Clone(value), one
		}
		return nil
	})
	return best, all, err
}

// copyPayloads writes, for each payload, the first answer with it. A revisit record refers to the
// first answer of its own node, which stays in the archive.
func (s *source) copyPayloads(ctx context.Context, m *state.Maker) error {
	rows, err := s.tx.Query(ctx, "select distinct on (digest) digest, date, url from payload order by digest, date, node")
	if err != nil {
		return err
	}
	var digest string
	var p state.Payload
	_, err = pgx.ForEachRow(rows, []any{&digest, &p.Date, &p.URL}, func() error { return made(m.Payload(digest, p)) })
	return err
}

// copyCommon writes the clocks that several sites share.
func (s *source) copyCommon(ctx context.Context, m *state.Maker) error {
	rows, err := s.tx.Query(ctx, "select name, due from common order by name")
	if err != nil {
		return err
	}
	var c frontier.CommonClock
	_, err = pgx.ForEachRow(rows, []any{&c.Name, &c.Due}, func() error {
		c.Due = s.db.clock.local(c.Due)
		return made(m.Common(c))
	})
	return err
}

var _ state.Collector = (*database)(nil)
