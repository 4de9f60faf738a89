package postgres

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
)

// A credit is the part of the crawl's limits that the session of a node may spend.
type credit struct {
	granted atomic.Pointer[frontier.Spent] // pages and bytes that the frontier may spend; nil: none
	spent   atomic.Pointer[frontier.Spent] // pages and bytes that were committed as spent; nil: none
}

// Credit implements state.Cluster.
func (db *node) Credit() frontier.Spent { return value(&db.credit.granted) }

func value(p *atomic.Pointer[frontier.Spent]) frontier.Spent {
	if s := p.Load(); s != nil {
		return *s
	}
	return frontier.Spent{}
}

// spent returns what the session will have spent after the commit of the group.
func (g *group) spent() frontier.Spent {
	db := g.db
	all := value(&db.credit.spent)
	db.mu.Lock()
	defer db.mu.Unlock()
	for name, c := range g.sites {
		if s := db.sites[name]; s != nil {
			all.Pages += c.Spent.Pages - s.spent.Pages
			all.Bytes += c.Spent.Bytes - s.spent.Bytes
		}
	}
	return all
}

// creditBack is the part of a statement that gives the unused credit of sessions back to the crawl. A
// query named dead must select their rows. If a session has spent more than its credit, the
// difference is subtracted from the rest of the crawl's limit.
const creditBack = `back as (update crawl c set pages = c.pages - d.pages, bytes = c.bytes - d.bytes
	from (select sum(pages_credit - pages) as pages, sum(bytes_credit - bytes) as bytes from dead) d where c.id = 1 and d.pages is not null)`

// returned is the statement that gives the unused credit of the session $1 back to the crawl. The
// session must not be spending at this time.
const returned = `with dead as (select * from node where id = $1 and (pages_credit <> pages or bytes_credit <> bytes)), ` + creditBack + `
	update node set pages_credit = pages, bytes_credit = bytes where id = $1 and (pages_credit <> pages or bytes_credit <> bytes)`

// A creditor decides when a node requests credit, and when it returns credit.
type creditor struct {
	most frontier.Spent // the limits of the crawl when they were last read

	// verdict is the frontier.Rest.Verdict that the frontier had while it was at rest and had
	// credit. It stays true without credit as long as the frontier's Activity equals activity.
	verdict  error
	activity uint64
	since    time.Duration

	before frontier.Spent // what was spent at the start of the current 5 seconds
	at     time.Duration
	rate   frontier.Spent // what was spent in the last 5 seconds
}

// verdictFor is how long a verdict is valid if it depends on the time.
const verdictFor = 5 * time.Second

// known reports whether c.verdict is still valid for the state r of the frontier.
func (c *creditor) known(r *frontier.Rest) bool {
	return c.verdict != nil && c.activity == r.Activity && (!errors.Is(c.verdict, frontier.ErrPatience) || uptime()-c.since < verdictFor)
}

// settle returns the verdict of a frontier that is at rest, and takes back its unused credit. It
// returns nil if the frontier turns out not to be at rest.
func (k *keeper) settle(r *frontier.Rest) error {
	db, c := k.node, &k.credit
	if most := k.frontier.Limits(); most.Pages == 0 && most.Bytes == 0 {
		return r.Verdict
	}
	if c.known(r) {
		return c.verdict
	}
	granted, spent := db.credit.granted.Load(), value(&db.credit.spent)
	db.credit.granted.Store(&spent)
	if again := k.frontier.Rest(); again.Out > 0 || again.Activity != r.Activity {
		db.credit.granted.Store(granted)
		return nil
	}
	c.verdict = nil
	if !errors.Is(r.Verdict, frontier.ErrLimit) {
		c.verdict, c.activity, c.since = r.Verdict, r.Activity, uptime()
	}
	return r.Verdict
}

// Bounds of one request for credit. A node requests at least these numbers, and at least what it
// spends in 5 seconds. It gets at most half of the crawl's rest divided by the number of nodes, so
// that the nodes use up the limit together.
const (
	leastPages = 64
	leastBytes = 4 << 20
	rateOver   = 5 * time.Second
)

