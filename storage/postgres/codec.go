package postgres

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/zeebo/xxh3"
)

// A kind is the reason why an entry is in the table queue.
type kind = int16

const (
	ready kind = iota // the entry can be requested at any time
	retry             // the entry waits for another try
	again             // the entry was fetched, and waits to be fetched again
)

// Bits of the column entry.flags.
const (
	isHead = 1 << iota
	isByGet
	isApart
	isRequisite // the entry is a requisite (frontier.Entry.Requisite)
)

func flagsOf(e *frontier.Entry) (flags int16) {
	set := func(bit int16, is bool) {
		if is {
			flags |= bit
		}
	}
	set(isHead, e.Head)
	set(isByGet, e.ByGet)
	set(isApart, e.Apart)
	set(isRequisite, e.Requisite())
	return flags
}

// hash returns the hash of an entry's key, which is stored in the column entry.key.
func (db *node) hash(key string) [16]byte { return xxh3.HashString128Seed(key, db.seed).Bytes() }

// partOf returns the number of the partition of a site, from 0 to n-1. It depends on the
// registrable domain, so sites that share a clock have the same partition.
func partOf(site frontier.Site, n int) int {
	of := site.Domain()
	if of == "" {
		of = site.Host()
	}
	return int(xxh3.HashString(of) % uint64(n))
}

// A row holds the columns of an entry, and of its row in the table queue.
type row struct {
	n         int64
	rank      int16
	depth     int32
	flags     int16
	url       string
	via, hops *string
	tag, same *string
	visits    []byte
	tries     int32
	due       *time.Time
	kind      kind
	fate      []byte
	queued    bool
}

// rowColumns are the columns that row.scan reads: those of an entry e, and of its row q in queue.
// If there is no row q, its columns have default values.
const rowColumns = `e.n, e.rank, e.depth, e.flags, e.url, e.via, e.hops, e.tag, e.same, e.visits, e.fate,
	coalesce(q.tries, 0), q.due, coalesce(q.kind, 0), q.n is not null`

func (r *row) into() []any {
	return []any{&r.n, &r.rank, &r.depth, &r.flags, &r.url, &r.via, &r.hops, &r.tag, &r.same, &r.visits, &r.fate, &r.tries, &r.due, &r.kind, &r.queued}
}

// entry returns the entry that r describes.
func (db *node) entry(r *row) (e frontier.Entry, err error) {
	if e.URL, err = frontier.ParseURL(r.url); err != nil {
		return e, err
	}
	e.Via, e.Hops, e.Tag = text(r.via), text(r.hops), text(r.tag)
	e.Depth, e.Rank, e.Tries, e.ID = int(r.depth), uint8(r.rank), int(r.tries), uint64(r.n)
	e.Head, e.ByGet, e.Apart = r.flags&isHead != 0, r.flags&isByGet != 0, r.flags&isApart != 0
	if r.same != nil {
		if e.Same, err = frontier.ParseURL(*r.same); err != nil {
			return e, err
		}
	}
	if len(r.visits) > 0 {
		if e.Visits, err = state.DecodeVisits(r.visits); err != nil {
			return e, err
		}
	}
	if r.due != nil {
		e.Due = db.clock.local(*r.due)
	}
	return e, nil
}

// kept returns the entry that r describes, together with its fate.
func (db *node) kept(r *row) (k state.Kept, err error) {
	if k.Entry, err = db.entry(r); err != nil {
		return k, err
	}
	k.Number = int(r.n)
	if k.Fate, err = state.DecodeFate(r.fate); err != nil {
		return k, err
	}
	switch {
	case !r.queued:
	case r.kind == ready:
		k.Fate = frontier.Fate{}
	default:
		k.Fate.Until = k.Due
	}
	return k, nil
}

// column returns the value of a column that is null if s is empty. s must not contain a zero byte,
// which PostgreSQL's type text does not permit; URLs contain none.
func column(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
