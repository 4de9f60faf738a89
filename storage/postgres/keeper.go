package postgres

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
)

// A partition is a partition that this node has now.
type partition struct {
	term    *frontier.Term // term in which the node has it; never changed
	leaving bool           // the node is going to give the partition back
}

// Join implements state.Cluster. After it the node takes partitions.
func (db *node) Join(f state.Shared, longest time.Duration) {
	db.longest = longest
	ctx, cancel := context.WithCancel(db.ctx)
	ends := db.session.ends
	db.session.ends = func() { cancel(); ends() }
	// This goroutine takes and returns partitions, and reads the news. It ends with session.stop.
	db.session.wait.Go(func() { db.keep(ctx, f) })
}

// keyDeclared is the key of the value that Declare stores for each node, with the ID of its session.
const keyDeclared = "declared"

// Declare implements state.Cluster. It stores its value before it reads those of the others.
func (db *node) Declare(how any) (others []json.RawMessage, err error) {
	raw, err := json.Marshal(how)
	if err != nil {
		return nil, err
	}
	err = db.retry(func() error {
		_, err := db.pool.Exec(db.ctx, `insert into value (node, key, value) values ($1, $2, jsonb_build_object('session', $3::uuid, 'how', $4::jsonb))
			on conflict (node, key) do update set value = excluded.value`, db.name, keyDeclared, db.id, raw)
		if err != nil {
			return err
		}
		rows, err := db.pool.Query(db.ctx, `select v.value->'how' from value v join node n on n.name = v.node and n.id::text = v.value->>'session'
			where v.key = $1 and n.id <> $2 and n.until > clock_timestamp() order by n.name`, keyDeclared, db.id)
		if err == nil {
			others, err = pgx.CollectRows(rows, pgx.RowTo[json.RawMessage])
		}
		return err
	})
	return others, err
}

// Term implements state.Cluster.
func (db *node) Term(name frontier.Site) uint64 { return db.terms[partOf(name, db.parts)].Load() }

const (
	newsEvery    = 200 * time.Millisecond
	balanceEvery = time.Second
)

// A keeper decides which partitions the node takes and returns, and reads the news.
type keeper struct {
	*node
	frontier state.Shared
	idle     bool // the database has the information that this node is at rest
	credit   creditor
}

func (db *node) keep(ctx context.Context, f state.Shared) {
	k := &keeper{node: db, frontier: f}
	news := time.NewTicker(newsEvery)
	defer news.Stop()
	var balanced time.Duration
	for {
		var err error
		if db.May() {
			err = k.rest() // first: at the end of the run, balance must not give partitions to other nodes
			if err == nil {
				err = db.wish()
			}
			if err == nil && uptime()-balanced >= balanceEvery {
				balanced = uptime()
				err = k.balance(ctx)
			}
			if err == nil {
				err = k.news()
			}
			if err == nil {
				err = k.leave(ctx)
			}
			if err == nil {
				err = k.borrow()
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				db.end(err)
			}
			return
		}
		select {
		case <-news.C:
		case <-ctx.Done():
			return
		}
	}
}

