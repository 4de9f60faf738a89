package state

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A row of the journal has some completions of one commit, each after its
// length:
//
//	flags of the parts that follow
//	the site; its clocks; what was spent; why it is given up, or 0
//	common clocks: how many; name and due of each
//	the entry that ended: its fingerprint, where it was queued (rank, or due in
//	Unix milliseconds), its tries, its fate; if it will be fetched again, when it
//	first ended, how often it was seen since and had changed, where its body is
//	the site of entries that are requeued after they were set aside; how many;
//	the fingerprint of each
//	links: how many; of each a zero byte, or its site; the fingerprint; the
//	entry after its length
//	entries that are brought forward: how many; of each a zero byte, or its site; the
//	fingerprint; old and new due time, in Unix milliseconds
//
// An entry is identified by its site and fingerprint, not by the number that it gets when
// it is merged: the encoding of a completion is the same in every file with the same seed.
const (
	ofSite = 1 << iota
	ofEntry
	wasWaiting // the entry had kindWaiting
	ofBack     // entries are requeued
	toGet      // the entry waits, and is requested with GET from now on
	toVisit    // the entry waits to be fetched again
	ofForward  // entries are brought forward
)

// A link is a link of a completion that was not known.
type link struct {
	site frontier.Site
	fp   uint64
	at   uint32 // offset in encoded.raw of the entry, which is after its length
}

// An encoded is an encoded completion, with its links.
type encoded struct {
	raw      []byte
	links    []link
	site     frontier.Site // empty if there are only links
	num      siteNum       // of site in this file; 0 if it is not known (yet)
	entry    named         // that ended; zero if none did
	waited   bool          // that entry had kindWaiting
	back     []named       // entries of site that are requeued; then the completion has no clocks of site
	forwards []forward     // entries of any site that are brought forward, sorted by site
	common   []frontier.CommonClock
	place         // its position in the journal; before the commit, in the rows of its group, from 0 on
	own      bool // it was submitted to this DB, which reports when it has settled
	leaves   bool // it gives back an entry of site: the frontier may read more
}

// A named identifies an entry of a site.
type named struct {
	fp  uint64 // its fingerprint
	num uint32 // its number in this file; 0 if it is not known (yet)
}

// A draft is the memory in which a completion is encoded, until it is put.
type draft struct {
	raw, entry []byte
	news       []finger
}

// drafts are unused drafts.
var drafts = sync.Pool{New: func() any { return new(draft) }}

// maxDraft limits what of a draft is kept for the next completion: bytes, and links.
const (
	maxDraft      = 64 << 10
	maxDraftLinks = 1 << 10
)

func (d *draft) release() {
	if cap(d.raw)+cap(d.entry) <= maxDraft && cap(d.news) <= maxDraftLinks {
		drafts.Put(d)
	}
}

// encodeCompletion encodes a completion without its known links. The result uses the memory
// of the draft.
func (db *DB) encodeCompletion(c *frontier.Completion, draft *draft) encoded {
	e := encoded{site: c.Site, common: c.Common, own: true}
	flags := byte(0)
	if c.Site != "" {
		flags |= ofSite
		ends := c.Fate.Code != frontier.Undecided
		e.leaves = ends != c.Held
		var num uint32
		if ends || c.Held {
			e.num, num = splitID(c.Entry.ID)
		}
		if ends {
			flags |= ofEntry
			e.entry = named{fingerprint(c.Entry.Key(), db.seed), num}
			if !c.Entry.Due.IsZero() {
				flags |= wasWaiting
				e.waited = true
			}
			if c.Entry.ByGet && c.Fate.Code == frontier.Waiting {
				flags |= toGet
			}
			if c.Fate.Again() && c.Entry.Visits != nil {
				flags |= toVisit
			}
		}
	}
	b := append(draft.raw[:0], flags)
	if flags&ofSite != 0 {
		b = appendString(b, string(c.Site))
		b = appendFate(appendSpent(appendClocks(b, &c.Clocks), c.Spent), &c.Given)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Common)))
	for _, s := range c.Common {
		b = appendTime(appendString(b, s.Name), s.Due)
	}
	if flags&ofEntry != 0 {
		b = binary.BigEndian.AppendUint64(b, e.entry.fp)
		if flags&wasWaiting != 0 {
			b = binary.BigEndian.AppendUint64(b, uint64(dueMillis(c.Entry.Due)))
		} else {
			b = append(b, c.Entry.Rank)
		}
		b = appendFate(binary.AppendUvarint(b, uint64(c.Entry.Tries)), &c.Fate)
		if flags&toVisit != 0 {
			b = appendVisits(b, c.Entry.Visits)
		}
	}
	draft.raw, e.links = db.encodeLinks(b, c, draft)
	e.raw = draft.raw
	return e
}

// encodeBack encodes entries of a site that are requeued.
func encodeBack(site frontier.Site, n siteNum, back []named) encoded {
	b := append(make([]byte, 0, 64+8*len(back)), ofBack)
	b = binary.AppendUvarint(b, 0) // common clocks
	b = binary.AppendUvarint(appendString(b, string(site)), uint64(len(back)))
	for _, e := range back {
		b = binary.BigEndian.AppendUint64(b, e.fp)
	}
	return encoded{raw: binary.BigEndian.AppendUint32(b, 0), site: site, num: n, back: back}
}

