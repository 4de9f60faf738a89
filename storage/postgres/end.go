package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
)

// rest tells the other nodes whether this one has anything to do, and ends the run if no node has.
// A node that is at rest gives back the credit that it has not used.
func (k *keeper) rest() error {
	db, most := k.node, k.frontier.Limits()
	r := k.frontier.Rest()
	// A growth that the frontier has not taken into account may bring it something to do.
	still := r.Out == 0 && r.Pending == 0 && r.Held == 0 && r.Verdict != nil && db.queue.empty() && r.Grown >= db.told.Load()
	verdict := r.Verdict
	if still {
		verdict = k.settle(&r)
		still = verdict != nil
	}
	starved := errors.Is(verdict, frontier.ErrLimit)
	if still == k.idle && !still {
		return nil
	}
	var busy, limited bool
	err := db.retry(func() error {
		b := &pgx.Batch{}
		if !still {
			b.Queue("update node set idle = -1, starved = false where id = $1", db.id)
			return db.send(b)
		}
		db.fence(b)
		b.Queue(returned, db.id)
		b.Queue("update node set idle = seq, starved = $2 where id = $1 and (idle <> seq or starved <> $2)", db.id, starved)
		b.Queue(`select exists (select 1 from node where until > clock_timestamp() and idle <> seq) or exists (select 1 from part where owner is null)
			or exists (select 1 from part p where not exists (select 1 from node n where n.id = p.owner and n.until > clock_timestamp()))
			or exists (select 1 from news)
			or exists (select 1 from node where starved) and exists (select 1 from crawl where ($1 > 0 or $2 > 0) and ($1 = 0 or pages < $1) and ($2 = 0 or bytes < $2)),
			exists (select 1 from node where starved)`, int64(most.Pages), most.Bytes).
			QueryRow(func(row pgx.Row) error { return row.Scan(&busy, &limited) })
		return db.send(b)
	})
	if k.idle = still; err != nil || !still || busy || most.Open {
		return err
	}
	if limited {
		verdict = frontier.ErrLimit
	}
	_ = k.frontier.End(verdict) // refused if something has begun meanwhile: then it is not the end
	return nil
}
