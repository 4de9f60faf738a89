// Package parquet writes the table of package export as Parquet, with the names and types of
// Common Crawl's columnar index (https://github.com/commoncrawl/cc-index-table), so that
// queries written for that index work on any crawl. It is a separate package because its
// dependencies are large.
package parquet

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/net/publicsuffix"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/export"
)

// A record is one row of the file. The columns up to warc_segment are those of Common Crawl, in
// their order. Some columns that Common Crawl always has are optional here, because a crawl may
// have no archive. The columns after warc_segment are this program's own.
type record struct {
	SURT             string  `parquet:"url_surtkey"`
	URL              string  `parquet:"url"`
	Host             string  `parquet:"url_host_name"`
	TLD              *string `parquet:"url_host_tld,dict"`
	Part2            *string `parquet:"url_host_2nd_last_part"`
	Part3            *string `parquet:"url_host_3rd_last_part"`
	Part4            *string `parquet:"url_host_4th_last_part"`
	Part5            *string `parquet:"url_host_5th_last_part"`
	RegistrySuffix   *string `parquet:"url_host_registry_suffix,dict"`
	RegisteredDomain *string `parquet:"url_host_registered_domain"`
	PrivateSuffix    *string `parquet:"url_host_private_suffix,dict"`
	PrivateDomain    *string `parquet:"url_host_private_domain"`
	ReversedHost     *string `parquet:"url_host_name_reversed"`
	Protocol         string  `parquet:"url_protocol,dict"`
	Port             *int32  `parquet:"url_port"`
	Path             string  `parquet:"url_path"`
	Query            *string `parquet:"url_query"`

	Time     time.Time `parquet:"fetch_time,timestamp(millisecond)"`
	Status   int16     `parquet:"fetch_status"`
	Redirect *string   `parquet:"fetch_redirect"`

	PayloadDigest *string `parquet:"content_digest"`
	Type          *string `parquet:"content_mime_type,dict"`
	DetectedType  *string `parquet:"content_mime_detected,dict"`
	Charset       *string `parquet:"content_charset,dict"`
	Languages     *string `parquet:"content_languages,dict"`
	Truncated     *string `parquet:"content_truncated,dict"`

	WARCID     []byte  `parquet:"warc_record_id,optional"`
	WARCFile   *string `parquet:"warc_filename,dict"`
	WARCOffset *int32  `parquet:"warc_record_offset"`
	WARCLength *int32  `parquet:"warc_record_length"`
	Segment    *string `parquet:"warc_segment,dict"`

	Fate      *string    `parquet:"fate,dict"`
	Size      *int64     `parquet:"content_size"`
	Digest    *string    `parquet:"body_digest"`
	Title     *string    `parquet:"title"`
	Links     *int32     `parquet:"links"`
	Depth     *int32     `parquet:"depth"`
	Hops      *string    `parquet:"hops,dict"`
	Via       *string    `parquet:"via"`
	Tag       *string    `parquet:"tag,dict"`
	Robots    *time.Time `parquet:"robots_fetched,timestamp(millisecond)"`
	Rule      *string    `parquet:"robots_rule,dict"`
	NoIndex   *bool      `parquet:"noindex"`
	NoArchive *bool      `parquet:"noarchive"`
	IP        *string    `parquet:"fetch_ip"`
	WARCType  *string    `parquet:"warc_record_type,dict"`

	UseSearch  *bool   `parquet:"use_search"`
	UseAITrain *bool   `parquet:"use_ai_train"`
	UseAIInput *bool   `parquet:"use_ai_input"`
	UseTDM     *bool   `parquet:"use_tdm"`
	UseArchive *bool   `parquet:"use_archive"`
	Usage      *string `parquet:"usage,dict"`
	License    *string `parquet:"license,dict"`
	TDMPolicy  *string `parquet:"tdm_policy,dict"`
	Refused    *string `parquet:"use_refused,dict"`

	Canonical *string `parquet:"canonical"`
	OpenGraph *string `parquet:"og_url"`
	Method    *string `parquet:"fetch_method,dict"`

	Change     *string `parquet:"change,dict"`
	TextDigest *string `parquet:"text_digest"`
}

// A seriesRecord is one row in the file of a series.
type seriesRecord struct {
	Snapshot time.Time `parquet:"snapshot,timestamp(millisecond)"`
	record
}

// Options are the settings of Write. The zero value is ready for use.
type Options struct {
	// Segment is the value of warc_segment in each archived row; null if it is empty.
	Segment string
	// GroupRows is the number of rows in a row group. The rows of a group are held in memory
	// until the group is written. 0 means DefaultGroupRows.
	GroupRows int
	// Version is the version of the program, which is written as created_by.
	Version string
	// Snapshots adds the column snapshot before all others. Its value is the time at which the
	// run of the row's crawl began.
	Snapshots bool
}

// DefaultGroupRows is the default number of rows in a row group. A group takes tens of
// megabytes of memory.
const DefaultGroupRows = 32 << 10

