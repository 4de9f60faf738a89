package storage

import (
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
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

// Capture returns the last capture of u. It returns nil if u has no capture, or if a purge has
// removed the body of the capture. It fails if the index or a record cannot be read, or if the
// record with the body is missing. Errors about a damaged record wrap a *warc.Error.
// Capture does not check the body.
func (p *Past) Capture(u frontier.URL) (*Capture, error) { return captureOf(p.p.Capture(u)) }

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

// Open returns the answer with its body in its content coding, but without the transfer coding.
// The caller must close the body. If the record is damaged, reading the body fails at its end. So
// the caller must not rely on any part of the body before io.EOF. The Status of the answer is
// empty: use its StatusCode.
func (c *Capture) Open() (*http.Response, error) { return c.c.Open() }
