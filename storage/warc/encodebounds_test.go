package warc

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOptions(t *testing.T) {
	for level, ok := range map[int]bool{-1: false, 0: true, 1: true, 9: true, 10: false} {
		e, err := NewEncoder(Options{Level: level})
		if (err == nil) != ok {
			t.Errorf("level %d: %v", level, err)
		}
		if !ok {
			continue
		}
		if _, placed := mustExchange(t, e, nil, page("hello")); placed[0].ID == placed[1].ID {
			t.Errorf("level %d: one ID for two records", level)
		}
	}
	// Level 0 is level 1, and level 9 compresses better.
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "%d words of paragraph %d, %d\n", i%77, i, i*i%1000)
	}
	size := func(level int) int {
		file, _ := mustExchange(t, encoder(t, Options{Level: level}), nil, page(text.String()))
		return len(file)
	}
	if size(0) != size(1) || size(9) >= size(1) {
		t.Errorf("bytes at level 0, 1, 9: %d, %d, %d", size(0), size(1), size(9))
	}
}

func TestEveryFieldOfInfo(t *testing.T) {
	e := encoder(t, Options{Plain: true})
	i := Info{ID: "urn:uuid:mine", Date: day, Software: "s", Robots: "r", UserAgent: "u", From: "f", Operator: "o", Hostname: "h", IsPartOf: "i", More: []Field{{"m", "n"}, {"empty", ""}}}
	file, placed, err := e.AppendInfo([]byte("before"), &i)
	const want = "software: s\r\nformat: WARC File Format 1.1\r\nconformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n" +
		"robots: r\r\nhttp-header-user-agent: u\r\nhttp-header-from: f\r\noperator: o\r\nhostname: h\r\nisPartOf: i\r\nm: n\r\n"
	if err != nil || !bytes.HasPrefix(file, []byte("beforeWARC/1.1\r\n")) || !bytes.HasSuffix(file, []byte("\r\n\r\n"+want+"\r\n\r\n")) {
		t.Errorf("%v: %s", err, file)
	}
	if bytes.Contains(file, []byte(fieldFilename)) {
		t.Error("there is no name, and it is written")
	}
	wantPlaced := Placed{Type: Warcinfo, ID: "urn:uuid:mine", Date: day, Length: int64(len(file) - len("before")), ContentType: "application/warc-fields"}
	if diff := cmp.Diff(wantPlaced, placed); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var w bytes.Buffer
	again, err := e.WriteInfo(&w, &i)
	if err != nil || !bytes.Equal(w.Bytes(), file[len("before"):]) || cmp.Diff(placed, again) != "" {
		t.Errorf("written to a writer: %v, %+v, %q", err, again, w.Bytes())
	}
	for name, spoil := range map[string]func(*Info){
		"warcinfo record: field": func(i *Info) { i.Software = "a\n" },
		"without a date":         func(i *Info) { i.Date = time.Time{} },
		"WARC-Filename":          func(i *Info) { i.Filename = "a\n" },
		"source of random":       func(i *Info) { i.ID = "" },
	} {
		i := i
		spoil(&i)
		e := encoder(t, Options{Random: iotest.ErrReader(io.ErrNoProgress)})
		if b, _, err := e.AppendInfo([]byte("before"), &i); err == nil || !strings.Contains(err.Error(), name) || string(b) != "before" {
			t.Errorf("%s: %v, %q", name, err, b)
		}
	}
}

func TestYears(t *testing.T) {
	for year, ok := range map[int]bool{-1: false, 0: true, 1: true, 9999: true, 10000: false} {
		x := page("")
		x.Date = time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
		if year == 1 {
			x.Date = x.Date.Add(time.Hour)
		}
		if _, _, err := encoder(t, Options{}).AppendExchange(nil, x); (err == nil) != ok {
			t.Errorf("year %d: %v", year, err)
		}
	}
	// Dates are checked by their year in UTC.
	for _, c := range []struct {
		at   time.Time
		want bool
	}{
		{time.Date(10000, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600)), true},
		{time.Date(9999, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600)), false},
		{time.Date(0, 1, 1, 0, 30, 0, 0, time.FixedZone("", 3600)), false},
		{time.Date(-1, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600)), true},
	} {
		x := page("")
		x.Date = c.at
		if _, _, err := encoder(t, Options{}).AppendExchange(nil, x); (err == nil) != c.want {
			t.Errorf("%v: %v", c.at, err)
		}
	}
}