// borrow requests credit if the node will soon have used up its credit.
func (k *keeper) borrow() error {
	db, c := k.node, &k.credit
	l := k.frontier.Limits()
	most := frontier.Spent{Pages: l.Pages, Bytes: l.Bytes}
	if most.Pages == 0 && most.Bytes == 0 {
		return nil
	}
	r := k.frontier.Rest()
	if c.known(&r) {
		return nil // the node has no entries to fetch
	}
	if now := uptime(); now-c.at >= rateOver {
		c.rate.Pages, c.rate.Bytes = r.Spent.Pages-c.before.Pages, r.Spent.Bytes-c.before.Bytes
		c.before, c.at = r.Spent, now
	}
	chunk := frontier.Spent{Pages: max(leastPages, c.rate.Pages), Bytes: max(leastBytes, c.rate.Bytes)}
	target := frontier.Spent{Pages: r.Spent.Pages + r.Out + chunk.Pages, Bytes: r.Spent.Bytes + chunk.Bytes}
	have := db.Credit()
	enough := (most.Pages == 0 || target.Pages-have.Pages <= chunk.Pages/2) && (most.Bytes == 0 || target.Bytes-have.Bytes <= chunk.Bytes/2)
	if enough && most == c.most {
		return nil
	}
	var got frontier.Spent
	var leftPages, leftBytes int64
	err := db.retry(func() error {
		return db.change(func(b *pgx.Batch) {
			b.Queue(granting, db.id, int64(target.Pages), target.Bytes, int64(most.Pages), most.Bytes).
				QueryRow(func(row pgx.Row) error { return row.Scan(&got.Pages, &got.Bytes, &leftPages, &leftBytes) })
		})
	})
	if err != nil {
		return err
	}
	c.most = most
	spent := value(&db.credit.spent)
	if most.Pages > 0 && leftPages < 0 || most.Bytes > 0 && leftBytes < 0 { // the limit was lowered below what was granted
		got = spent
	}
	if got == have {
		return nil
	}
	if got.Pages > have.Pages || got.Bytes > have.Bytes {
		k.idle = false
	}
	db.credit.granted.Store(&got)
	db.tell(frontier.Growth{}) // an empty growth makes the frontier read its credit
	return nil
}

// granting gives credit to the session $1: up to $2 pages and $3 bytes, within the limits $4 and
// $5 of the whole crawl (0 is no limit). Amounts that sessions have spent beyond their credit
// count as granted. The statement returns the credit, and the rest of the limits.
const granting = `with c as (select pages, bytes from crawl where id = 1 for update),
	n as (select count(*) filter (where until > clock_timestamp()) as live,
		coalesce(sum(greatest(pages - pages_credit, 0)), 0)::bigint as pages, coalesce(sum(greatest(bytes - bytes_credit, 0)), 0)::bigint as bytes from node),
	me as (select pages_credit, bytes_credit, greatest(pages - pages_credit, 0) as pages, greatest(bytes - bytes_credit, 0) as bytes from node where id = $1),
	f as (select $4::bigint - c.pages - n.pages as pages, $5::bigint - c.bytes - n.bytes as bytes from c, n),
	g as (select me.pages + case when $4::bigint = 0 then 0 else greatest(0, least($2::bigint - me.pages_credit - me.pages, f.pages, greatest(1, f.pages / (2 * n.live)))) end as pages,
		me.bytes + case when $5::bigint = 0 then 0 else greatest(0, least($3::bigint - me.bytes_credit - me.bytes, f.bytes, greatest(1, f.bytes / (2 * n.live)))) end as bytes
		from me, f, n),
	u as (update crawl set pages = crawl.pages + g.pages, bytes = crawl.bytes + g.bytes from g where crawl.id = 1 and (g.pages > 0 or g.bytes > 0)),
	w as (update node set pages_credit = pages_credit + g.pages, bytes_credit = bytes_credit + g.bytes, idle = -1, starved = false
		from g where node.id = $1 and (g.pages > 0 or g.bytes > 0))
	select me.pages_credit + g.pages, me.bytes_credit + g.bytes, f.pages - g.pages + me.pages, f.bytes - g.bytes + me.bytes from me, g, f`
