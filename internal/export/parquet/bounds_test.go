package parquet_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/internal/sample"
	"github.com/permesso-crawler/permesso/internal/export/parquet"
)

// rowsOf yields n rows in order.
func rowsOf(n int) func(func(*export.Row, error) bool) {
	return func(yield func(*export.Row, error) bool) {
		for i := range n {
			if !yield(&export.Row{SURT: fmt.Sprintf("s%06d", i), URL: "http://a.example/", Time: sample.Start}, nil) {
				return
			}
		}
	}
}

func written(t *testing.T, rows func(func(*export.Row, error) bool), o parquet.Options) (*pq.File, []byte) {
	t.Helper()
	var b bytes.Buffer
	if _, err := parquet.Write(&b, rows, o); err != nil {
		t.Fatal(err)
	}
	f, err := pq.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f, b.Bytes()
}

// Rows are written in batches. Each row is in the file once, for numbers of rows around the
// size of a batch.
func TestEachRowIsInTheFileOnce(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 600} {
		f, raw := written(t, rowsOf(n), parquet.Options{})
		if f.NumRows() != int64(n) {
			t.Errorf("%d rows of %d", f.NumRows(), n)
		}
		for i, row := range read(t, raw) {
			if want := fmt.Sprintf("s%06d", i); row["url_surtkey"] != want {
				t.Errorf("row %d is %v", i, row["url_surtkey"])
			}
		}
		if got, err := parquet.Check(bytes.NewReader(raw), int64(len(raw))); got != int64(n) || err != nil {
			t.Errorf("check reads %d rows of %d, %v", got, n, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		rows, group int
		want        string
	}{{7, 3, "[3 3 1]"}, {7, 1, "[1 1 1 1 1 1 1]"}, {7, 0, "[7]"}, {7, -1, "[7]"}, {32769, 0, "[32768 1]"}} {
		f, _ := written(t, rowsOf(c.rows), parquet.Options{GroupRows: c.group})
		var sizes []int64
		for _, g := range f.RowGroups() {
			sizes = append(sizes, g.NumRows())
		}
		if fmt.Sprint(sizes) != c.want {
			t.Errorf("%d rows in groups of %d: %v, want %s", c.rows, c.group, sizes, c.want)
		}
	}
	for version, want := range map[string]string{"": "permesso version unknown", "1.2": "permesso version 1.2"} {
		f, _ := written(t, rowsOf(1), parquet.Options{Version: version})
		if got := f.Metadata().CreatedBy; !strings.HasPrefix(got, want) {
			t.Errorf("version %q: created by %q", version, got)
		}
		order := f.Metadata().RowGroups[0].SortingColumns
		if len(order) != 2 || order[0].ColumnIdx != 0 || order[1].ColumnIdx != 1 || order[0].Descending {
			t.Errorf("sorted by %+v", order)
		}
	}
	// Only rows with a WARC file have a segment.
	for file, want := range map[string]any{"": nil, "a.warc.gz": "s"} {
		_, raw := written(t, func(yield func(*export.Row, error) bool) {
			yield(&export.Row{SURT: "s", URL: "u:", WARCFile: file, Time: sample.Start}, nil)
		}, parquet.Options{Segment: "s"})
		if got := read(t, raw)[0]["warc_segment"]; got != want {
			t.Errorf("in %q: segment %v, want %v", file, got, want)
		}
	}
}

func TestValuesAtTheirBounds(t *testing.T) {
	const most = 1<<31 - 1
	over := int64(most) + 1
	for _, c := range []struct {
		row    export.Row
		column string
		want   any // expected value; nil: Write fails with an error that contains bad
		bad    string
	}{
		{export.Row{Status: 0}, "fetch_status", int32(0), ""},
		{export.Row{Status: 32767}, "fetch_status", int32(32767), ""},
		{export.Row{Status: 32768}, "", nil, "status 32768 is not an HTTP status"},
		{export.Row{Status: -1}, "", nil, "status -1 is not an HTTP status"},
		{export.Row{Links: new(most)}, "links", int32(most), ""},
		{export.Row{Links: new(int(over))}, "", nil, "links is "},
		{export.Row{Links: new(-1)}, "", nil, "links is -1"},
		{export.Row{Depth: new(0)}, "depth", int32(0), ""},
		{export.Row{Depth: new(int(over))}, "", nil, "depth is "},
		{export.Row{WARCFile: "f", WARCOffset: new(int64(most))}, "warc_record_offset", int32(most), ""},
		{export.Row{WARCFile: "f", WARCOffset: &over}, "", nil, "the offset in f is 2147483648, and the column holds at most 2147483647"},
		{export.Row{WARCFile: "f", WARCLength: new(int64(most))}, "warc_record_length", int32(most), ""},
		{export.Row{WARCFile: "f", WARCLength: new(int64(-1))}, "", nil, "the length in f is -1"},
		{export.Row{WARCID: "urn:uuid:00112233-4455-4677-8899-aabbccddeeff"}, "warc_record_id", "00112233445546778899aabbccddeeff", ""},
		{export.Row{WARCID: "urn:uuid:00112233-4455-4677-8899-aabbccddeeff00"}, "warc_record_id", nil, ""},
		{export.Row{WARCID: "urn:uuid:00112233-4455-4677-8899-aabbccddee"}, "warc_record_id", nil, ""},
		{export.Row{WARCID: "urn:uuid:0011223x-4455-4677-8899-aabbccddeeff"}, "warc_record_id", nil, ""},
		{export.Row{WARCID: "00112233-4455-4677-8899-aabbccddeeff"}, "warc_record_id", nil, ""},
		{export.Row{Type: "a/b"}, "content_mime_type", "a/b", ""},
		{export.Row{Type: "a/b", SentType: "A/c"}, "content_mime_type", "A/c", ""},
		{export.Row{Title: "a\xffb"}, "title", "a\uFFFDb", ""},
		{export.Row{PayloadDigest: "sha256:x"}, "content_digest", "sha256:x", ""},
		{export.Row{SURT: "a\xff"}, "url_surtkey", "a\uFFFD", ""},
		{export.Row{URL: "x:a\xff"}, "url_path", "a\uFFFD", ""},
		{export.Row{URL: "no-url"}, "url_protocol", "", ""},
		{export.Row{URL: "http://a.example.:81/"}, "url_host_name_reversed", "example.a", ""},
		{export.Row{URL: "http://a.example:65535/"}, "url_port", int32(65535), ""},
		{export.Row{URL: "http://[::1]/"}, "url_port", nil, ""},
		{export.Row{URL: "http://f.e.d.c.b.example/"}, "url_host_5th_last_part", "e", ""},
		{export.Row{URL: "http://d.c.b.example/"}, "url_host_4th_last_part", "d", ""},
		{export.Row{URL: "http://d.c.b.example/"}, "url_host_5th_last_part", nil, ""},
		{export.Row{URL: "http://com/"}, "url_host_registry_suffix", "com", ""},
		{export.Row{URL: "http://com/"}, "url_host_registered_domain", nil, ""},
		{export.Row{URL: "http://a.b.com/"}, "url_host_registered_domain", "b.com", ""},
		{export.Row{URL: "http://x.unlisted/"}, "url_host_registry_suffix", nil, ""},
		{export.Row{URL: "http://x.unlisted/"}, "url_host_private_suffix", nil, ""},
		{export.Row{URL: "http://a.s3.dualstack.eu-west-1.amazonaws.com/"}, "url_host_registry_suffix", "com", ""},
		{export.Row{URL: "http://a.s3.dualstack.eu-west-1.amazonaws.com/"}, "url_host_private_suffix", "s3.dualstack.eu-west-1.amazonaws.com", ""},
	} {
		if c.row.SURT == "" {
			c.row.SURT = "s"
		}
		if c.row.URL == "" {
			c.row.URL = "http://a.example/"
		}
		c.row.Time = sample.Start
		var b bytes.Buffer
		n, err := parquet.Write(&b, func(yield func(*export.Row, error) bool) { yield(&c.row, nil) }, parquet.Options{})
		if c.bad != "" {
			if n != 0 || err == nil || !strings.HasPrefix(err.Error(), "parquet: "+c.row.URL+": "+c.bad) {
				t.Errorf("%+v: %v, want %q", c.row, err, c.bad)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c.row, err)
			continue
		}
		if got := read(t, b.Bytes())[0][c.column]; got != c.want {
			t.Errorf("%s of %s: %v, want %v", c.column, c.row.URL, got, c.want)
		}
	}
}

var errFull = errors.New("disk full")

// A little is a writer that accepts left bytes, and then fails.
type little struct{ left int }

func (l *little) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	if l.left -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}

