package warc

import (
	"cmp"
	"crypto/rand"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// defaultLevel is the gzip level if Options.Level is 0. Compression is the most expensive part of
// writing a page. Level 6 takes 1.5 times as long as this level and saves a tenth of the size.
// Level 9 takes five times as long and saves two hundredths more (docs/evidence/performance.md).
const defaultLevel = gzip.BestSpeed

// Options are the settings of an [Encoder]. The zero value is ready to use.
type Options struct {
	// Level is the gzip level, 1 to 9. 0 stands for level 1. At level 1 all short records share
	// one Huffman code, which makes the encoder faster.
	Level int
	// Plain leaves the records uncompressed.
	Plain bool
	// Random is the source of the bytes of record IDs; nil means crypto/rand. Random must be
	// safe for concurrent use if the Encoder is used concurrently.
	Random io.Reader
}

// An Encoder writes records. It is safe for concurrent use. It keeps gzip writers for later use,
// but keeps no records.
type Encoder struct {
	level  int
	plain  bool
	short  *shortCode // compresses short records; nil: they are compressed like all others
	random io.Reader
	states sync.Pool // values of type *state that are not in use
}

// NewEncoder returns an Encoder. It fails if Options.Level is not a level of gzip.
func NewEncoder(o Options) (*Encoder, error) {
	if o.Level == 0 {
		o.Level = defaultLevel
	}
	if o.Level < gzip.BestSpeed || o.Level > gzip.BestCompression {
		return nil, fmt.Errorf("gzip level %d: take one from %d to %d", o.Level, gzip.BestSpeed, gzip.BestCompression)
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	e := &Encoder{level: o.Level, plain: o.Plain, random: o.Random}
	if !o.Plain && o.Level == gzip.BestSpeed {
		e.short = newShortCode()
	}
	return e, nil
}

// newID returns a new record ID: a URI of the form urn:uuid:, without the angle brackets
// around it in a header.
func (e *Encoder) newID() (string, error) { return newID(e.random) }

// An Info is the content of a warcinfo record (section 6.2). Empty fields are left out. The fields
// format and conformsTo are always written.
type Info struct {
	ID       string    // the record's ID; if empty, a new one is made
	Filename string    // name of the file that contains the record, for WARC-Filename
	Date     time.Time // creation time of the file

	Software  string // name and version of the program
	Robots    string // the policy for robots.txt, such as "RFC 9309"
	UserAgent string // value of User-Agent in each request
	From      string // value of From in each request
	Operator  string // name and address of the operator
	Hostname  string
	IsPartOf  string // name of the crawl
	More      []Field
}

// conformsTo is the URI that names WARC 1.1.
const conformsTo = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

// A RevisitOf identifies the earlier record that an answer repeats (section 6.7).
type RevisitOf struct {
	Profile Profile
	// ID, URL and Date identify the earlier record. They are written as WARC-Refers-To,
	// WARC-Refers-To-Target-URI and WARC-Refers-To-Date. Readers find the payload by URL and Date,
	// so both should be set. The earlier record must have the payload, and must not be a revisit
	// itself: readers need not follow a second reference.
	ID   string
	URL  string
	Date time.Time
	// PayloadDigest is the payload digest of the earlier record. With the profile
	// IdenticalPayloadDigest it may be empty if Exchange.Response has the body: the digest is then
	// computed from the body.
	PayloadDigest string
}

// A File is the answer of a protocol without headers, such as FTP (section 6.4.3).
type File struct {
	Type string // media type; empty stands for application/octet-stream
	Body []byte
}

// An Exchange is one request with its answer. Parts that are nil are not written. At least one of
// Request, Metadata and the answer (Response or File) must be set. An Exchange for a request
// without an answer has a Request and perhaps Metadata.
type Exchange struct {
	URL      string     // WARC-Target-URI: absolute, escaped, without white space
	Date     time.Time  // WARC-Date of every record: the start of the request (section 5.4)
	IP       netip.Addr // address of the server; the zero value is left out
	InfoID   string     // ID of the file's warcinfo record; may be empty
	Protocol []string   // protocols, such as "http/1.1" or "h2", and "tls/1.3"
	Cipher   string     // TLS cipher suite by its IANA name

	// Head says that the method of the request was HEAD. Response then has no body, even if its
	// header announces one, and its record has no payload (RFC 9110, section 9.3.2). The field
	// WARC-Request-Method of the record has the method.
	Head     bool
	Response *HTTP
	// Revisit makes the answer's record a revisit record, which has the head of Response
	// without the body.
	Revisit *RevisitOf
	// File is set instead of Response for a protocol without headers.
	File *File
	// Converted makes the record of File a conversion record (section 6.8). Its value, for
	// WARC-Refers-To, is the ID of the record from which File was made. Metadata then refers to
	// the conversion record.
	Converted string
	// Truncated says why the answer's body is incomplete.
	Truncated Truncation
	// PayloadType is the media type that was detected from the bytes of the payload. It must
	// not be a copy of Content-Type (section 5.19).
	PayloadType string
	// PayloadDigest is the result of the function PayloadDigest for Response. If it is empty,
	// the Encoder computes it.
	PayloadDigest string

	Request *HTTP

	// Metadata is the block of the metadata record (section 6.6): via, hopsFromSeed, fetchTimeMs
	// and further fields.
	Metadata []Field
}

// AppendInfo appends a warcinfo record to b.
func (e *Encoder) AppendInfo(b []byte, i *Info) ([]byte, Placed, error) {
	s := e.state()
	defer e.states.Put(s)
	s.to(b, nil)
	p, err := e.info(s, i)
	return s.result(b, err), p, err
}

// WriteInfo writes a warcinfo record.
func (e *Encoder) WriteInfo(w io.Writer, i *Info) (Placed, error) {
	s := e.state()
	defer e.states.Put(s)
	s.to(nil, w)
	defer s.to(nil, nil)
	return e.info(s, i)
}

// AppendExchange appends the records of x to b: the answer first, then the request, then the
// metadata. On an error it returns b unchanged.
func (e *Encoder) AppendExchange(b []byte, x *Exchange) ([]byte, []Placed, error) {
	s := e.state()
	defer e.states.Put(s)
	s.to(b, nil)
	p, err := e.exchange(s, x)
	return s.result(b, err), p, err
}

// WriteExchange writes the records of x to w, in the order of AppendExchange. After an error a
// part of the records may have been written.
func (e *Encoder) WriteExchange(w io.Writer, x *Exchange) ([]Placed, error) {
	s := e.state()
	defer e.states.Put(s)
	s.to(nil, w)
	defer s.to(nil, nil)
	return e.exchange(s, x)
}

// A state holds the buffers for one call of a method of the Encoder.
type state struct {
	zip      *gzip.Writer
	out      io.Writer // writer of the records; nil: they are appended to buf
	buf      []byte
	count    int64
	head     []byte    // head of the block
	warc     []byte    // header of the record
	text     []byte    // block that consists of fields
	whole    []byte    // a short record, uncompressed
	member   []byte    // a short record as a gzip member
	date     time.Time // the date whose text is in dateText
	dateText []byte    // date in the form of WARC-Date
	sum      hash.Hash
}

func (e *Encoder) state() *state {
	if s, ok := e.states.Get().(*state); ok {
		return s
	}
	return &state{sum: sha1.New()}
}

func (s *state) to(b []byte, w io.Writer) { s.buf, s.out, s.count = b, w, 0 }

// result returns the buffer to which records were appended, or b if err is not nil. After the call
// the state no longer has the buffer.
func (s *state) result(b []byte, err error) []byte {
	done := s.buf
	s.buf = nil
	if err != nil {
		return b
	}
	return done
}

func (s *state) Write(p []byte) (int, error) {
	if s.out == nil {
		if len(s.buf)+len(p) > cap(s.buf) {
			// Double the buffer: append alone grows less, and would copy a large record more
			// often.
			s.buf = slices.Grow(s.buf, max(len(p), len(s.buf)))
		}
		s.buf = append(s.buf, p...)
		s.count += int64(len(p))
		return len(p), nil
	}
	n, err := s.out.Write(p)
	s.count += int64(n)
	return n, err
}

func (e *Encoder) info(s *state, i *Info) (Placed, error) {
	r := record{Type: Warcinfo, id: i.ID, date: i.Date, contentType: warcFields}
	if i.Filename != "" {
		r.fields = append(r.fields, Field{fieldFilename, i.Filename})
	}
	lines := []Field{
		{"software", i.Software}, {"format", "WARC File Format 1.1"}, {"conformsTo", conformsTo},
		{"robots", i.Robots}, {"http-header-user-agent", i.UserAgent}, {"http-header-from", i.From},
		{"operator", i.Operator}, {"hostname", i.Hostname}, {"isPartOf", i.IsPartOf},
	}
	var err error
	if s.text, err = appendFields(s.text[:0], append(lines, i.More...)); err != nil {
		return Placed{}, fmt.Errorf("warcinfo record: %w", err)
	}
	r.body = s.text
	if r.id == "" {
		if r.id, err = e.newID(); err != nil {
			return Placed{}, err
		}
	}
	return e.write(s, &r)
}

// appendFields appends fields in the form of application/warc-fields. It leaves out fields with
// an empty value.
func appendFields(b []byte, fields []Field) ([]byte, error) {
	for _, f := range fields {
		if f.Value == "" {
			continue
		}
		var err error
		if b, err = appendField(b, f.Name, f.Value); err != nil {
			return b, err
		}
	}
	return b, nil
}

const warcFields = "application/warc-fields"

var errNothing = errors.New("an exchange without Response, File, Request and Metadata: give at least one")

func (e *Encoder) exchange(s *state, x *Exchange) ([]Placed, error) {
	placed, err := e.records(s, x)
	if err != nil {
		return nil, fmt.Errorf("WARC records of %q: %w", clip(x.URL), err)
	}
	return placed, nil
}

// check returns an error if x cannot be written as records.
func (x *Exchange) check() error {
	switch {
	case x.Response != nil && x.File != nil:
		return errors.New("both Response and File are set: an answer is one of them")
	case x.Converted != "" && x.File == nil:
		return errors.New("the field Converted is set, but not the File that was made of the record")
	case x.Revisit != nil && x.Response == nil:
		return errors.New("a Revisit without the Response whose head it keeps")
	case x.Head && (x.Revisit != nil || x.File != nil || x.Response != nil && len(x.Response.Body) > 0):
		return errors.New("an answer to HEAD with a body, or that repeats one: it has none (RFC 9110, section 9.3.2)")
	case x.URL == "" || strings.ContainsFunc(x.URL, func(r rune) bool { return r <= ' ' }):
		return errors.New("the URL is empty or has white space in it: escape it (section 5.14)")
	}
	return nil
}

func (e *Encoder) records(s *state, x *Exchange) ([]Placed, error) {
	if err := x.check(); err != nil {
		return nil, err
	}
	placed := make([]Placed, 0, 3)
	first := "" // ID of the first record; the others refer to it by WARC-Concurrent-To
	add := func(r *record, err error) error {
		if err != nil {
			return err
		}
		r.date, r.url = x.Date, x.URL
		if r.id, err = e.newID(); err != nil {
			return err
		}
		r.concurrentTo, r.x = first, x
		if x.Converted != "" && first != "" { // section 5.7 does not permit WARC-Concurrent-To for conversions
			r.concurrentTo = ""
			r.fields = append(r.fields, Field{fieldRefersTo, "<" + first + ">"})
		}
		p, err := e.write(s, r)
		if err != nil {
			return fmt.Errorf("%s record: %w", r.Type, err)
		}
		if first == "" {
			first = r.id
		}
		placed = append(placed, p)
		return nil
	}
	if x.Response != nil {
		if err := add(s.response(x)); err != nil {
			return nil, err
		}
	}
	if x.File != nil {
		if err := add(x.resource(), nil); err != nil {
			return nil, err
		}
	}
	if x.Request != nil {
		if err := add(s.request(x.Request)); err != nil {
			return nil, err
		}
	}
	if x.Metadata != nil {
		text, err := appendFields(s.text[:0], x.Metadata)
		s.text = text
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		if err := add(&record{Type: Metadata, contentType: warcFields, body: text}, nil); err != nil {
			return nil, err
		}
	}
	if len(placed) == 0 {
		return nil, errNothing
	}
	return placed, nil
}

// resource returns the record of x.File: a resource or a conversion. It has no head.
func (x *Exchange) resource() *record {
	r := &record{
		Type: Resource, contentType: cmp.Or(x.File.Type, "application/octet-stream"), body: x.File.Body,
		payload: true, truncated: x.Truncated, payloadType: x.PayloadType,
	}
	if x.Converted != "" {
		r.Type = Conversion
		r.fields = append(r.fields, Field{fieldRefersTo, "<" + x.Converted + ">"})
	}
	return r
}

// request returns the record of a request.
func (s *state) request(m *HTTP) (*record, error) {
	head, err := m.appendHead(s.head[:0])
	s.head = head
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	r := &record{Type: Request, contentType: "application/http; msgtype=request", head: head, body: m.Body}
	r.payload, r.chunked = len(m.Body) > 0, m.chunked()
	return r, nil
}

// response returns the record of x.Response, which is a response or a revisit.
func (s *state) response(x *Exchange) (*record, error) {
	head, err := x.Response.appendHead(s.head[:0])
	s.head = head
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	r := &record{Type: Response, contentType: "application/http; msgtype=response", head: head, truncated: x.Truncated, digest: x.PayloadDigest}
	if x.Head {
		r.fields = append(r.fields, Field{fieldMethod, http.MethodHead})
		r.digest, r.head = "", head
		return r, nil
	}
	v := x.Revisit
	if v == nil {
		r.body, r.payload, r.chunked, r.payloadType = x.Response.Body, true, x.Response.chunked(), x.PayloadType
		return r, nil
	}
	r.Type = Revisit
	if v.PayloadDigest != "" {
		r.digest = v.PayloadDigest
	}
	r.fields = append(r.fields, Field{FieldProfile, string(v.Profile)})
	if v.ID != "" {
		r.fields = append(r.fields, Field{fieldRefersTo, "<" + v.ID + ">"})
	}
	if v.URL != "" {
		r.fields = append(r.fields, Field{FieldRefersToURI, v.URL})
	}
	if !v.Date.IsZero() {
		r.fields = append(r.fields, Field{FieldRefersToDate, v.Date.UTC().Format(dateForm)})
	}
	switch v.Profile {
	case IdenticalPayloadDigest:
		r.truncated = TruncatedLength // section 6.7.2: the body was left out
		if r.digest == "" && len(x.Response.Body) > 0 {
			r.digest = s.payloadDigest(x.Response.Body, x.Response.chunked())
		}
		if r.digest == "" {
			return nil, fmt.Errorf("a revisit with the profile %s must have a PayloadDigest (section 6.7.2): set it, or give the body", v.Profile)
		}
	case ServerNotModified:
	default:
		return nil, fmt.Errorf("revisit profile %q is not one of section 6.7: take IdenticalPayloadDigest or ServerNotModified", clip(string(v.Profile)))
	}
	return r, nil
}