// balance takes partitions of dead nodes, and free partitions up to the fair share of this node.
// If the node has more than its share, balance marks the surplus as leaving.
func (k *keeper) balance(ctx context.Context) error {
	db := k.node
	var live, mine int
	var away, stay map[int]bool
	var changes int64
	rests := map[int]*time.Time{}
	if db.session.sure.Load() {
		if err := db.retry(db.cutDead); err != nil {
			return err
		}
	}
	err := db.retry(func() error {
		clear(rests)
		return pgx.BeginFunc(db.ctx, db.pool, func(tx pgx.Tx) error {
			b := &pgx.Batch{}
			db.fence(b, &changes)
			if db.session.sure.Load() {
				b.Queue(`with dead as (delete from node where until < clock_timestamp() and id <> $1 returning *), `+creditBack+`
					update part p set owner = null, rest = greatest(p.rest, greatest(d.until, clock_timestamp()) + $2) from dead d where p.owner = d.id`, db.id, db.longest)
			}
			b.Queue("select (select count(*) from node where until > clock_timestamp()), (select count(*) from part where owner = $1)", db.id).
				QueryRow(func(r pgx.Row) error { return r.Scan(&live, &mine) })
			if err := tx.SendBatch(db.ctx, b).Close(); err != nil {
				return err
			}
			// Each statement that takes partitions clears the column idle, as explained below.
			if _, err := tx.Exec(db.ctx, takeWished, db.id, wishFor); err != nil {
				return err
			}
			if want := db.fair(live) - mine; want > 0 {
				// The same transaction records that this node is not at rest. Otherwise another
				// node could detect the end of the crawl before this node has read the entries in
				// the partitions.
				_, err := tx.Exec(db.ctx, `with t as (update part p set owner = $1
						from (select id from part p where owner is null and `+unwished+` order by id limit $2 for update skip locked) f where p.id = f.id returning 1)
					update node set idle = -1 where id = $1 and exists (select 1 from t)`, db.id, want, wishFor)
				if err != nil {
					return err
				}
			}
			var err error
			if away, stay, err = db.met(tx); err != nil {
				return err
			}
			rows, err := tx.Query(db.ctx, "select id, rest from part where owner = $1", db.id)
			if err != nil {
				return err
			}
			var id int
			var rest *time.Time
			_, err = pgx.ForEachRow(rows, []any{&id, &rest}, func() error {
				rests[id] = rest
				return nil
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	db.session.changed(changes)
	var taken []int
	defer func() { k.idle = k.idle && len(taken) == 0 }()
	db.mu.Lock()
	for id := range rests {
		if db.had[id] == nil {
			taken = append(taken, id)
		}
	}
	surplus := len(db.had) - db.fair(live)
	for _, p := range db.had {
		if p.leaving {
			surplus--
		}
	}
	for id, p := range db.had {
		if !p.leaving && (away[id] || surplus > 0 && !stay[id]) {
			p.leaving = true
			db.terms[id].Store(0)
			surplus--
		}
	}
	db.mu.Unlock()
	slices.Sort(taken)
	for some := range slices.Chunk(taken, 16) {
		if err := db.take(some, rests); err != nil {
			return err
		}
	}
	return nil
}

// fair returns how many partitions each of the given number of live nodes may have.
func (db *node) fair(live int) int { return (db.parts + max(live, 1) - 1) / max(live, 1) }

// take reads the sites of partitions that the node has got, and reports them to the frontier.
func (db *node) take(ids []int, rests map[int]*time.Time) error {
	db.changing.Lock()
	defer db.changing.Unlock()
	var all []*site
	var common []frontier.CommonClock
	err := db.retry(func() error {
		return db.count(func(tx pgx.Tx) (deleted int64, err error) {
			tag, err := tx.Exec(db.ctx, "delete from news where part = any($1)", ids)
			if err != nil {
				return 0, err
			}
			deleted = tag.RowsAffected()
			all, err = db.collectSites(tx, "", "", " where s.part = any($1)", nil, ids)
			if err != nil {
				return deleted, err
			}
			rows, err := tx.Query(db.ctx, "select name, due from common where due > clock_timestamp()")
			if err != nil {
				return deleted, err
			}
			common = nil
			var name string
			var due time.Time
			_, err = pgx.ForEachRow(rows, []any{&name, &due}, func() error {
				common = append(common, frontier.CommonClock{Name: name, Due: db.clock.local(due)})
				return nil
			})
			return deleted, err
		})
	})
	if err == nil {
		err = db.hearOrders()
	}
	if err != nil {
		return err
	}
	g := frontier.Growth{Common: common}
	now := time.Now()
	db.mu.Lock()
	for _, id := range ids {
		db.term++
		p := &partition{term: &frontier.Term{Number: db.term}}
		if rest := rests[id]; rest != nil {
			if t := db.clock.local(*rest); t.Add(longestPause).After(now) {
				p.term.Rest = t
			}
		}
		db.had[id] = p
		g.Terms = append(g.Terms, db.term)
		db.terms[id].Store(db.term)
	}
	for _, s := range all {
		db.ids[s.name] = s.siteID
		queued := s.queued != [3]int{}
		if !queued && !s.clocks.Due.After(now) && (db.had[s.part].term.Rest.IsZero() || now.Sub(s.clocks.Ended) > longestPause) {
			continue // not kept in memory; learn reads the site when it gets an entry
		}
		db.add(s)
		g.Sites = append(g.Sites, db.state(s))
	}
	db.mu.Unlock()
	db.tell(g)
	return nil
}

// longestPause is the longest pause of a site that must survive a restart, apart from pauses that
// are stored in its clocks.
const longestPause = 24 * time.Hour

// news reads the entries that other nodes have found for sites of this node, and the orders of other
// nodes.
func (k *keeper) news() error {
	db := k.node
	db.mu.Lock()
	var mine []int32
	for id := range db.had {
		mine = append(mine, int32(id))
	}
	db.mu.Unlock()
	db.changing.Lock()
	defer db.changing.Unlock()
	if len(mine) == 0 {
		return db.hearOrders()
	}
	var all []come
	tries := 0
	err := db.retry(func() error {
		all = nil
		if tries++; tries > 1 {
			return nil // the news may have been deleted by a lost answer: count the entries again
		}
		rows, err := db.pool.Query(db.ctx, `with n as (delete from news where part = any($1) returning part, site, k, head, first),
			i as (update node set idle = -1, changes = changes + 1 where id = $2 and exists (select 1 from n) returning changes)
			select n.*, i.changes from n left join i on true`, mine, db.id)
		if err != nil {
			return err
		}
		var c come
		var changes *int64 // stays nil if the session is over
		_, err = pgx.ForEachRow(rows, []any{&c.part, &c.id, &c.k, &c.head, &c.first, &changes}, func() error {
			all = append(all, c)
			return nil
		})
		if err == nil && changes != nil {
			db.session.changed(*changes)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := db.hearOrders(); err != nil {
		return err
	}
	if tries > 1 {
		return db.recount()
	}
	if len(all) == 0 {
		return nil
	}
	k.idle = false
	return db.hear(all)
}

// hear applies news to the sites in memory. The caller must hold db.changing.
func (db *node) hear(all []come) error {
	var unread []siteID
	db.mu.Lock()
	for _, c := range all {
		if s := db.byID[c.siteID]; s != nil {
			s.came(c.k, c.head, c.first)
		} else {
			unread = append(unread, c.siteID)
		}
	}
	db.mu.Unlock()
	if err := db.learn(unread); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	g, told := frontier.Growth{}, map[siteID]bool{}
	for _, c := range all {
		if s := db.byID[c.siteID]; s != nil && !told[c.siteID] {
			told[c.siteID] = true
			g.Sites = append(g.Sites, db.state(s))
		}
	}
	db.tell(g)
	return nil
}

// recount reads the counts of all sites again, after an answer with news was lost. The caller must
// hold db.changing.
func (db *node) recount() error {
	db.mu.Lock()
	var mine []int32
	for id := range db.had {
		mine = append(mine, int32(id))
	}
	db.mu.Unlock()
	var ids []siteID
	err := db.retry(func() error {
		rows, err := db.pool.Query(db.ctx, "select distinct part, site from queue where part = any($1)", mine)
		if err != nil {
			return err
		}
		ids = nil
		var id siteID
		_, err = pgx.ForEachRow(rows, []any{&id.part, &id.id}, func() error {
			ids = append(ids, id)
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, 5000) {
		if err := db.learn(some); err != nil {
			return err
		}
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	g := frontier.Growth{}
	for _, s := range db.sites {
		if s.queued != [3]int{} {
			g.Sites = append(g.Sites, db.state(s))
		}
	}
	db.tell(g)
	return nil
}

// leaves reports whether any partitions are leaving. The frontier no longer counts their sites,
// and no other node has them yet.
func (db *node) leaves() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, p := range db.had {
		if p.leaving {
			return true
		}
	}
	return false
}

// leave returns a leaving partition to the database if none of its sites is in use any more and their
// results are committed.
func (k *keeper) leave(ctx context.Context) error {
	db := k.node
	var ids []int
	db.mu.Lock()
	for id, p := range db.had {
		if p.leaving {
			ids = append(ids, id)
		}
	}
	db.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, newsEvery/2)
	defer cancel()
	busy, err := k.frontier.Withdraw(short)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && short.Err() == nil:
		return err
	}
	for _, site := range busy { // a slow site keeps only its own partition
		if i := slices.Index(ids, partOf(site, db.parts)); i >= 0 {
			ids = slices.Delete(ids, i, i+1)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	db.changing.Lock()
	defer db.changing.Unlock()
	// Other operations need not be committed: links to these sites, and their entries that are queued
	// again, become news.
	if db.queue.holds(func(site frontier.Site) bool { return site != "" && slices.Contains(ids, partOf(site, db.parts)) }) {
		nudge(db.queue.hurry)
		return nil
	}
	err = db.retry(func() error {
		return db.change(func(b *pgx.Batch) {
			b.Queue("update part set owner = null where owner = $1 and id = any($2)", db.id, ids)
		})
	})
	if err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, id := range ids {
		delete(db.had, id)
	}
	for name, s := range db.sites {
		if db.had[s.part] == nil {
			delete(db.sites, name)
			delete(db.byID, s.siteID)
		}
	}
	return nil
}
