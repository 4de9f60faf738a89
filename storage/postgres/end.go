package postgres

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
)

// verdicts are the possible ends of a run. If the nodes have different ones, the last of them in
// this list is the end of the whole crawl.
var verdicts = []error{frontier.ErrEnd, frontier.ErrUnasked, frontier.ErrPatience, frontier.ErrLimit}

// rest writes into the database whether this node has anything to do, and ends the run if no node
// has.
//
// The node that detects the end writes it into the rows of all nodes, so that all of them end at
// the same time. Otherwise the others would first take its partitions, and wait for the sites in
// them. The patience of a run is for waits that sites demand: it does not end the run while the
// sites of a dead node rest. A node that is at rest returns its unused credit.
func (k *keeper) rest() error {
	db, most := k.node, k.frontier.Limits()
	r := k.frontier.Rest()
	// The node is not at rest if the frontier has not absorbed the last growth, which may bring
	// entries.
	still := r.Out == 0 && r.Pending == 0 && r.Held == 0 && r.Verdict != nil && db.queue.empty() && r.Grown >= db.told.Load() && !db.leaves()
	verdict := r.Verdict
	if still {
		verdict = k.settle(&r)
		still = verdict != nil
	}
	if still == k.idle && !still {
		return nil
	}
	mine := slices.IndexFunc(verdicts, func(v error) bool { return v == verdict }) // compared with ==, because some verdicts wrap others
	var end *int
	err := db.retry(func() error {
		if !still {
			_, err := db.pool.Exec(db.ctx, "update node set idle = -1, starved = false where id = $1", db.id)
			return err
		}
		return db.change(func(b *pgx.Batch) {
			b.Queue(returned, db.id)
			b.Queue("update node set idle = seq, verdict = $2, starved = $3 where id = $1 and (idle <> seq or over <> seq and (verdict, starved) <> ($2, $3))",
				db.id, mine, errors.Is(verdict, frontier.ErrLimit))
			b.Queue(`with live as (select max(verdict) as verdict, bool_or(idle <> seq) as busy from node where until > clock_timestamp()),
				yet as (select busy or $5 or exists (select 1 from news)
					or exists (select 1 from part p where not exists (select 1 from node n where n.id = p.owner and n.until > clock_timestamp()))
					or verdict = $2 and exists (select 1 from part where rest > clock_timestamp())
					or exists (select 1 from node where starved) and exists (select 1 from crawl where ($3 > 0 or $4 > 0) and ($3 = 0 or pages < $3) and ($4 = 0 or bytes < $4)) as busy, verdict from live),
				told as (update node set over = seq, verdict = yet.verdict from yet where idle = seq and over <> seq and not yet.busy)
				select case when not yet.busy then yet.verdict when n.over = n.seq then n.verdict end from yet left join node n on n.id = $1`,
				db.id, slices.Index(verdicts, frontier.ErrPatience), int64(most.Pages), most.Bytes, most.Open).
				QueryRow(func(row pgx.Row) error { return row.Scan(&end) })
		})
	})
	if k.idle = still; err != nil || end == nil || most.Open {
		return err
	}
	_ = k.frontier.End(verdicts[*end]) // End fails if something has begun meanwhile; then the run has not ended
	return nil
}