// Write writes a file, compressed with Snappy, and returns the number of rows. The rows must
// have the order of Source.Rows or, if Options.Snapshots is set, that of Series.Rows, because
// the file declares this order.
//
// Write fails if a record begins beyond 2 GiB in its WARC file, because Common Crawl's column
// for the offset has 32-bit integers. The error names the record.
func Write(w io.Writer, rows iter.Seq2[*export.Row, error], o Options) (n int64, err error) {
	if o.GroupRows <= 0 {
		o.GroupRows = DefaultGroupRows
	}
	if o.Version == "" {
		o.Version = "unknown"
	}
	order := []parquet.SortingColumn{parquet.Ascending("url_surtkey"), parquet.Ascending("url")}
	if o.Snapshots {
		order = append([]parquet.SortingColumn{parquet.Ascending(export.SnapshotColumn)}, order...)
		return write(w, rows, o, order, func(r *export.Row, rec *record) seriesRecord { return seriesRecord{r.Snapshot, *rec} })
	}
	return write(w, rows, o, order, func(_ *export.Row, rec *record) record { return *rec })
}

// write writes rows of the type T. of makes such a row from a row of package export.
func write[T any](w io.Writer, rows iter.Seq2[*export.Row, error], o Options, order []parquet.SortingColumn, of func(*export.Row, *record) T) (n int64, err error) {
	out := parquet.NewGenericWriter[T](w,
		parquet.Compression(&parquet.Snappy),
		parquet.MaxRowsPerRowGroup(int64(o.GroupRows)),
		parquet.CreatedBy("permesso", o.Version, "none"),
		parquet.SortingWriterConfig(parquet.SortingColumns(order...)),
	)
	batch := make([]T, 0, 256)
	flush := func() error {
		_, err := out.Write(batch)
		batch = batch[:0]
		return err
	}
	for r, err := range rows {
		if err != nil {
			return n, err
		}
		rec, err := newRecord(r, o.Segment)
		if err != nil {
			return n, fmt.Errorf("parquet: %s: %w", r.URL, err)
		}
		if batch = append(batch, of(r, rec)); len(batch) == cap(batch) {
			if err := flush(); err != nil {
				return n, fmt.Errorf("parquet: %w", err)
			}
		}
		n++
	}
	if err := errors.Join(flush(), out.Close()); err != nil {
		return n, fmt.Errorf("parquet: %w", err)
	}
	return n, nil
}

func newRecord(r *export.Row, segment string) (*record, error) {
	rec := &record{
		SURT: text(r.SURT), URL: text(r.URL), Host: r.Host,
		Time: r.Time, Status: int16(r.Status), Redirect: optional(r.Location),
		Type: optional(r.SentType), DetectedType: optional(r.DetectedType), Charset: optional(r.Charset), Truncated: optional(r.Truncated),
		WARCFile: optional(r.WARCFile),
		Fate:     optional(string(r.Fate)), Size: r.Size, Digest: optional(r.Digest), Title: optional(r.Title),
		Hops: optional(r.Hops), Via: optional(r.Via), Tag: optional(r.Tag),
		Rule: optional(r.Rule), NoIndex: r.NoIndex, NoArchive: r.NoArchive, WARCType: optional(r.WARCType),
		PayloadDigest: optional(strings.TrimPrefix(r.PayloadDigest, "sha1:")),
		WARCID:        recordID(r.WARCID),
		UseSearch:     r.UseSearch, UseAITrain: r.UseAITrain, UseAIInput: r.UseAIInput, UseTDM: r.UseTDM, UseArchive: r.UseArchive,
		Usage: optional(r.Usage), License: optional(r.License), TDMPolicy: optional(r.TDMPolicy), Refused: optional(r.Refused),
		Canonical: optional(r.Canonical), OpenGraph: optional(r.OpenGraph),
		Method: optional(r.Method), Change: optional(r.Change), TextDigest: optional(r.TextDigest),
	}
	if rec.Type == nil {
		rec.Type = optional(r.Type)
	}
	if r.IP.IsValid() {
		rec.IP = new(r.IP.String())
	}
	if !r.Robots.IsZero() {
		rec.Robots = &r.Robots
	}
	if r.WARCFile != "" {
		rec.Segment = optional(segment)
	}
	if r.Status < 0 || r.Status > math.MaxInt16 {
		return nil, fmt.Errorf("status %d is not an HTTP status", r.Status)
	}
	for _, n := range []struct {
		to   **int32
		from *int64
		what string
	}{
		{&rec.Links, wide(r.Links), "links"}, {&rec.Depth, wide(r.Depth), "depth"},
		{&rec.WARCOffset, r.WARCOffset, "the offset in " + r.WARCFile}, {&rec.WARCLength, r.WARCLength, "the length in " + r.WARCFile},
	} {
		if n.from == nil {
			continue
		}
		if *n.from < 0 || *n.from > math.MaxInt32 {
			return nil, fmt.Errorf("%s is %d, and the column holds at most %d: export csv or jsonl, or write smaller WARC files", n.what, *n.from, math.MaxInt32)
		}
		*n.to = new(int32(*n.from))
	}
	if u, err := frontier.ParseURL(r.URL); err == nil {
		rec.setURL(u)
	} else if scheme, rest, ok := strings.Cut(r.URL, ":"); ok {
		rec.Protocol, rec.Path = text(scheme), text(rest)
	}
	return rec, nil
}

