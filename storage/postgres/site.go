package postgres

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/state"
)

// A siteID identifies a site in the tables.
type siteID struct {
	part int
	id   int64
}

// A site is the state in memory of a site that this node has. node.mu guards it. Its counts are
// those of the committed rows in queue, including the entries in out.
type site struct {
	siteID
	name   frontier.Site
	clocks frontier.Clocks
	spent  frontier.Spent
	fate   frontier.Fate
	ended  int

	queued [3]int // number of queued entries of each kind
	out    map[uint64]outEntry
	head   uint8 // no unread entry of kind ready has a lower rank than this

	// All entries of kind ready up to this rank and number are out or have ended.
	readRank int16
	readTo   int64
	grown    int // how often entries were queued

	nextRetry, nextAgain time.Time // the earliest due times of the entries that were not read; zero if there are none
}

// An outEntry is an entry that Read has returned and that has not ended.
type outEntry struct {
	kind kind
	rank int16
}

// unread returns how many committed entries of a kind Read has not returned.
func (s *site) unread(k kind) int {
	n := s.queued[k]
	for _, o := range s.out {
		if o.kind == k {
			n--
		}
	}
	return n
}

// state returns the state of s for the frontier. The caller must hold node.mu.
func (db *node) state(s *site) frontier.SiteState {
	st := s.state()
	st.Term = db.had[s.part].term
	return st
}

func (s *site) state() frontier.SiteState {
	st := frontier.SiteState{
		Site: s.name, Clocks: s.clocks, Spent: s.spent, Fate: s.fate,
		Queued: s.queued[ready] + s.queued[retry], Again: s.queued[again],
		Waiting: earliest(s.nextRetry, s.nextAgain), NextAgain: s.nextAgain,
	}
	st.Known = s.ended + st.Left()
	if st.Ready = s.unread(ready) > 0; st.Ready {
		st.Head = s.head
	}
	return st
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// came records that k entries of kind ready were queued. head is their lowest rank, and first
// their lowest number.
func (s *site) came(k int, head int16, first int64) {
	s.queued[ready] += k
	s.head = min(s.head, uint8(head))
	if head < s.readRank || head == s.readRank && first <= s.readTo {
		s.readRank, s.readTo = head, first-1
	}
	s.grown++
}

// waits records that an entry of kind k waits until due.
func (s *site) waits(k kind, due time.Time) {
	if k == again {
		s.nextAgain = earliest(s.nextAgain, due)
	} else {
		s.nextRetry = earliest(s.nextRetry, due)
	}
}

// outNumbers returns the numbers of the entries that are out. The caller must hold node.mu.
func (s *site) outNumbers() []int64 {
	all := make([]int64, 0, len(s.out))
	for n := range s.out {
		all = append(all, int64(n))
	}
	slices.Sort(all)
	return all
}

// add adds a site to the sites in memory. The caller must hold node.mu.
func (db *node) add(s *site) { db.sites[s.name], db.byID[s.siteID] = s, s }

// learn reads sites of this node into memory: their rows, and the counts of their entries. In the
// same transaction it deletes the news about them, because the counts include the new entries.
// Entries that are out stay out. The caller must hold db.changing. A site whose partition the node
// does not have is left out.
func (db *node) learn(ids []siteID) error {
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, bySite)
	ids = slices.Compact(ids)
	var found []*site
	err := db.retry(func() error {
		return db.count(func(tx pgx.Tx) (deleted int64, err error) {
			found, deleted, err = db.selectSites(tx, ids)
			return deleted, err
		})
	})
	if err == nil {
		err = db.hearOrders()
	}
	if err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, s := range found {
		db.ids[s.name] = s.siteID
		was := db.sites[s.name]
		switch {
		case db.had[s.part] == nil:
		case was == nil:
			db.add(s)
		default:
			was.queued, was.nextRetry, was.nextAgain = s.queued, s.nextRetry, s.nextAgain
			was.head, was.readRank, was.readTo = s.head, 0, 0
			was.grown++
		}
	}
	return nil
}

