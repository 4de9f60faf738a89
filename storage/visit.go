package storage

import (
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A Visit is what one visit writes to the outputs. It is committed as a whole or
// not at all: a line of pages.jsonl never speaks of a record that is not there.
type Visit struct {
	Exchanges []*warc.Exchange // to be archived, in the order in which they were made
	Answer    *warc.Exchange   // the one of them that the entry was asked for, which Page is about
	Page      *PageRecord      // nil: no page came of it. Where its answer stands is filled in
	Links     []LinkRecord     // that are on the page
	Before    *Capture         // of the URL of Answer, in a crawl before this one: what it may repeat; nil: nothing

	Unread error // set by PutVisit: why Answer, which repeats Before, was written whole all the same

	Place   frontier.Place // set by PutVisit: where the record of Answer is; it holds once the visit is committed
	Repeats bool           // set by PutVisit: that record has no body, which another one has
}

// PutVisit writes a visit, before its completion is submitted. What no output is
// written for is passed over. An answer whose payload was archived before, by this
// crawl or as Before, becomes a revisit record (WARC 1.1, section 6.7).
//
// An exchange that cannot be written as WARC records is refused: it is left out,
// and everything else is written. What Page says of its place holds once the
// visit is committed.
func (db *DB) PutVisit(v *Visit) (refused []*ArchiveError, err error) {
	var records []*record
	if db.outputs.archive != nil {
		if records, refused, err = db.records(v); err != nil {
			return nil, err
		}
		defer func() {
			for _, r := range records {
				r.release()
			}
		}()
	}
	if err := db.write(records, v); err != nil {
		return refused, err
	}
	for _, r := range records {
		if r.ofPage {
			v.Place, v.Repeats = frontier.Place{File: r.at.File, Offset: r.at.Offset}, r.at.Revisit
		}
		if r.digest == "" || r.at.Revisit {
			continue
		}
		// Behind the record: no commit holds the payload without it.
		if err := db.state.PutPayload(r.digest, state.Payload{Date: r.x.Date, URL: r.x.URL}); err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// KeepsPages reports whether Visit.Page is written: otherwise none need be made.
func (db *DB) KeepsPages() bool { return db.outputs.pages != nil }

// records makes the records of a visit.
func (db *DB) records(v *Visit) (all []*record, refused []*ArchiveError, err error) {
	for _, x := range v.Exchanges {
		digest, err := db.repeats(x, v)
		if err != nil {
			return nil, nil, err
		}
		r, bad := db.outputs.archive.record(x)
		if bad != nil {
			refused = append(refused, bad)
			continue
		}
		r.digest, r.ofPage = digest, x == v.Answer
		all = append(all, r)
	}
	return all, refused, nil
}

// write appends a visit to the outputs. It holds none of the locks afterwards.
func (db *DB) write(records []*record, v *Visit) error {
	var head, tail, links []byte
	var err error
	if p := v.Page; p != nil && db.outputs.pages != nil {
		if len(p.Body)+len(p.Base64) > largeBody {
			// Encoding takes several times the size of a body.
			db.large.Lock()
			defer db.large.Unlock()
		}
		if head, err = p.head(slices.ContainsFunc(records, func(r *record) bool { return r.ofPage })); err != nil {
			return err
		}
		if tail, err = p.tail(); err != nil {
			return err
		}
	}
	if db.outputs.links != nil {
		if links, err = linkLines(v.Links); err != nil {
			return err
		}
	}
	return db.outputs.put(records, v.Page, head, tail, links)
}

// A record is an exchange on its way into the archive.
type record struct {
	x      *warc.Exchange
	buf    *[]byte // of raw
	raw    []byte  // all its WARC records
	first  warc.Placed
	entry  *cdxj.Entry // in the index; nil: none
	text   []byte      // of its line there
	digest string      // by which its payload is to be known; empty: it is not
	ofPage bool
	at     Archived
}

func (a *archive) record(x *warc.Exchange) (*record, *ArchiveError) {
	r := &record{x: x, buf: archiveBuffers.Get().(*[]byte)}
	raw, placed, err := a.encode((*r.buf)[:0], x)
	if err == nil {
		r.raw, r.first = raw, placed[0]
		r.entry, err = cdxj.EntryOf(&r.first, "")
	}
	if err == nil {
		_, err = r.line() // what is wrong with it is wrong now, too
	}
	if err != nil {
		r.release()
		return nil, &ArchiveError{x.URL, err}
	}
	return r, nil
}

// line is the record's line of the index, once it is known where it stands; nil for a
// record that the index leaves out. It is valid until it is asked for again.
func (r *record) line() (line []byte, err error) {
	if r.entry == nil {
		return nil, nil
	}
	r.entry.Filename, r.entry.Offset, r.entry.Length = r.at.File, r.at.Offset, r.at.Length
	r.text, err = r.entry.Append(r.text[:0])
	return r.text, err
}

// release gives the memory of a record back; a large one is left to the collector, so
// that one large page does not make every buffer as large.
func (r *record) release() {
	if cap(r.raw) <= maxScratch && r.raw != nil {
		*r.buf = r.raw
	}
	archiveBuffers.Put(r.buf)
}