// If the disk is full, after any number of bytes, Write fails. It also fails with the error of
// a row.
func TestADiskThatIsFull(t *testing.T) {
	_, raw := written(t, rowsOf(600), parquet.Options{GroupRows: 100})
	for left := 0; left < len(raw); left += 1 + len(raw)/50 {
		n, err := parquet.Write(&little{left}, rowsOf(600), parquet.Options{GroupRows: 100})
		if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "parquet: ") || n > 600 {
			t.Errorf("room for %d of %d bytes: %d rows, %v", left, len(raw), n, err)
		}
	}
	// A batch of long rows is larger than the buffer.
	random := rand.NewChaCha8([32]byte{1})
	long := func(yield func(*export.Row, error) bool) {
		for r := range rowsOf(600) {
			title := make([]byte, 2000)
			random.Read(title)
			r.Title = hex.EncodeToString(title)
			if !yield(r, nil) {
				return
			}
		}
	}
	if n, err := parquet.Write(&little{}, long, parquet.Options{GroupRows: 100}); !errors.Is(err, errFull) || n != 255 {
		t.Errorf("no room: %d rows, %v", n, err)
	}
	stop := errors.New("stop")
	n, err := parquet.Write(io.Discard, func(yield func(*export.Row, error) bool) {
		rowsOf(3)(yield)
		yield(nil, stop)
	}, parquet.Options{})
	if n != 3 || err != stop {
		t.Errorf("%d rows, %v", n, err)
	}
}

