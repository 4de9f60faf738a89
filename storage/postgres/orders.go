package postgres

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// orders are messages from one node to all others, for example to pause the whole crawl. They are
// rows of a table to which rows are only added. Their numbers have no gaps, and have the order of
// the commits, because each commit with an order updates the row of the crawl. So a node that has
// read all orders up to a number has missed none.
type orders struct {
	hear  func(order []byte, own bool) error // called with each order; set before Join; nil: orders are ignored
	heard int64                              // number of the last order that was passed to hear; guarded by db.changing
}

// Hear implements state.Cluster.
func (db *node) Hear(hear func(order []byte, own bool) error) {
	db.changing.Lock()
	defer db.changing.Unlock()
	db.orders.hear = hear
}

// Order implements state.Cluster.
func (db *node) Order(key string, value, order any) error {
	o := op{key: key, orderID: db.numbers.next(db.num)}
	var err error
	if o.order, err = json.Marshal(order); err == nil && key != "" {
		o.value, err = json.Marshal(value)
	}
	if err != nil {
		return err
	}
	return db.queue.put(o)
}

// addOrders adds the statement that stores the orders of the group. It comes after all other
// statements that change rows of other nodes. So no node waits for the row of the crawl while it
// locks a row that another node needs. If an earlier try was committed, the statement has no
// effect.
func (g *group) addOrders(b *pgx.Batch) {
	var ids []int64
	var bodies [][]byte
	for _, o := range g.ops {
		if o.order != nil {
			ids, bodies = append(ids, o.orderID), append(bodies, o.order)
		}
	}
	if len(ids) == 0 {
		return
	}
	b.Queue(`with o as (select id, body, row_number() over (order by at) k from unnest($1::bigint[], $2::text[]) with ordinality u(id, body, at)
			where not exists (select 1 from orders x where x.id = u.id)),
		c as (update crawl set orders = orders + (select count(*) from o) where exists (select 1 from o) returning orders)
		insert into orders (n, id, node, body) select c.orders - (select count(*) from o) + o.k, o.id, $3, o.body::jsonb from o, c`,
		ids, texts(bodies), g.db.id)
}

func texts(all [][]byte) []string {
	list := make([]string, len(all))
	for i, b := range all {
		list[i] = string(b)
	}
	return list
}

// hearOrders reads the orders that were committed since the last call, and passes them to hear.
// The caller must hold db.changing. It must have read its news before the call. So an order that
// was committed together with news is applied before the news are reported to the frontier.
func (db *node) hearOrders() error {
	if db.orders.hear == nil {
		return nil
	}
	type order struct {
		n    int64
		own  bool
		body []byte
	}
	var some []order
	err := db.retry(func() error {
		rows, err := db.pool.Query(db.ctx, "select n, node = $2, body from orders where n > $1 order by n", db.orders.heard, db.id)
		if err != nil {
			return err
		}
		some, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (o order, err error) {
			return o, row.Scan(&o.n, &o.own, &o.body)
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range some {
		if err := db.orders.hear(o.body, o.own); err != nil {
			return err
		}
		db.orders.heard = o.n
	}
	return nil
}
