package state

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A row of the journal has some completions of one commit. Each completion follows its
// length and consists of:
//
//   - flags (1), which say which of the next parts there are
//   - ofSite: the site; its clocks; what was spent; the fate with which the site was given up,
//     or 0
//   - common clocks: their number; name and due time of each
//   - ofEntry: the entry that ended: its fingerprint; its rank, or its due time in Unix
//     milliseconds if it was waiting; its tries; its fate; if it will be fetched again, its
//     visits (appendVisits)
//   - ofBack: entries that were put aside and are queued again: their site; how many there are;
//     the fingerprint of each
//   - links: their number (4); for each a zero byte or its site, its fingerprint, the length of
//     the encoded entry, and the encoded entry
//   - ofForward: entries that are brought forward: their number; for each a zero byte or its
//     site, its fingerprint, and its old and new due time in Unix milliseconds
//
// A zero byte means the site of the completion. An entry is identified by site and
// fingerprint; its number is looked up when the journal is read.
const (
	ofSite = 1 << iota
	ofEntry
	wasWaiting // the row of the entry had kindWaiting
	ofBack     // entries that were put aside are queued again by the completion
	toGet      // the entry waits, and must be requested with GET instead of HEAD
	toVisit    // the entry waits to be fetched again
	ofForward  // the completion makes entries due earlier
)

// A link is a link of a completion that may be new for the crawl.
type link struct {
	site frontier.Site
	fp   uint64
	at   uint32 // position in encoded.raw of the length of the encoded entry
}

// An encoded is a completion in the form of the journal.
type encoded struct {
	raw    []byte
	links  []link
	site   frontier.Site // empty if the completion has only links
	num    siteNum       // number of site in this file; 0 if not known yet
	entry  named         // the entry that has ended; the zero value if none has
	waited bool          // the row of entry had kindWaiting
	// back has entries of site that were put aside and are queued again. If it has any, the
	// completion has no clocks.
	back     []named
	forwards []forward // entries that become due earlier, of any site, sorted by site
	common   []frontier.CommonClock
	place         // position in the journal; before the commit, row is the index of the row in the group
	own      bool // the completion came from Submit, so Growth.Settled counts it
	leaves   bool // the frontier no longer holds the entry of site, and may need to read more
}

// A named identifies an entry within its site.
type named struct {
	fp  uint64 // fingerprint (hash) of the entry's key
	num uint32 // number of the entry in this file; 0 if not known yet
}

// A draft is the memory in which a completion is encoded, until the completion is in the queue.
type draft struct {
	raw, entry []byte
	news       []finger
}

// drafts has unused drafts, because their memory is reused.
var drafts = sync.Pool{New: func() any { return new(draft) }}

// Drafts with more memory than this are not reused.
const (
	maxDraft      = 64 << 10 // largest size of a draft that is reused, in bytes
	maxDraftLinks = 1 << 10
)

func (d *draft) release() {
	if cap(d.raw)+cap(d.entry) <= maxDraft && cap(d.news) <= maxDraftLinks {
		drafts.Put(d)
	}
}

// encodeCompletion encodes a completion. It leaves out links that the crawl is known to have
// already. The result uses the memory of the draft.
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

// encodeBack encodes entries of a site that were put aside and are queued again.
func encodeBack(site frontier.Site, n siteNum, back []named) encoded {
	b := append(make([]byte, 0, 64+8*len(back)), ofBack)
	b = binary.AppendUvarint(b, 0) // the number of common clocks
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

// A journaled is a completion that was read from the journal.
type journaled struct {
	site   frontier.Site
	clocks frontier.Clocks
	spent  frontier.Spent
	given  frontier.Fate
	common []frontier.CommonClock
	entry  uint64 // fingerprint of the entry that ended; 0: no entry ended
	due    int64  // due time in the old row of the entry, in Unix milliseconds; 0: that row had kindReady, with rank in its key
	rank   uint8
	tries  int
	byGet  bool
	visits *frontier.Visits // nil, unless the entry will be fetched again
	fate   frontier.Fate
	back   []named // entries of site that were put aside and are queued again
}

// completion reads an encoded completion, except its links and what follows them.
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

// links reads the links of a completion of the site. whole is the length of the encoded
// completion, in bytes.
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

// A rowsBuilder collects encoded completions in rows of the journal.
type rowsBuilder struct {
	size  int      // approximate size of a row, in bytes
	rows  [][]byte // each row begins with room for the checksum
	spare [][]byte // unused memory for later rows
}

// add copies e.raw to the last row, or to a new row if it does not fit into the last row. It
// sets e.raw to the copy, and e.place.
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

// maxSpareRows is how many rows are kept for reuse. A group has so many rows if a crawl fetches
// thousands of pages a second.
const maxSpareRows = 64

// reuse makes new rows use the memory of rows, which no other part uses any more.
func (b *rowsBuilder) reuse(rows [][]byte) {
	for _, row := range rows {
		if len(b.spare) < maxSpareRows && cap(row) <= 2*b.size {
			b.spare = append(b.spare, row)
		}
	}
}

// room returns an empty row with room for the checksum before it. n is the length of the first
// completion in the row, in bytes. The capacity of the row suffices for everything that add
// appends.
func (b *rowsBuilder) room(n int) []byte {
	most := max(b.size, checksumSize+n) + binary.MaxVarintLen32
	if last := len(b.spare) - 1; last >= 0 && cap(b.spare[last]) >= most {
		row := b.spare[last]
		b.spare = b.spare[:last]
		return append(row[:0], make([]byte, checksumSize)...)
	}
	return make([]byte, checksumSize, most)
}

// decodeRow decodes a row of the journal.
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

// decodeCompletion decodes what encodeCompletion has written, which has no numbers of sites and
// entries. ok is false if raw is damaged.
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