// count calls f in a transaction that sees the database at one moment. If f has deleted news, the
// transaction increases session.changes: the counts in memory are then the only source of the
// news.
func (db *node) count(f func(pgx.Tx) (deleted int64, err error)) error {
	var changes int64
	err := pgx.BeginTxFunc(db.ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		deleted, err := f(tx)
		if err != nil || deleted == 0 {
			return err
		}
		err = tx.QueryRow(db.ctx, "update node set changes = changes + 1 where id = $1 and changes >= $2 returning changes", db.id, db.session.changes.Load()).Scan(&changes)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrSession
		}
		return err
	})
	if err == nil {
		db.session.changed(changes)
	}
	return err
}

// selectSites selects the sites with the given IDs, and deletes the news about them.
func (db *node) selectSites(tx pgx.Tx, ids []siteID) (all []*site, deleted int64, err error) {
	var parts []int32
	var numbers, outs []int64
	db.mu.Lock()
	for _, id := range ids {
		parts, numbers = append(parts, int32(id.part)), append(numbers, id.id)
		if s := db.byID[id]; s != nil {
			outs = append(outs, s.outNumbers()...)
		}
	}
	db.mu.Unlock()
	const of = " join unnest($1::int[], $2::bigint[]) u(part, id) on "
	tag, err := tx.Exec(db.ctx, "delete from news n using unnest($1::int[], $2::bigint[]) u(part, id) where n.part = u.part and n.site = u.id", parts, numbers)
	if err != nil {
		return nil, 0, err
	}
	all, err = db.collectSites(tx, of+"s.part = u.part and s.id = u.id", of+"q.part = u.part and q.site = u.id", "", outs, parts, numbers)
	return all, tag.RowsAffected(), err
}

// collectSites selects rows of the table site, and the counts of their rows in queue. ofSite and
// ofQueue are joins that choose the rows, and where is a condition for both; they use the
// parameters args. The entries whose numbers are in outs do not count for the earliest due times.
func (db *node) collectSites(tx pgx.Tx, ofSite, ofQueue, where string, outs []int64, args ...any) (all []*site, err error) {
	rows, err := tx.Query(db.ctx, "select s.part, s.id, s.name, s.clocks, s.spent, s.fate, s.ended from site s"+ofSite+where, args...)
	if err != nil {
		return nil, err
	}
	byID := map[siteID]*site{}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*site, error) {
		s := &site{out: map[uint64]outEntry{}, head: 255}
		var clocks, spent, fate []byte
		var name string
		if err := row.Scan(&s.part, &s.id, &name, &clocks, &spent, &fate, &s.ended); err != nil {
			return nil, err
		}
		s.name = frontier.Site(name)
		byID[s.siteID] = s
		return s, db.decode(s, clocks, spent, fate)
	})
	if err != nil {
		return nil, err
	}
	outsAt := fmt.Sprintf("$%d", len(args)+1)
	if outs == nil {
		outs = []int64{}
	}
	rows, err = tx.Query(db.ctx, "select q.part, q.site, q.kind, count(*), min(q.rank), min(q.due) filter (where q.n <> all("+outsAt+"::bigint[])) from queue q"+
		ofQueue+strings.ReplaceAll(where, "s.", "q.")+" group by 1, 2, 3", append(args, outs)...)
	if err != nil {
		return nil, err
	}
	var id siteID
	var k kind
	var n int
	var head int16
	var due *time.Time
	_, err = pgx.ForEachRow(rows, []any{&id.part, &id.id, &k, &n, &head, &due}, func() error {
		s := byID[id]
		if s == nil {
			return fmt.Errorf("queue has entries of the site %d in partition %d, which is not in the table site", id.id, id.part)
		}
		s.queued[k] = n
		if k == ready {
			s.head = uint8(head)
		} else if due != nil {
			s.waits(k, db.clock.local(*due))
		}
		return nil
	})
	return all, err
}

// decode sets the fields of s that are stored in encoded form.
func (db *node) decode(s *site, clocksOf, spent, fate []byte) (err error) {
	c, err1 := state.DecodeClocks(clocksOf)
	s.clocks = clocks(c, db.clock.local)
	var err2, err3 error
	s.spent, err2 = state.DecodeSpent(spent)
	s.fate, err3 = state.DecodeFate(fate)
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("the row of %s in the table site is damaged: %w", s.name, err)
	}
	return nil
}

// bySite orders sites by their place in the tables. All transactions lock rows of sites in this
// order, to avoid deadlocks.
func bySite(a, b siteID) int {
	return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.id, b.id))
}

// own reports whether the value with this key belongs to one node, not to the whole crawl.
func own(key string) bool { return key == processes.EndKey }
