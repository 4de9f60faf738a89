package storage

import (
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A Past looks up archived answers of a crawl that has ended. It changes nothing, and holds no
// file open between two calls. Its methods are safe for concurrent use.
//
// A revisit record has no body: it refers to an earlier record. Past searches for that record
// first in the same crawl. Then it searches the other crawls in the parent directory, in the
// reverse order of their names. Last it searches the previous crawl of this crawl, the previous
// crawl of that one, and so on.
type Past struct{ p *store.Past }

// OpenPast opens the crawl in dir. It fails with an *InUseError if a process runs the
// crawl, with an error that wraps ErrNoCrawl if dir has no crawl, or with an error of the
// file system.
func OpenPast(dir string) (*Past, error) {
	p, err := store.OpenPast(dir)
	if err != nil {
		return nil, err
	}
	return &Past{p}, nil
}

// PastOf is like OpenPast, but reads nothing and does not fail. The crawl in dir may be running.
func PastOf(dir string) *Past { return &Past{store.PastOf(dir)} }

// Remembers reports whether the crawl has an index of its archive. Without an index Capture
// finds nothing.
func (p *Past) Remembers() bool { return p.p.Remembers() }

// Capture returns the last capture of u. It returns nil if u has no capture, or if a purge has
// removed the body of the capture. It fails if the index or a record cannot be read, or if the
// record with the body is missing (a *MissingAnswerError). Errors about a damaged record wrap a
// *warc.Error. Capture does not check the body.
func (p *Past) Capture(u frontier.URL) (*Capture, error) { return captureOf(p.p.Capture(u)) }

// Answer returns the archived answer for rec, a line of pages.jsonl of the crawl. It returns nil
// if the answer is not in the archive of the crawl, or was purged. It fails with the same errors
// as Capture.
func (p *Past) Answer(rec *PageRecord) (*Capture, error) {
	return captureOf(p.p.Answer((*store.PageRecord)(rec)))
}

// Original returns the answer to which rec refers. rec must be a revisit record in the archive of
// the crawl. The answer may be in this crawl or in an earlier one. Original fails with the same
// errors as Capture. If the answer was purged, the error wraps ErrPurged.
func (p *Past) Original(rec *warc.Record) (*Capture, error) { return captureOf(p.p.Original(rec)) }

// A Capture is the last archived answer to a URL. It keeps at most 32 KiB of its record in memory,
// and holds no file open. It must not be used by several goroutines at the same time.
type Capture struct {
	URL  string
	Date time.Time // when the request began

	// Status and Header are those of the answer. An answer 304 (not modified) confirms an earlier
	// answer. Then they are those of the earlier answer, with the header updated (RFC 9111,
	// section 3.2). The Content-Encoding in Header is that of the body in the archive.
	Status int
	Header http.Header

	Digest    string // digest of the payload, with its content coding, as in WARC-Payload-Digest
	Truncated bool   // the payload is incomplete

	// OfURL and OfDate name the record that has the body. A revisit record that repeats this
	// answer has these values in WARC-Refers-To-Target-URI and WARC-Refers-To-Date.
	OfURL  string
	OfDate time.Time

	c *store.Capture
}

func captureOf(c *store.Capture, err error) (*Capture, error) {
	if c == nil || err != nil {
		return nil, err
	}
	return &Capture{
		URL: c.URL, Date: c.Date, Status: c.Status, Header: c.Header, Digest: c.Digest, Truncated: c.Truncated,
		OfURL: c.OfURL, OfDate: c.OfDate, c: c,
	}, nil
}

// TextDigest returns the recorded digest of the answer's visible text (FieldTextDigest). The text
// was decoded as the Content-Type in Header says. The result is empty if no digest was recorded.
// If the record of the answer has the body, the digest is known only after the body was read to
// its end.
func (c *Capture) TextDigest() string { return c.c.TextDigest }

// Place returns the position of the record that has the body: the path of its WARC file, which may
// belong to another crawl, and the offset in bytes.
func (c *Capture) Place() (path string, offset int64) { return c.c.Place() }

// Open returns the answer with its body in its content coding, but without the transfer coding.
// The caller must close the body. If the record is damaged, reading the body fails at its end. So
// the caller must not rely on any part of the body before io.EOF. The Status of the answer is
// empty: use its StatusCode.
func (c *Capture) Open() (*http.Response, error) { return c.c.Open() }

// Check reads the body and compares its digest with Digest. It fails with the same errors as
// Past.Capture. Later calls return the result of the first call.
func (c *Capture) Check() error { return c.c.Check() }
