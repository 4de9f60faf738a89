package postgres

import (
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
)

// wishes are the pairs of partitions that must meet at one node, with the lower number first.
//
// A visit may need a request to a site of another node, for example because the robots.txt of its
// site redirects there. Then both partitions come to one node for a while: the partition with the
// higher number goes to the node that has the other one. It moves like every partition, so the
// site never has two nodes, and all its pauses are kept. If sites of both partitions need each
// other, the direction is still the same, so the partitions meet.
type wishes struct {
	mu    sync.Mutex
	pairs map[[2]int]bool
}

// wishFor is how long two partitions stay at one node after the last wish.
const wishFor = 10 * time.Second

// Want implements state.Cluster.
func (db *node) Want(from, to frontier.Site) {
	a, b := partOf(from, db.parts), partOf(to, db.parts)
	if a == b {
		return
	}
	db.wishes.mu.Lock()
	defer db.wishes.mu.Unlock()
	if db.wishes.pairs == nil {
		db.wishes.pairs = map[[2]int]bool{}
	}
	db.wishes.pairs[[2]int{min(a, b), max(a, b)}] = true
}

// wish writes the wishes of this node into the table of partitions. A partition has one wish. It
// may already have another one, because a robots.txt is redirected twice. Then all partitions of
// both wishes must meet, so wish joins the two groups by their lowest partitions.
func (db *node) wish() error {
	db.wishes.mu.Lock()
	pairs := db.wishes.pairs
	db.wishes.pairs = nil
	db.wishes.mu.Unlock()
	if len(pairs) == 0 {
		return nil
	}
	return db.retry(func() error {
		rows, err := db.pool.Query(db.ctx, "select id, wish from part where wished > clock_timestamp() - $1::interval", wishFor)
		if err != nil {
			return err
		}
		wished := map[int]int{}
		var id, wish int
		if _, err := pgx.ForEachRow(rows, []any{&id, &wish}, func() error {
			wished[id] = wish
			return nil
		}); err != nil {
			return err
		}
		var low, high []int32
		for id, wish := range together(wished, pairs) {
			low, high = append(low, int32(wish)), append(high, int32(id))
		}
		_, err = db.pool.Exec(db.ctx, `update part p set wish = u.low, wished = clock_timestamp() from unnest($1::int[], $2::int[]) u(low, high)
			where p.id = u.high and (p.wish is null or p.wish = u.low or p.wished < clock_timestamp() - $3::interval)`, low, high, wishFor)
		return err
	})
}

// together returns the wishes that make the partitions of each pair meet. wished are the existing
// wishes. A wish is always for a lower number, so following wishes leads to the lowest partition
// of a group.
func together(wished map[int]int, pairs map[[2]int]bool) map[int]int {
	wishes := map[int]int{}
	lowest := func(id int) int {
		for {
			wish, ok := wished[id]
			if !ok {
				return id
			}
			wishes[id], id = wish, wish // the existing wish stays
		}
	}
	for pair := range pairs {
		a, b := lowest(pair[0]), lowest(pair[1])
		if a != b {
			wished[max(a, b)] = min(a, b)
			wishes[max(a, b)] = min(a, b)
		}
	}
	return wishes
}

// takeWished takes free partitions that must meet a partition of this node.
const takeWished = `with t as (update part p set owner = $1 from (
		select p.id from part p join part l on l.id = p.wish
		where p.owner is null and l.owner = $1 and p.wished > clock_timestamp() - $2::interval for update of p skip locked) f
	where p.id = f.id returning 1)
	update node set idle = -1 where id = $1 and exists (select 1 from t)`

// unwished is an SQL condition: the partition p need not go to a certain node.
const unwished = `not exists (select 1 from part l join node n on n.id = l.owner and n.until > clock_timestamp()
	where l.id = p.wish and p.wished > clock_timestamp() - $3::interval)`

// met reads which partitions of this node must move. Those in away must go to other nodes. Those
// in stay must not move, because they have met their partner here.
func (db *node) met(tx pgx.Tx) (away, stay map[int]bool, err error) {
	away, stay = map[int]bool{}, map[int]bool{}
	rows, err := tx.Query(db.ctx, `select p.id, l.id, p.owner = $1, l.owner = $1 from part p join part l on l.id = p.wish join node n on n.id = l.owner and n.until > clock_timestamp()
		where p.wished > clock_timestamp() - $2::interval and p.owner is not null and (p.owner = $1 or l.owner = $1)`, db.id, wishFor)
	if err != nil {
		return nil, nil, err
	}
	var high, low int
	var hasHigh, hasLow bool
	_, err = pgx.ForEachRow(rows, []any{&high, &low, &hasHigh, &hasLow}, func() error {
		if hasHigh && !hasLow {
			away[high] = true
		}
		if hasLow { // the partner is here already, or is coming here
			stay[low], stay[high] = true, true
		}
		return nil
	})
	return away, stay, err
}