// The errors of Check have the number of the row.
func TestCheckSaysWhichRow(t *testing.T) {
	type key struct{ surt, url string }
	for _, c := range []struct {
		rows []key
		n    int64
		bad  string
	}{
		{[]key{{"a", "x"}, {"a", "x"}, {"a", "y"}, {"b", "a"}}, 4, ""},
		{[]key{{"a", "x"}, {"", "x"}}, 1, "parquet: row 2 has no SURT or no URL"},
		{[]key{{"a", ""}}, 0, "parquet: row 1 has no SURT or no URL"},
		{[]key{{"b", "x"}, {"a", "y"}}, 1, "parquet: row 2, y, sorts before the one above it"},
		{[]key{{"a", "y"}, {"a", "x"}}, 1, "parquet: row 2, x, sorts before the one above it"},
	} {
		_, raw := written(t, func(yield func(*export.Row, error) bool) {
			for _, k := range c.rows {
				if !yield(&export.Row{SURT: k.surt, URL: k.url, Time: sample.Start}, nil) {
					return
				}
			}
		}, parquet.Options{})
		n, err := parquet.Check(bytes.NewReader(raw), int64(len(raw)))
		if n != c.n || (err == nil) != (c.bad == "") || err != nil && err.Error() != c.bad {
			t.Errorf("%v: %d rows, %v, want %d and %q", c.rows, n, err, c.n, c.bad)
		}
	}
	if n, err := parquet.Check(bytes.NewReader([]byte("x")), 1); n != 0 || err == nil || !strings.HasPrefix(err.Error(), "parquet: ") {
		t.Errorf("no file: %d rows, %v", n, err)
	}
}

// The footer of a file has the number of rows. Check fails if the file has fewer or more.
func TestCheckCountsTheRows(t *testing.T) {
	_, raw := written(t, rowsOf(600), parquet.Options{GroupRows: 100})
	for said, bad := range map[int64]string{
		599: "parquet: 600 rows, but the file says 599", 600: "", 601: "parquet: 600 rows, but the file says 601",
	} {
		// The last eight bytes are the length of the footer and "PAR1".
		size := int(binary.LittleEndian.Uint32(raw[len(raw)-8:]))
		from := len(raw) - 8 - size
		var footer format.FileMetaData
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), raw[from:from+size], &footer); err != nil {
			t.Fatal(err)
		}
		footer.NumRows = said
		changed, err := thrift.Marshal(new(thrift.CompactProtocol), &footer)
		if err != nil {
			t.Fatal(err)
		}
		file := append(bytes.Clone(raw[:from]), changed...)
		file = append(binary.LittleEndian.AppendUint32(file, uint32(len(changed))), "PAR1"...)
		n, err := parquet.Check(bytes.NewReader(file), int64(len(file)))
		if n != 600 || (err == nil) != (bad == "") || err != nil && err.Error() != bad {
			t.Errorf("%d rows are said to be there: %d, %v, want %q", said, n, err, bad)
		}
	}
}

// A failing is a file that fails after a number of reads.
type failing struct {
	io.ReaderAt
	left int
	fail func() error
}

func (f *failing) ReadAt(p []byte, at int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, f.fail()
	}
	return f.ReaderAt.ReadAt(p, at)
}

// Reading fails at any point, even with a panic. The error of Check has the number of the row
// that was not read.
func TestCheckSaysHowFarItCame(t *testing.T) {
	_, raw := written(t, rowsOf(300), parquet.Options{GroupRows: 280})
	broken := errors.New("broken")
	for what, fail := range map[string]func() error{
		"panic": func() error { panic(broken) },
		"error": func() error { return broken },
	} {
		far := int64(0)
		for reads := 0; ; reads++ {
			n, err := parquet.Check(&failing{bytes.NewReader(raw), reads, fail}, int64(len(raw)))
			if err == nil {
				break
			}
			row := fmt.Sprintf("parquet: row %d: ", n+1)
			if !strings.Contains(err.Error(), "broken") || !strings.HasPrefix(err.Error(), row) && (n > 0 || what == "panic") {
				t.Errorf("%s at read %d: %d rows, %v", what, reads, n, err)
			}
			far = max(far, n)
		}
		if far == 0 {
			t.Errorf("%s: none after the first row", what)
		}
	}
}
