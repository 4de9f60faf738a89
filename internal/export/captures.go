package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/internal/warcscan"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A reader says what read does with the records of WARC files. B is a batch: what work has made
// of some records that follow each other.
type reader[B any] struct {
	work  func(batch B, rec *warc.Record, name string) error // adds a record to a batch; called by several goroutines; name is the name of the WARC file
	use   func(batch B) error
	alone func(rec *warc.Record, name string) error // like warcscan.Scan.Alone: called for each record in order, by one goroutine
	new   func() B
	size  func(batch B) int
	// damaged is called for each record that cannot be read.
	damaged func(*Damage) error
	serial  bool // call only alone, and not work
}

// read reads the records of all WARC files, in their order. If a record cannot be read, or r
// returns a *warc.Error for it, read calls r.damaged, and continues with the next record unless
// damaged returns an error.
func read[B any](ctx context.Context, s *Source, r *reader[B]) error {
	for _, path := range s.WARCs {
		if err := readFile(ctx, s, path, r); err != nil {
			return err
		}
	}
	return nil
}

func readFile[B any](ctx context.Context, s *Source, path string, r *reader[B]) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	name := warcName(path)
	closed := func(rec *warc.Record, err error) error {
		if err == nil {
			_, err = rec.Close()
		}
		return err
	}
	scan := warcscan.Scan[B]{
		New:  r.new,
		Work: func(batch B, rec *warc.Record) error { return closed(rec, r.work(batch, rec, name)) },
		Size: r.size,
		Use: func(batch B) error {
			if err := r.use(batch); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		},
		Bad: func(in *warc.Reader, err error) error {
			var bad *warc.Error
			if !errors.As(err, &bad) {
				return fmt.Errorf("%s: %w", path, err)
			}
			if strings.HasSuffix(path, openSuffix) && errors.Is(err, warc.ErrCut) {
				err = fmt.Errorf("the last record is not whole, as in a crawl that still runs or was killed (crawl run on it mends that): %w", bad.Err)
			} else {
				err = bad.Err
			}
			if err := r.damaged(&Damage{File: path, Offset: bad.Offset, Err: err}); err != nil {
				return err
			}
			if _, err := in.Skip(); err != nil && err != io.EOF {
				return fmt.Errorf("%s: %w", path, err)
			}
			return nil
		},
		Read:    func(n int64) { s.read.Add(n) },
		Workers: s.split.Workers, Segment: int64(s.split.Block),
	}
	if r.serial {
		scan.Workers = 1
	}
	if r.alone != nil {
		scan.Alone = func(rec *warc.Record) error { return closed(rec, r.alone(rec, name)) }
	}
	return scan.File(ctx, file, info.Size())
}

// records calls f for each record of all WARC files, one after the other.
func (s *Source) records(ctx context.Context, f func(rec *warc.Record, name string) error, damaged func(*Damage) error) error {
	return read(ctx, s, &reader[struct{}]{alone: f, serial: true, damaged: damaged})
}

// captures calls f for each archived answer in the WARC files, with its sort key and its
// encoded row.
func (s *Source) captures(ctx context.Context, f func(key, row []byte) error) error {
	// A metadata record comes after the answer that it describes, so the row of the answer is
	// kept until then.
	var last described
	flush := func() error {
		if last.row == nil {
			return nil
		}
		var e encodedRows
		if err := e.add(last.row); err != nil {
			return err
		}
		return e.each(f)
	}
	err := read(ctx, s, &reader[*captured]{
		new:  func() *captured { return capturedPool.Get().(*captured) },
		work: (*captured).record,
		size: func(c *captured) int { return len(c.rows.buf) + c.unread },
		use: func(c *captured) error {
			defer c.free()
			for _, m := range c.before {
				if last.isOf(m.of) {
					last.row.take(m.fields)
					last.about, last.row.Undescribed = m.offset, false
				}
			}
			if c.last.row == nil {
				return nil
			}
			if err := errors.Join(flush(), c.rows.each(f)); err != nil {
				return err
			}
			last = c.last
			return nil
		},
		alone: func(rec *warc.Record, name string) error {
			if done, err := last.describe(rec); done {
				return err
			}
			row, err := capture(rec, name)
			if err != nil || row == nil {
				return err
			}
			if err := flush(); err != nil {
				return err
			}
			last = described{row: row, about: -1}
			return nil
		},
		damaged: func(d *Damage) error {
			if last.row != nil && warcName(d.File) == last.row.WARCFile && (last.about < 0 || d.Offset == last.about) {
				last.row.Undescribed = true
			}
			return s.damaged(d)
		},
	})
	if err != nil {
		return err
	}
	return flush()
}

// A described is the row of a capture, and whether its metadata record was read.
type described struct {
	row   *Row
	about int64 // offset of the metadata record of the capture; -1 if it was not read
}

func (d *described) isOf(id string) bool { return d.row != nil && d.row.WARCID == id }

// describe adds the contents of a metadata record to the row. done is false if the record
// describes another capture.
func (d *described) describe(rec *warc.Record) (done bool, err error) {
	if rec.Type != warc.Metadata || !d.isOf(about(rec)) {
		return false, nil
	}
	fields, err := rec.Fields()
	if err == nil {
		d.row.take(fields)
	}
	d.about, d.row.Undescribed = rec.Offset, err != nil
	return true, err
}