// Each header has the required fields, and lacks the optional fields without a value.
func TestFieldsOfExchanges(t *testing.T) {
	fieldsOf := func(x *Exchange) (all []Header) {
		file, _ := mustExchange(t, encoder(t, Options{}), nil, x)
		for rec := range records(t, file) {
			all = append(all, rec.Header)
		}
		return all
	}
	x := &Exchange{URL: "http://a.example/", Date: day, Request: &HTTP{StartLine: "POST / HTTP/1.1", Body: []byte("hello")}, Metadata: []Field{}}
	all := fieldsOf(x)
	if len(all) != 2 {
		t.Fatalf("%d records", len(all))
	}
	for name, want := range map[string][2]string{
		fieldType: {"request", "metadata"}, FieldIPAddress: {}, fieldWarcinfoID: {}, fieldProtocol: {}, fieldCipherSuite: {}, FieldTruncated: {},
		FieldConcurrentTo:  {"", "<urn:uuid:00000000-0000-4000-8000-000000000001>"},
		fieldContentLength: {"24", "0"}, FieldContentType: {"application/http; msgtype=request", "application/warc-fields"},
		FieldPayloadDigest: {"sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", ""},
		fieldBlockDigest:   {"sha1:HLZRBGCNAJFB3M3DFPWOBDUKVMBJGRAV", "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"},
	} {
		for i, h := range all {
			if name == fieldBlockDigest && i == 0 {
				continue // Verify returns this error
			}
			if got := h.Get(name); got != want[i] {
				t.Errorf("record %d: %s is %q, want %q", i, name, got, want[i])
			}
		}
	}
	x.IP = netip.MustParseAddr("fe80::1%eth0")
	if got := fieldsOf(x)[0].Get(FieldIPAddress); got != "fe80::1" {
		t.Errorf("address %q", got)
	}
	// Like an answer, a request may be chunked.
	x.Request.Header, x.Request.Body = http.Header{"Transfer-Encoding": {"chunked"}}, []byte("5\r\nhello\r\n0\r\n\r\n")
	if got := fieldsOf(x)[0].Get(FieldPayloadDigest); got != "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N" {
		t.Errorf("digest %q", got)
	}
	// If a type or a digest is given, it is used.
	x = &Exchange{URL: "ftp://a.example/x", Date: day, File: &File{Type: "text/css"}}
	if got := fieldsOf(x)[0].Get(FieldContentType); got != "text/css" {
		t.Errorf("type %q", got)
	}
	x = page("hello")
	x.PayloadDigest, x.Truncated, x.PayloadType = "sha1:KNOWN", TruncatedDisconnect, "text/x"
	for _, revisit := range []*RevisitOf{nil, {Profile: IdenticalPayloadDigest}, {Profile: IdenticalPayloadDigest, PayloadDigest: "sha1:EARLIER"}, {Profile: ServerNotModified}} {
		x.Revisit = revisit
		want := []string{"sha1:KNOWN", "disconnect", "text/x"}
		if revisit != nil {
			want[2] = ""
			if revisit.Profile == IdenticalPayloadDigest {
				want[1] = "length"
			}
			if revisit.PayloadDigest != "" {
				want[0] = revisit.PayloadDigest
			}
		}
		h := fieldsOf(x)[0]
		if got := []string{h.Get(FieldPayloadDigest), h.Get(FieldTruncated), h.Get(FieldIdentifiedType)}; !slices.Equal(got, want) {
			t.Errorf("%+v: %q, want %q", revisit, got, want)
		}
		for _, name := range []string{fieldRefersTo, FieldRefersToDate, FieldRefersToURI} {
			if got := h.Get(name); got != "" {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
	// The digest of a revisit covers the body without chunks.
	x = page("5\r\nhello\r\n0\r\n\r\n")
	x.Response.Coding, x.Revisit = AsSent, &RevisitOf{Profile: IdenticalPayloadDigest}
	x.Response.Header.Set("Transfer-Encoding", "chunked")
	if got := fieldsOf(x)[0].Get(FieldPayloadDigest); got != "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N" {
		t.Errorf("digest %q", got)
	}
}

// Write writes the same as Append, and returns the same offsets.
func TestWriteAndAppendAgree(t *testing.T) {
	for _, plain := range []bool{false, true} {
		x := page(strings.Repeat("hello", 100))
		file, placed := mustExchange(t, encoder(t, Options{Plain: plain}), []byte("before"), x)
		var w bytes.Buffer
		again, err := encoder(t, Options{Plain: plain}).WriteExchange(&w, x)
		if diff := cmp.Diff(placed, again); err != nil || diff != "" || !bytes.Equal(w.Bytes(), file[len("before"):]) {
			t.Errorf("%v, %d of %d bytes (-appended +written):\n%s", err, w.Len(), len(file), diff)
		}
		at := int64(0)
		for _, p := range placed {
			rec, err := ReadAt(bytes.NewReader(w.Bytes()), p.Offset)
			if err != nil {
				t.Fatal(err)
			}
			got, err := rec.Placed()
			p.Date = p.Date.UTC().Truncate(time.Microsecond)
			if diff := cmp.Diff(p, got); err != nil || diff != "" || p.Offset != at {
				t.Errorf("at %d, want %d: %v (-said +read):\n%s", p.Offset, at, err, diff)
			}
			at += p.Length
		}
	}
}

// An error in a part of an exchange names the part and the URL.
func TestErrorsNameTheirPart(t *testing.T) {
	random := func(n int) io.Reader {
		return io.MultiReader(bytes.NewReader(make([]byte, 16*n)), iotest.ErrReader(io.ErrNoProgress))
	}
	for name, c := range map[string]struct {
		spoil  func(*Exchange)
		random io.Reader
	}{
		"request: start line":               {func(x *Exchange) { x.Request.StartLine = "a\n" }, random(9)},
		"response: start line":              {func(x *Exchange) { x.Response.StartLine = "a\n" }, random(9)},
		"metadata: field":                   {func(x *Exchange) { x.Metadata = []Field{{"a", "\n"}} }, random(9)},
		"response record: field WARC-Cip":   {func(x *Exchange) { x.Cipher = "\n" }, random(9)},
		"request record: field WARC-Cip":    {func(x *Exchange) { x.Cipher, x.Response = "\n", nil }, random(9)},
		"metadata record: field WARC-Warci": {func(x *Exchange) { x.InfoID, x.Response, x.Request = "\n", nil, nil }, random(9)},
		"resource record: field WARC-Tru":   {func(x *Exchange) { x.Truncated, x.Response, x.File = "\n", nil, &File{} }, random(9)},
		"field WARC-Refers-To-Target-URI":   {func(x *Exchange) { x.Revisit = &RevisitOf{Profile: ServerNotModified, URL: "\n"} }, random(9)},
		"random bytes fails":                {func(*Exchange) {}, random(0)},
		"random bytes fails:":               {func(*Exchange) {}, random(1)},
		"the source of random bytes fails:": {func(*Exchange) {}, random(2)},
	} {
		x := page("hello")
		c.spoil(x)
		b, placed, err := encoder(t, Options{Random: c.random}).AppendExchange([]byte("before"), x)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `WARC records of "http://a.example/x?y"`) || string(b) != "before" || placed != nil {
			t.Errorf("%s: %q, %v, %v", name, b, placed, err)
		}
	}
	for _, url := range []string{"http://a.example/\x1f", "http://a.example/ ", "\t"} {
		x := page("hello")
		x.URL = url
		if _, _, err := encoder(t, Options{}).AppendExchange(nil, x); err == nil || !strings.Contains(err.Error(), "white space") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
