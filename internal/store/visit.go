package store

import (
	"fmt"
	"slices"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A Visit is the output of one visit to a site for a URL. It is committed as a whole or not at
// all: a line of pages.jsonl never refers to a record that is missing.
type Visit struct {
	Exchanges []*warc.Exchange // exchanges to archive, in the order of their requests
	Answer    *warc.Exchange   // element of Exchanges that answers the entry's URL; Page describes it
	Page      *PageRecord      // the page; nil: there is no page. PutVisit sets its WARC, Offset and Length
	Links     []LinkRecord     // links that were found on the page
	Before    *Capture         // an earlier crawl's capture of the URL of Answer, which Answer may repeat; nil: none

	// Unread is set by PutVisit. It says why the body of Before could not be read. Answer was
	// then written with its body, although it repeats Before.
	Unread error

	// Place is set by PutVisit to the position of the record of Answer. The record can be read
	// after the visit is committed.
	Place frontier.Place
	// Repeats is set by PutVisit. It says that the record of Answer has no body, and refers to
	// another record.
	Repeats bool
}

// PutVisit writes a visit to the outputs. It must be called before the completion of the visit
// is submitted. Parts for which the crawl has no output are skipped. An answer whose payload is
// already in the archive of this crawl, or equals that of Before, becomes a revisit record
// (WARC 1.1, section 6.7).
//
// An exchange that cannot be written as WARC records has an error in refused, which names its
// URL; everything else is written. The place that Page names is valid after the visit is committed.
func (db *DB) PutVisit(v *Visit) (refused []error, err error) {
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
		// The payload is put after its record is appended, so that no commit has the payload
		// without the record.
		if err := db.state.PutPayload(r.digest, state.Payload{Date: r.x.Date, URL: r.x.URL}); err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// records encodes the exchanges of a visit. In refused it returns the errors of those exchanges
// that cannot be encoded.
func (db *DB) records(v *Visit) (all []*record, refused []error, err error) {
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

// write appends a visit to the outputs. It holds no lock when it returns.
func (db *DB) write(records []*record, v *Visit) error {
	var head, tail, links []byte
	var err error
	if p := v.Page; p != nil && db.outputs.pages != nil {
		if len(p.Body)+len(p.Base64) > largeBody {
			// One large page at a time, because encoding needs several times the size of a body
			// in memory.
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

// A record is an exchange that will be written to the archive.
type record struct {
	x     *warc.Exchange
	buf   *[]byte // buffer from the pool archiveBuffers, which backs raw
	raw   []byte  // the WARC records of the exchange, as they are written
	first warc.Placed
	entry *cdxj.Entry // line of the index about the exchange; nil: no line
	text  []byte      // buffer for the text of entry
	// digest is the digest under which the payload will be recorded in the state. If it is
	// empty, the payload is not recorded.
	digest string
	ofPage bool     // the exchange is the Answer of the visit
	at     archived // set by outputs.put: the position in the archive
}

func (a *archive) record(x *warc.Exchange) (*record, error) {
	r := &record{x: x, buf: archiveBuffers.Get().(*[]byte)}
	raw, placed, err := a.encode((*r.buf)[:0], x)
	if err == nil {
		r.raw, r.first = raw, placed[0]
		r.entry, err = cdxj.EntryOf(&r.first, "")
	}
	if err == nil {
		_, err = r.line() // encode the line now, to find errors before anything is written
	}
	if err != nil {
		r.release()
		return nil, fmt.Errorf("archive %s: %w", x.URL, err)
	}
	return r, nil
}

// line returns the line of the record in the index, which contains r.at. It returns nil if the
// index has no line for the record. The result is valid until the next call.
func (r *record) line() (line []byte, err error) {
	if r.entry == nil {
		return nil, nil
	}
	r.entry.Filename, r.entry.Offset, r.entry.Length = r.at.File, r.at.Offset, r.at.Length
	r.text, err = r.entry.Append(r.text[:0])
	return r.text, err
}

// release returns the memory of a record to the pool archiveBuffers. It leaves buffers larger
// than maxScratch to the garbage collector.
func (r *record) release() {
	if cap(r.raw) <= maxScratch && r.raw != nil {
		*r.buf = r.raw
	}
	archiveBuffers.Put(r.buf)
}