func (rec *record) setURL(u frontier.URL) {
	rec.Protocol = u.Scheme()
	path, query, hasQuery := strings.Cut(u.Target(), "?")
	rec.Path = path
	if hasQuery {
		rec.Query = &query
	}
	authority := u.Site().Authority()
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		if port, err := strconv.ParseUint(authority[i+1:], 10, 16); err == nil {
			rec.Port = new(int32(port))
		}
	}
	host := strings.TrimSuffix(u.Host(), ".")
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return
	}
	labels := strings.Split(host, ".")
	slices.Reverse(labels)
	rec.ReversedHost = new(strings.Join(labels, "."))
	for i, part := range []**string{&rec.TLD, &rec.Part2, &rec.Part3, &rec.Part4, &rec.Part5} {
		if i < len(labels) {
			*part = &labels[i]
		}
	}
	registry, private := suffixes(host)
	rec.RegistrySuffix, rec.RegisteredDomain = optional(registry), below(host, registry)
	rec.PrivateSuffix, rec.PrivateDomain = optional(private), below(host, private)
}

// suffixes returns two public suffixes of a host name: registry without, and private with the
// private section of the Public Suffix List. They are "" if the list has no rule for the name.
func suffixes(host string) (registry, private string) {
	suffix, icann := publicsuffix.PublicSuffix(host)
	if !icann && !strings.Contains(suffix, ".") {
		return "", "" // only the default rule * matches, so the list does not have the name
	}
	private = suffix
	for !icann {
		_, parent, ok := strings.Cut(suffix, ".")
		if !ok {
			return "", private
		}
		suffix, icann = publicsuffix.PublicSuffix(parent)
	}
	return suffix, private
}

// below returns the part of host that has one label more than suffix, or nil if host has no
// such part.
func below(host, suffix string) *string {
	rest, ok := strings.CutSuffix(host, "."+suffix)
	if suffix == "" || !ok {
		return nil
	}
	return new(rest[strings.LastIndexByte(rest, '.')+1:] + "." + suffix)
}

// recordID returns the 16 bytes of the UUID in a WARC-Record-ID, or nil if there is no UUID.
func recordID(id string) []byte {
	digits, ok := strings.CutPrefix(id, "urn:uuid:")
	b, err := hex.DecodeString(strings.ReplaceAll(digits, "-", ""))
	if !ok || err != nil || len(b) != 16 {
		return nil
	}
	return b
}

func wide(n *int) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// text makes s valid UTF-8, which the type STRING requires.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// optional returns nil, the null of Parquet, if s is empty.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return new(text(s))
}

// Check reads a whole file of size bytes that Write has written, and returns the number of
// rows. The error names the first row that is not in order.
func Check(r io.ReaderAt, size int64) (n int64, err error) {
	// Recover from panics, because the Parquet library panics on some damaged files.
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("parquet: row %d: %v", n+1, v)
		}
	}()
	f, err := parquet.OpenFile(r, size)
	if err != nil {
		return 0, fmt.Errorf("parquet: %w", err)
	}
	if columns := f.Schema().Columns(); len(columns) > 0 && columns[0][0] == export.SnapshotColumn {
		err = check(f, &n, func(rec *seriesRecord) place { return place{rec.Snapshot, rec.SURT, rec.URL} })
	} else {
		err = check(f, &n, func(rec *record) place { return place{surt: rec.SURT, url: rec.URL} })
	}
	return n, err
}

// A place is the sort key of a row, by which Check compares rows.
type place struct {
	snapshot  time.Time
	surt, url string
}

func (p place) before(o place) bool {
	return cmp.Or(p.snapshot.Compare(o.snapshot), cmp.Compare(p.surt, o.surt), cmp.Compare(p.url, o.url)) < 0
}

// check reads all rows of a file, and checks their order. It counts the rows in n.
func check[T any](f *parquet.File, n *int64, of func(*T) place) error {
	in := parquet.NewGenericReader[T](f)
	defer in.Close()
	batch := make([]T, 256)
	var last place
	for {
		clear(batch)
		k, err := in.Read(batch)
		for i := range batch[:k] {
			at := of(&batch[i])
			if at.surt == "" || at.url == "" {
				return fmt.Errorf("parquet: row %d has no SURT or no URL", *n+1)
			}
			if at.before(last) {
				return fmt.Errorf("parquet: row %d, %s, sorts before the one above it", *n+1, at.url)
			}
			last = at
			*n++
		}
		switch {
		case err == io.EOF && *n == f.NumRows():
			return nil
		case err == io.EOF:
			return fmt.Errorf("parquet: %d rows, but the file says %d", *n, f.NumRows())
		case err != nil:
			return fmt.Errorf("parquet: row %d: %w", *n+1, err)
		}
	}
}