func (db *DB) encodeLinks(b []byte, c *frontier.Completion, draft *draft) ([]byte, []link) {
	count := len(b)
	b = append(b, 0, 0, 0, 0)
	news := db.mayBeNew(c, draft)
	if len(news) == 0 {
		return b, nil
	}
	links := make([]link, 0, len(news))
	for _, f := range news {
		l, fp := &c.Links[f.i], f.fp
		site := l.URL.Site()
		if site == c.Site {
			b = append(b, 0)
			site = c.Site
		} else {
			b = appendString(b, string(site))
		}
		b = binary.BigEndian.AppendUint64(b, fp)
		links = append(links, link{site, fp, uint32(len(b))})
		draft.entry = appendEntry(draft.entry[:0], l, 0)
		b = append(binary.AppendUvarint(b, uint64(len(draft.entry))), draft.entry...)
	}
	binary.BigEndian.PutUint32(b[count:], uint32(len(links)))
	return b, links
}

// A journaled is a decoded completion.
type journaled struct {
	site   frontier.Site
	clocks frontier.Clocks
	spent  frontier.Spent
	given  frontier.Fate
	common []frontier.CommonClock
	entry  uint64 // its fingerprint; 0: no entry ended
	due    int64  // its due time in the queue; 0: it was ready, with its rank
	rank   uint8
	tries  int
	byGet  bool
	visits *frontier.Visits // of an entry that will be fetched again
	fate   frontier.Fate
	back   []named // entries of site that are requeued
}

// completion reads a completion up to its links.
func (d *decoder) completion() (j journaled) {
	flags := d.byte()
	if flags&ofSite != 0 {
		j.site = frontier.Site(d.string())
		j.clocks, j.spent, j.given = d.clocks(), d.spent(), d.fate()
	}
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		j.common = append(j.common, frontier.CommonClock{Name: d.string(), Due: d.time()})
	}
	if flags&ofEntry != 0 {
		j.entry = d.uint64()
		if flags&wasWaiting != 0 {
			j.due = int64(d.uint64())
		} else {
			j.rank = d.byte()
		}
		j.tries, j.fate = int(d.uvarint()), d.fate()
		j.byGet = flags&toGet != 0
		if flags&toVisit != 0 {
			j.visits = d.visits()
			j.visits.Last = j.fate
			j.visits.Last.Until = time.Time{}
		}
	}
	if flags&ofBack != 0 {
		j.site = frontier.Site(d.string())
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			j.back = append(j.back, named{fp: d.uint64()})
		}
	}
	return j
}

// links reads the links after a completion of the site, which is whole bytes long.
func (d *decoder) links(site frontier.Site, whole int) []link {
	raw := d.bytes(4)
	if raw == nil {
		return nil
	}
	var links []link
	for n := binary.BigEndian.Uint32(raw); n > 0 && !d.bad; n-- {
		l := link{site: site}
		if s := d.lengthed(); len(s) > 0 {
			l.site = frontier.Site(s)
		}
		l.fp = d.uint64()
		l.at = uint32(whole - len(d.b))
		d.lengthed()
		links = append(links, l)
	}
	return links
}

// A rowsBuilder encodes rows of completions.
type rowsBuilder struct {
	size  int      // of a row, about
	rows  [][]byte // each after room for the checksum
	spare [][]byte // unused memory for rows
}

// add copies a completion to the last row, or to a new one. e then refers to the copy.
func (b *rowsBuilder) add(e *encoded) {
	n := len(b.rows)
	if n == 0 || len(b.rows[n-1])+len(e.raw) > b.size {
		b.rows = append(b.rows, b.room(len(e.raw)))
		n++
	}
	row := binary.AppendUvarint(b.rows[n-1], uint64(len(e.raw)))
	at := len(row)
	row = append(row, e.raw...)
	b.rows[n-1] = row
	e.raw, e.place = row[at:len(row):len(row)], place{uint32(n - 1), uint32(at - checksumSize)}
}

// maxSpareRows is how many rows are kept for reuse: as many as a group has at thousands of
// pages a second.
const maxSpareRows = 64

// reuse recycles the memory of rows that are not used any more.
func (b *rowsBuilder) reuse(rows [][]byte) {
	for _, row := range rows {
		if len(b.spare) < maxSpareRows && cap(row) <= 2*b.size {
			b.spare = append(b.spare, row)
		}
	}
}

// room returns memory for a row that begins with n bytes. No row outgrows its memory.
func (b *rowsBuilder) room(n int) []byte {
	most := max(b.size, checksumSize+n) + binary.MaxVarintLen32
	if last := len(b.spare) - 1; last >= 0 && cap(b.spare[last]) >= most {
		row := b.spare[last]
		b.spare = b.spare[:last]
		return append(row[:0], make([]byte, checksumSize)...)
	}
	return make([]byte, checksumSize, most)
}

// decodeRow decodes a row that was left in the journal.
func decodeRow(key, value []byte) (all []encoded, err error) {
	raw, err := unseal(bucketJournal, key, value)
	if err != nil {
		return nil, err
	}
	row := uint32(binary.BigEndian.Uint64(key))
	for d := (decoder{b: raw}); len(d.b) > 0 && !d.bad; {
		text := d.lengthed()
		e, ok := decodeCompletion(text)
		if d.bad || !ok {
			return nil, recordError(bucketJournal, key, errRecord)
		}
		e.place = place{row, uint32(len(raw) - len(d.b) - len(text))}
		all = append(all, e)
	}
	return all, nil
}

// decodeCompletion decodes the result of encodeCompletion, without the numbers of entries.
func decodeCompletion(raw []byte) (e encoded, ok bool) {
	d := decoder{b: raw}
	j := d.completion()
	e = encoded{raw: raw, site: j.site, entry: named{fp: j.entry}, waited: j.due != 0, back: j.back, common: j.common}
	e.links = d.links(e.site, len(raw))
	if len(raw) > 0 && raw[0]&ofForward != 0 {
		e.forwards = d.forwards(e.site, len(raw))
	}
	return e, !d.bad && len(d.b) == 0
}
