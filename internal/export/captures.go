package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// records calls f for each record of all WARC files, in their order. If a record cannot be
// read, or f returns a *warc.Error, it calls damaged, and continues with the next record unless
// damaged returns an error.
func (s *Source) records(ctx context.Context, f func(rec *warc.Record, name string) error, damaged func(*Damage) error) error {
	for _, path := range s.WARCs {
		if err := s.fileRecords(ctx, path, f, damaged); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) fileRecords(ctx context.Context, path string, f func(rec *warc.Record, name string) error, damaged func(*Damage) error) error {
	file, err := s.open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := warc.NewReader(file)
	name := warcName(path)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			if err = f(rec, name); err == nil {
				_, err = rec.Close()
			}
		}
		if err == nil {
			continue
		}
		var bad *warc.Error
		if !errors.As(err, &bad) {
			return fmt.Errorf("%s: %w", path, err)
		}
		if strings.HasSuffix(path, openSuffix) && errors.Is(err, warc.ErrCut) {
			err = fmt.Errorf("the last record is not whole, as in a crawl that still runs or was killed (crawl run on it mends that): %w", bad.Err)
		} else {
			err = bad.Err
		}
		if err := damaged(&Damage{File: path, Offset: bad.Offset, Err: err}); err != nil {
			return err
		}
		if _, err := r.Skip(); err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

// captures calls f for each capture, an archived answer, in the WARC files.
func (s *Source) captures(ctx context.Context, f func(*Row) error) error {
	// A metadata record follows the answer that it is about.
	var last *Row
	about := int64(-1) // offset of the metadata record of last; -1 if none was read
	flush := func() error {
		if last == nil {
			return nil
		}
		return f(last)
	}
	err := s.records(ctx, func(rec *warc.Record, name string) error {
		if rec.Type == warc.Metadata && last != nil && strings.Trim(rec.Header.Get(warc.FieldConcurrentTo), "<>") == last.WARCID {
			err := last.describe(rec)
			about, last.Undescribed = rec.Offset, err != nil
			return err
		}
		row, err := capture(rec, name)
		if err != nil || row == nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
		last, about = row, -1
		return nil
	}, func(d *Damage) error {
		if last != nil && warcName(d.File) == last.WARCFile && (about < 0 || d.Offset == about) {
			last.Undescribed = true
		}
		return s.damaged(d)
	})
	if err != nil {
		return err
	}
	return flush()
}

// capture returns the row of a record, without reading its block. It returns nil if the record
// is not a capture.
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
	} else if resp, err := rec.Response(); err == nil { // if the file cannot be read, Close reports it
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

// describe sets the columns that come from a metadata record: from the fields of WARC 1.1,
// section 6.6, and from the fields that this crawler adds.
func (r *Row) describe(rec *warc.Record) error {
	fields, err := rec.Fields()
	if err != nil {
		return err
	}
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
			if u, ok := storage.ParseUsage(f.Value); ok {
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
	// A seed has no hops from a seed, and so its record has no field for them.
	if r.Depth == nil && r.Via == "" && !r.Robots.IsZero() {
		r.Depth = new(0)
	}
	return nil
}

// mediaType returns a media type without its parameters.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.TrimSpace(s)
}