// about returns the ID of the record that a metadata record describes.
func about(rec *warc.Record) string {
	return strings.Trim(rec.Header.Get(warc.FieldConcurrentTo), "<>")
}

// A captured has the results of reading some records that follow each other.
type captured struct {
	before []metadata  // metadata records at the beginning, which may describe the last capture of the records before
	rows   encodedRows // rows of all captures except the last
	last   described   // the last capture, whose metadata record may still follow
	unread int         // memory that before needs, in bytes
}

var capturedPool = sync.Pool{New: func() any { return new(captured) }}

// free makes the memory of c available for further records.
func (c *captured) free() {
	clear(c.before)
	*c = captured{before: c.before[:0], rows: c.rows.empty()}
	capturedPool.Put(c)
}

// A metadata is a metadata record in memory.
type metadata struct {
	of     string // ID of the record that the metadata record describes
	offset int64
	fields []warc.Field
}

// record adds a record of the file with the given name.
func (c *captured) record(rec *warc.Record, name string) error {
	if done, err := c.last.describe(rec); done {
		return err
	}
	if rec.Type == warc.Metadata && c.last.row == nil {
		fields, err := rec.Fields()
		c.before = append(c.before, metadata{about(rec), rec.Offset, fields})
		c.unread += 100 + int(rec.Size)
		return err
	}
	row, err := capture(rec, name)
	if err != nil || row == nil {
		return err
	}
	if c.last.row != nil {
		if err := c.rows.add(c.last.row); err != nil {
			return err
		}
	}
	c.last = described{row: row, about: -1}
	return nil
}

// capture returns the row of a record, without reading the record's body. It returns nil if the
// record is not an archived answer.
func capture(rec *warc.Record, name string) (*Row, error) {
	switch rec.Type {
	case warc.Response, warc.Revisit:
	case warc.Resource:
		if strings.HasPrefix(rec.Header.Get(warc.FieldContentType), "application/warc-fields") {
			return nil, nil
		}
	default:
		return nil, nil
	}
	bad := func(format string, args ...any) error {
		return &warc.Error{Offset: rec.Offset, Err: fmt.Errorf(format, args...)}
	}
	row := &Row{
		URL: rec.TargetURI(), Time: rec.Date.UTC().Truncate(time.Microsecond),
		PayloadDigest: rec.Header.Get(warc.FieldPayloadDigest), Truncated: rec.Header.Get(warc.FieldTruncated),
		DetectedType: rec.Header.Get(warc.FieldIdentifiedType),
		WARCType:     string(rec.Type), WARCID: rec.ID, WARCFile: name, WARCOffset: new(rec.Offset),
	}
	if rec.Type == warc.Revisit {
		row.Truncated = "" // a revisit record is marked as truncated if its body is in another record (WARC 1.1, section 6.7.2)
	}
	if rec.Head() {
		row.Method = http.MethodHead
	}
	if row.URL == "" {
		return nil, bad("a %s record without %s is not a capture", rec.Type, warc.FieldTargetURI)
	}
	if !goodTime(row.Time) {
		return nil, bad("a %s record without a %s that could be one", rec.Type, warc.FieldDate)
	}
	if ip, err := netip.ParseAddr(rec.Header.Get(warc.FieldIPAddress)); err == nil {
		row.IP = ip
	}
	if rec.Type == warc.Resource {
		row.SentType = mediaType(rec.Header.Get(warc.FieldContentType))
	} else if resp, err := rec.Response(); err == nil { // ignore the error, because Close reports it if the file cannot be read
		row.Status, row.SentType = resp.StatusCode, mediaType(resp.Header.Get("Content-Type"))
		if row.Status/100 == 3 {
			row.Location = resp.Header.Get("Location")
		}
	}
	length, err := rec.Close()
	if err != nil {
		return nil, err
	}
	row.WARCLength = &length
	return row, nil
}

// take sets the columns that come from a metadata record: from the fields of WARC 1.1, section
// 6.6, and from fields of this crawler.
func (r *Row) take(fields []warc.Field) {
	for _, f := range fields {
		switch strings.ToLower(f.Name) {
		case "via":
			r.Via = f.Value
		case "hopsfromseed":
			r.Hops = f.Value
			r.Depth = new(strings.Count(f.Value, string(frontier.HopLink)))
		case "seedtag":
			r.Tag = f.Value
		case "robotsrule":
			r.Rule = f.Value
		case "usage":
			if u, ok := store.ParseUsage(f.Value); ok {
				r.use(u)
			}
		case "license":
			r.License = listed(r.License, " ", f.Value)
		case "tdmpolicy":
			r.TDMPolicy = listed(r.TDMPolicy, " ", f.Value)
		case "canonical":
			r.Canonical = f.Value
		case "ogurl":
			r.OpenGraph = f.Value
		case "change":
			r.Change = f.Value
		case "textdigest":
			r.TextDigest = f.Value
		case "robotsfetched":
			if t, err := time.Parse(time.RFC3339Nano, f.Value); err == nil && goodTime(t) {
				r.Robots = t.UTC().Truncate(time.Microsecond)
			}
		}
	}
	// The metadata record of a seed has no field for hops, because a seed has none.
	if r.Depth == nil && r.Via == "" && !r.Robots.IsZero() {
		r.Depth = new(0)
	}
}

// mediaType returns a media type without its parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.TrimSpace(s)
}
