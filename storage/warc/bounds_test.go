package warc

import (
	"bytes"
	"errors"
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
	"github.com/klauspost/compress/gzip"
)

// recordOf is one of WARC 1.0 with a header of these lines beside what it must have.
func recordOf(block string, lines ...string) string {
	return head + strings.Join(append(lines, ""), "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
}

// answerRecord is a response record with a block, and more lines of its header.
func answerRecord(block string, lines ...string) string {
	return strings.Replace(recordOf(block, append(lines, "Content-Type: application/http; msgtype=response")...), "Type: resource", "Type: response", 1)
}

func first(t *testing.T, file string) *Record {
	t.Helper()
	rec, err := NewReader(strings.NewReader(file)).Next()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// said is an *Error for the record at offset that says text.
func said(err error, offset int64, text string) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && e.Offset == offset && strings.Contains(err.Error(), fmt.Sprintf("byte %d: ", offset)) && strings.Contains(err.Error(), text)
}

func TestLongestHeaders(t *testing.T) {
	const most = 65536
	for _, zip := range []bool{false, true} {
		for _, over := range []int{0, 1} {
			empty := len(recordOf("hi", "X: ")) - len("hi\r\n\r\n")
			file := recordOf("hi", "X: "+strings.Repeat("y", most-empty+over))
			if zip {
				file = zipped(file)
			}
			rec, err := NewReader(strings.NewReader(file)).Next()
			if over > 0 {
				if !errors.Is(err, ErrTooLong) || !said(err, 0, "longer than 65536 bytes") {
					t.Errorf("zip %v, %d bytes over: %v", zip, over, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := rec.Header.Get("x"); got != strings.Repeat("y", most-empty) {
				t.Errorf("zip %v: a value of %d bytes", zip, len(got))
			}
			if block, err := io.ReadAll(rec); string(block) != "hi" || err != nil {
				t.Errorf("%q, %v", block, err)
			}
		}
	}
}

func TestLongestHeads(t *testing.T) {
	const most, start = 1 << 20, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX: "
	for _, over := range []int{0, 1, 100_000} {
		h := start + strings.Repeat("y", most+over-len(start)-len("\r\n\r\n")) + "\r\n\r\n"
		file := answerRecord(h + "body")
		resp, err := first(t, file).Response()
		p, placedErr := first(t, file).Placed()
		verifyErr := first(t, file).Verify()
		if placedErr != nil {
			t.Error(placedErr)
		}
		if over > 0 {
			if !said(err, 0, "longer than 1048576 bytes") || !said(verifyErr, 0, "longer than 1048576 bytes") || p.Status != 0 || p.ContentType != "" {
				t.Errorf("%d bytes over: %v, %v, %+v", over, err, verifyErr, p)
			}
			continue
		}
		if err != nil || verifyErr != nil {
			t.Fatal(err, verifyErr)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "body" || err != nil || p.Status != 200 || p.ContentType != "text/html" {
			t.Errorf("%q, %v, %+v", body, err, p)
		}
	}
	// Of one without an end the block is the bound.
	for _, over := range []int{0, 1} {
		_, err := first(t, answerRecord(start+strings.Repeat("y", most+over-len(start)))).Response()
		if over == 0 && err != nil || over == 1 && !said(err, 0, "longer than 1048576 bytes") {
			t.Errorf("without an end, %d bytes over: %v", over, err)
		}
	}
	for _, over := range []int{0, 1} {
		x := page("")
		x.Response = &HTTP{Head: []byte(start + strings.Repeat("y", most+over-len(start)-4) + "\r\n\r\n")}
		if _, placed := mustExchange(t, encoder(t, Options{}), nil, x); (placed[0].Status == 200) != (over == 0) {
			t.Errorf("%d bytes over: written as %+v", over, placed[0])
		}
	}
}

func TestFieldsOfAHeader(t *testing.T) {
	for lines, want := range map[string][]string{
		"X: a":                  {"a"},
		"X:a":                   {"a"},
		"X:  a b\t ":            {"a b"},
		"x: a\r\nX: b":          {"a", "b"},
		"X: a\r\n b":            {"a b"},
		"X: a\r\n\t b \r\n  c ": {"a b c"},
		"X:\r\n b":              {"b"},
		"X: a:b":                {"a:b"},
		"X-Y: a":                nil,
		"X:":                    {""},
	} {
		rec := first(t, recordOf("", lines))
		if got := rec.Header.Values("x"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
		get := ""
		if len(want) > 0 {
			get = want[0]
		}
		if got := rec.Header.Get("X"); got != get {
			t.Errorf("%q: Get is %q", lines, got)
		}
	}
	for line, want := range map[string]string{
		": a":   `the line ": a" is no field`,
		"a b:c": `the line "a b:c" is no field`,
		"abc":   `the line "abc" is no field`,
		"a:b\n": "ends in LF",
	} {
		_, err := NewReader(strings.NewReader(recordOf("", line))).Next()
		if !errors.Is(err, ErrHeader) || !said(err, 0, want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestMandatoryFields(t *testing.T) {
	fields := []string{"WARC-Type: resource", "WARC-Record-ID: <urn:uuid:1>", "WARC-Date: 2030-01-02T03:04:05Z", "Content-Length: 0"}
	of := func(lines ...string) string {
		return "WARC/1.1\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n\r\n\r\n"
	}
	rec := first(t, of(fields...))
	if rec.Version != "1.1" || rec.Type != Resource || rec.ID != "urn:uuid:1" || rec.Size != 0 || !rec.Date.Equal(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%+v", rec)
	}
	if n, err := rec.Close(); n != int64(len(of(fields...))) || err != nil {
		t.Error(n, err)
	}
	for i, line := range fields {
		name, _, _ := strings.Cut(line, ":")
		_, err := NewReader(strings.NewReader(of(slices.Delete(slices.Clone(fields), i, i+1)...))).Next()
		if !errors.Is(err, ErrHeader) || !said(err, 0, name+" is missing") {
			t.Errorf("without %s: %v", name, err)
		}
		_, err = NewReader(strings.NewReader(of(append(slices.Clone(fields), line)...))).Next()
		if !errors.Is(err, ErrHeader) || !said(err, 0, name+" is there 2 times") {
			t.Errorf("twice %s: %v", name, err)
		}
	}
	most := strings.Replace(of(fields...), "Length: 0", "Length: 9223372036854775807", 1)
	if rec := first(t, most); rec.Size != 1<<63-1 {
		t.Errorf("the largest block has %d bytes", rec.Size)
	}
}

func TestAngleBrackets(t *testing.T) {
	for s, want := range map[string]string{"<a>": "a", "<>": "", "<": "<", ">": ">", "<a": "<a", "a>": "a>", "": "", "a": "a", "<<a>>": "<a>", "><": "><"} {
		if got := first(t, recordOf("", "WARC-Target-URI: "+s)).TargetURI(); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestDates(t *testing.T) {
	for s, want := range map[string]string{
		"2030":                           "2030-01-01T00:00:00Z",
		"2030-02":                        "2030-02-01T00:00:00Z",
		"2030-02-03":                     "2030-02-03T00:00:00Z",
		"2030-02-03T04:05Z":              "2030-02-03T04:05:00Z",
		"2030-02-03T04:05:06Z":           "2030-02-03T04:05:06Z",
		"2030-02-03T04:05:06.123456789Z": "2030-02-03T04:05:06.123456789Z",
		"2030-02-03T04:05:06+01:00":      "2030-02-03T03:05:06Z",
		"2030-02-03T":                    "",
		"":                               "",
		"203":                            "",
	} {
		got := ""
		if d, err := parseDate(s); err == nil {
			got = d.Format(time.RFC3339Nano)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("WARC-Date %q is no date", s)) {
			t.Error(err)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestIDs(t *testing.T) {
	for b, want := range map[byte]string{0: "urn:uuid:00000000-0000-4000-8000-000000000000", 0xff: "urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff", 0x5a: "urn:uuid:5a5a5a5a-5a5a-4a5a-9a5a-5a5a5a5a5a5a"} {
		got, err := encoder(t, Options{Random: bytes.NewReader(bytes.Repeat([]byte{b}, 16))}).NewID()
		if got != want || err != nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	each, err := encoder(t, Options{Random: strings.NewReader("\x01\x12\x23\x34\x45\x56\x67\x78\x89\x9a\xab\xbc\xcd\xde\xef\xf0")}).NewID()
	if each != "urn:uuid:01122334-4556-4778-899a-abbccddeeff0" || err != nil {
		t.Errorf("%s, %v", each, err)
	}
	got, err := encoder(t, Options{Random: bytes.NewReader(make([]byte, 15))}).NewID()
	if got != "" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of 15 bytes: %q, %v", got, err)
	}
}

// Which characters may stand in a name, and which in a value.
func TestCharactersOfFields(t *testing.T) {
	const tokens = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for c := range 256 {
		name, value := string([]byte{'x', byte(c)}), string([]byte{'x', byte(c), 'x'})
		b, err := appendField([]byte("before"), name, "v")
		if want := strings.IndexByte(tokens, byte(c)) >= 0; (err == nil) != want {
			t.Errorf("name %q: %v", name, err)
		} else if want && string(b) != "before"+name+": v\r\n" || !want && (string(b) != "before" || !strings.Contains(err.Error(), "field name")) {
			t.Errorf("name %q: %q, %v", name, b, err)
		}
		b, err = appendField([]byte("before"), "n", value)
		if want := c >= ' ' && c != 0x7f || c == '\t'; (err == nil) != want {
			t.Errorf("value %q: %v", value, err)
		} else if want && string(b) != "before"+"n: "+value+"\r\n" || !want && (string(b) != "before" || !strings.Contains(err.Error(), fmt.Sprintf("character %#02x", c))) {
			t.Errorf("value %q: %q, %v", value, b, err)
		}
	}
	if _, err := appendField(nil, "", "v"); err == nil {
		t.Error("a field without a name")
	}
}

func TestErrorsAreShort(t *testing.T) {
	for n, want := range map[int]string{120: strings.Repeat("x", 120), 121: strings.Repeat("x", 120) + "..."} {
		if got := clip(strings.Repeat("x", n)); got != want {
			t.Errorf("%d characters: %q", n, got)
		}
	}
}

func TestEndOfAHead(t *testing.T) {
	for s, want := range map[string]int{
		"": -1, "a": -1, "a\n": -1, "a\r\n": -1, "a\nb\n": -1, "a\n\r": -1, "a\nb": -1, "a\rb\n": -1, "a\nx\n": -1,
		"\n": 1, "\r\n": 2, "a\n\n": 3, "a\n\r\n": 4, "a\r\n\r\n": 5, "a\r\n\r\nb": 5, "a\n\nb\n\n": 3, "a\nb\n\nc": 5,
	} {
		if got := headEnd([]byte(s)); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestStartLines(t *testing.T) {
	for got, want := range map[string]string{
		StatusLine(200): "HTTP/1.1 200 OK", StatusLine(7): "HTTP/1.1 007 ", StatusLine(404): "HTTP/1.1 404 Not Found",
		RequestLine("GET", "/x"): "GET /x HTTP/1.1",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestHeadsOfMessages(t *testing.T) {
	for _, c := range []struct {
		m    HTTP
		want string // or what the error says
		ok   bool
	}{
		{HTTP{StartLine: "a", Header: http.Header{"A": {"1"}, "Host": {"h"}, "B": {"2", "3"}, "Z": {"4"}}}, "a\r\nHost: h\r\nA: 1\r\nB: 2\r\nB: 3\r\nZ: 4\r\n\r\n", true},
		{HTTP{StartLine: "a", Header: http.Header{"Host": {"h"}, "Z": {"4"}}}, "a\r\nHost: h\r\nZ: 4\r\n\r\n", true},
		{HTTP{StartLine: "a", Header: http.Header{"x-low": {"\n\r\x00"}}}, "a\r\nX-Low:    \r\n\r\n", true},
		{HTTP{StartLine: "a", Header: http.Header{"Content-Encoding": {""}, "Content-Length": {"1"}}, Coding: Decoded}, "a\r\nContent-Encoding: \r\nContent-Length: 1\r\n\r\n", true},
		{HTTP{StartLine: "a", Header: http.Header{"Content-Encoding": {"br"}}, Coding: 3}, "a\r\nX-Archive-Orig-Content-Encoding: br\r\nContent-Length: 0\r\n\r\n", true},
		{HTTP{Head: []byte("a\nContent-Encoding \t: br\nContent-Length : 9\n\n"), Coding: Decoded, Body: []byte("body")}, "a\nX-Archive-Orig-Content-Encoding \t: br\nX-Archive-Orig-Content-Length : 9\nContent-Length: 4\r\n\r\n", true},
		{HTTP{Head: []byte("a\r\n\r\nb")}, "HTTP head of 6 bytes does not end", false},
		{HTTP{Head: []byte{}}, "HTTP head of 0 bytes does not end", false},
		{HTTP{StartLine: "a\n"}, "has a line end inside", false},
		{HTTP{StartLine: "a\rb"}, "has a line end inside", false},
		{HTTP{}, "without a start line", false},
		{HTTP{StartLine: "a", Header: http.Header{"": {"b"}}}, "is no token", false},
	} {
		got, err := c.m.appendHead([]byte("before "))
		if c.ok && (err != nil || string(got) != "before "+c.want) || !c.ok && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %q, %v, want %q", c.m, got, err, c.want)
		}
	}
}

func TestChunked(t *testing.T) {
	chunks := []byte("2\r\nhi\r\n0\r\n\r\n")
	for _, c := range []struct {
		coding Coding
		value  string
		want   bool
	}{
		{AsSent, "chunked", true}, {AsSent, "Chunked ", true}, {AsSent, "gzip,chunked", true}, {AsSent, "gzip , chunked", true},
		{AsSent, "chunked, gzip", false}, {AsSent, "", false}, {AsSent, "x-chunked", false}, {AsSent, "chunked,", false},
		{Unchunked, "chunked", false}, {Decoded, "chunked", false},
	} {
		of := "hi"
		if !c.want {
			of = string(chunks)
		}
		want := PayloadDigest(&HTTP{StartLine: "a", Body: []byte(of)})
		if got := PayloadDigest(&HTTP{StartLine: "a", Header: http.Header{"Transfer-Encoding": {c.value}}, Body: chunks, Coding: c.coding}); got != want {
			t.Errorf("%+v: the digest is not that of %q", c, of)
		}
		head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nX: chunked\r\nTransfer-Encoding \t: " + c.value + "\r\n\r\n"
		if got := PayloadDigest(&HTTP{Head: []byte(head), Body: chunks, Coding: c.coding}); got != want {
			t.Errorf("%+v: the digest of a raw message is not that of %q", c, of)
		}
	}
	if got := headField([]byte("a\r\nx\r\nX: 1\r\nX: 2 \r\nXY: 3\r\n\r\n"), "x"); got != "2" {
		t.Errorf("the last value is %q", got)
	}
}

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
	// The levels differ, and none is that of speed.
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
	if bytes.Contains(file, []byte(FieldFilename)) {
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
	// It is the year in UTC that counts.
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

// What a header has and what it has not.
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
		FieldType: {"request", "metadata"}, FieldIPAddress: {}, FieldWarcinfoID: {}, FieldProtocol: {}, FieldCipherSuite: {}, FieldTruncated: {},
		FieldConcurrentTo:  {"", "<urn:uuid:00000000-0000-4000-8000-000000000001>"},
		FieldContentLength: {"24", "0"}, FieldContentType: {"application/http; msgtype=request", "application/warc-fields"},
		FieldPayloadDigest: {"sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", ""},
		FieldBlockDigest:   {"sha1:HLZRBGCNAJFB3M3DFPWOBDUKVMBJGRAV", "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"},
	} {
		for i, h := range all {
			if name == FieldBlockDigest && i == 0 {
				continue // Verify says
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
	// A request is chunked as an answer may be.
	x.Request.Header, x.Request.Body = http.Header{"Transfer-Encoding": {"chunked"}}, []byte("5\r\nhello\r\n0\r\n\r\n")
	if got := fieldsOf(x)[0].Get(FieldPayloadDigest); got != "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N" {
		t.Errorf("digest %q", got)
	}
	// A type that is known is kept, and so is a digest.
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
		for _, name := range []string{FieldRefersTo, FieldRefersToDate, FieldRefersToURI} {
			if got := h.Get(name); got != "" {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
	// The digest of a revisit is that of the body without chunks.
	x = page("5\r\nhello\r\n0\r\n\r\n")
	x.Response.Coding, x.Revisit = AsSent, &RevisitOf{Profile: IdenticalPayloadDigest}
	x.Response.Header.Set("Transfer-Encoding", "chunked")
	if got := fieldsOf(x)[0].Get(FieldPayloadDigest); got != "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N" {
		t.Errorf("digest %q", got)
	}
}

// What is written to a writer is what is appended, and stands where it is said to.
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

// An error in any part of an exchange is told of with its part, and the URL.
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

func TestAnswers(t *testing.T) {
	type want struct {
		status int
		kind   string
	}
	for head, want := range map[string]want{
		"":                                 {},
		"HTTP/1.1 200 OK":                  {200, ""},
		"HTTP/1.1 200":                     {200, ""},
		"HTTP/1.1 007":                     {7, ""},
		"HTTP/1.1 999 x":                   {999, ""},
		"HTTP/1.1":                         {},
		"HTTP/1.1 20":                      {},
		"HTTP/1.1 2000":                    {},
		"HTTP/1.1 -20":                     {},
		"HTTP 200 OK\nContent-Type: a/b\n": {},
		"HTTP/1.1 200 OK\nContent-Type: a/b\nContent-Type: c/d\n": {200, "a/b"},
		"HTTP/1.1 200 OK\ncontent-type \t:\ta/b; c \r\n":          {200, "a/b; c"},
		"HTTP/1.1 200 OK\nContent-Type\nX: y\n":                   {200, ""},
		"HTTP/1.1 20x OK\nX: y\nContent-Type: a/b":                {0, "a/b"},
		"HTTP/1.1" + strings.Repeat(" ", 53) + "200":              {200, ""},
		"HTTP/1.1" + strings.Repeat(" ", 54) + "200":              {},
	} {
		if status, kind := answer([]byte(head)); status != want.status || kind != want.kind {
			t.Errorf("%q: %d, %q, want %+v", head, status, kind, want)
		}
	}
}

func TestResponsesOfBlocks(t *testing.T) {
	for _, c := range []struct {
		block, kind string
		status      int
		body        string
		bad         string
	}{
		{"HTTP/1.1 304 Not Modified\r\nEtag: 1", "application/http", 304, "", ""},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "Application/HTTP ; msgtype=response", 200, "hi", ""},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "application/http", 200, "hi", ""},
		{"HTTP/1.0 200 OK\n\n" + strings.Repeat("x", 10_000), "application/http", 200, strings.Repeat("x", 10_000), ""},
		{"HTTP/1.1 200 OK\r\n\r\n", "text/html", 0, "", `the block is of type "text/html", not application/http`},
		{"HTTP/1.1 200 OK\r\n\r\n", "application/httpx", 0, "", "not application/http"},
		{"SMTP\r\n\r\n", "application/http", 0, "", "the block is no HTTP response"},
		{"", "application/http", 0, "", "the block is no HTTP response"},
	} {
		file := strings.Replace(recordOf(c.block, "Content-Type: "+c.kind), "resource", "response", 1)
		resp, err := first(t, file).Response()
		if c.bad != "" {
			if !said(err, 0, c.bad) {
				t.Errorf("%q: %v", c.block, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.block, err)
			continue
		}
		if body, err := io.ReadAll(resp.Body); resp.StatusCode != c.status || string(body) != c.body || err != nil {
			t.Errorf("%q: %d, %q, %v", c.block, resp.StatusCode, body, err)
		}
	}
	cutShort := answerRecord("HTTP/1.1 200 OK\r\n\r\nbody")
	if _, err := first(t, cutShort[:len(cutShort)-20]).Response(); !errors.Is(err, ErrCut) {
		t.Errorf("a head that is cut: %v", err)
	}
	if _, err := first(t, cutShort[:len(cutShort)-20]).Placed(); !errors.Is(err, ErrCut) {
		t.Errorf("placed where the head is cut: %v", err)
	}
}

func TestFieldsOfBlocks(t *testing.T) {
	for block, want := range map[string][]Field{
		"":                                 nil,
		"\r\n\n":                           nil,
		"a: b\r\nc:d\n":                    {{"a", "b"}, {"c", "d"}},
		"a: b\r\n c \r\n\td\r\ne: f":       {{"a", "b c d"}, {"e", "f"}},
		" a: b\r\n":                        {{" a", "b"}},
		"\ta: b\r\n\r\n c\r\n":             {{"\ta", "b c"}},
		"a:b:c":                            {{"a", "b:c"}},
		"x: " + strings.Repeat("y", 65533): {{"x", strings.Repeat("y", 65533)}},
	} {
		got, err := first(t, recordOf(block)).Fields()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%.60q: %.60q, %v", block, got, err)
		}
	}
	for block, want := range map[string]string{
		"abc\r\n":                          `the line "abc" of the block is no field`,
		"x: " + strings.Repeat("y", 65534): "the block is longer than 65536 bytes",
	} {
		if got, err := first(t, recordOf(block)).Fields(); !said(err, 0, want) || got != nil {
			t.Errorf("%.60q: %.60q, %v", block, got, err)
		}
	}
	file := recordOf("a: b\r\n")
	if _, err := first(t, file[:len(file)-6]).Fields(); !errors.Is(err, ErrCut) {
		t.Errorf("a block that is cut: %v", err)
	}
}

// broken fails once its bytes are read, with the last of them.
type broken struct {
	left string
	err  error
}

func (b *broken) Read(p []byte) (int, error) {
	n := copy(p, b.left)
	if b.left = b.left[n:]; b.left == "" {
		return n, b.err
	}
	return n, nil
}

// Of a disk that fails everything is read that it gave, then its error comes, in
// an Error, from wherever one asks.
func TestADiskThatFails(t *testing.T) {
	bad := errors.New("bad sector")
	block := strings.Repeat("0123456789", 10_000)
	for _, file := range []string{recordOf(block), zipped(recordOf(block)), strings.Replace(recordOf(block), "Type: resource", "Content-Type: application/http\r\nWARC-Type: response", 1)} {
		for _, n := range []int{0, 1, 5, 100, 200, len(file) / 2, len(file) - 2} {
			r := NewReader(&broken{file[:n], bad})
			rec, err := r.Next()
			if err == nil {
				got := make([]byte, 100_000)
				at := 0
				for err == nil {
					var n int
					n, err = rec.Read(got[at:])
					if at += n; n == 0 && err == nil {
						t.Fatal("neither bytes nor an error")
					}
				}
				if err == io.EOF {
					_, err = rec.Close()
				}
				if string(got[:at]) != block[:at] {
					t.Errorf("%d of %d bytes: what is read is not what was written", n, len(file))
				}
				if _, again := rec.Close(); again != err {
					t.Errorf("then %v, not %v", again, err)
				}
				if _, again := rec.Read(got); again != err && at < len(block) {
					t.Errorf("then %v, not %v", again, err)
				}
			}
			if !errors.Is(err, bad) || !said(err, 0, "bad sector") {
				t.Errorf("%d of %d bytes: %v", n, len(file), err)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("%d of %d bytes: then %v, not %v", n, len(file), again, err)
			}
			if _, err := r.Skip(); !errors.Is(err, bad) {
				t.Errorf("%d of %d bytes: Skip: %v", n, len(file), err)
			}
			if _, err := r.Next(); !errors.Is(err, bad) {
				t.Errorf("%d of %d bytes: behind Skip: %v", n, len(file), err)
			}
			for _, read := range []func(*Record) error{
				func(rec *Record) error {
					if err := rec.Verify(); err != nil {
						return err
					}
					if rec.left > 0 {
						return nil
					}
					_, err := rec.Close()
					return err
				},
				func(rec *Record) error { _, err := rec.Placed(); return err },
			} {
				rec, err := NewReader(&broken{file[:n], bad}).Next()
				if err == nil {
					err = read(rec)
				}
				if !errors.Is(err, bad) {
					t.Errorf("%d of %d bytes: %v", n, len(file), err)
				}
			}
		}
	}
}

func TestCloseAgain(t *testing.T) {
	file := recordOf("hello")
	rec := first(t, file)
	for range 2 {
		if n, err := rec.Close(); n != int64(len(file)) || err != nil {
			t.Error(n, err)
		}
	}
	if n, err := rec.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
	rec = first(t, strings.Replace(file, "Length: 5", "Length: 4", 1))
	_, bad := rec.Close()
	if n, err := rec.Close(); n != 0 || err != bad || !errors.Is(err, ErrEnd) || !said(err, 0, `"o\r\n\r" follows`) {
		t.Error(n, err)
	}
	rec = first(t, zipped(strings.Replace(file, "Length: 5", "Length: 6", 1)))
	if _, err := rec.Close(); !errors.Is(err, ErrEnd) || !said(err, 0, "3 bytes follow where 4 are wanted") {
		t.Error(err)
	}
	rec = first(t, zipped(strings.Replace(file, "Length: 5", "Length: 15", 1)))
	if _, err := rec.Close(); !errors.Is(err, ErrEnd) || !said(err, 0, "the gzip member ends 6 bytes before the block does") {
		t.Error(err)
	}
}

// A file may begin with anything.
func TestFirstBytes(t *testing.T) {
	for start, want := range map[string]error{
		"": io.EOF, "W": ErrCut, "WARC": ErrCut, "WARC/": ErrCut, "WARC/1.1": ErrCut, "WARC/1.1\r\n": ErrCut, "x": ErrCut,
		"<htm": ErrCut, "<html": ErrVersion, "WARC\r": ErrVersion, "WARC/1.2\r\n\r\n": ErrVersion, "WARC/1.1 \r\n\r\n": ErrVersion,
		"\x1f\x8b": ErrCut, "\x1f\x8bxxxxxxxxxx": gzip.ErrHeader, "\x1fxxxxxxxxxxx": ErrVersion, "x\x8bxxxxxxxxxx": ErrVersion,
		zipped(""): ErrHeader, zipped("x"): ErrHeader, zipped("<html>"): ErrVersion, zipped(strings.Repeat("x", 20_000)): ErrVersion,
		zipped("<html>") + "x": ErrVersion,
	} {
		_, err := NewReader(strings.NewReader(start)).Next()
		if !errors.Is(err, want) || want != io.EOF && !said(err, 0, "") {
			t.Errorf("%.40q: %v, want %v", start, err, want)
		}
		if _, at := ReadAt(strings.NewReader("12345"+start), 5); want == io.EOF && !said(at, 5, ErrCut.Error()) || want != io.EOF && (!errors.Is(at, want) || !said(at, 5, "")) {
			t.Errorf("%.40q at 5: %v, want %v", start, at, want)
		}
	}
}

func TestVerifyOfEachKind(t *testing.T) {
	const (
		hello = "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"
		wrong = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		plain = "HTTP/1.1 200 OK\r\n\r\nhello"
		parts = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n"
		post  = "POST / HTTP/1.1\r\n\r\nhello"
		web   = "Content-Type: application/http"
	)
	payload := func(d string) string { return FieldPayloadDigest + ": " + d }
	for _, c := range []struct {
		kind, block string
		lines       []string
		bad         string
	}{
		{"response", plain, []string{web, payload(hello)}, ""},
		{"response", plain, []string{web, payload(wrong)}, "WARC-Payload-Digest: the digest does not fit: it should be VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N or AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D and is " + wrong[5:]},
		{"response", parts, []string{web, payload(hello)}, ""},
		{"response", parts, []string{web, payload(wrong)}, "(some writers digest the chunks"},
		{"response", "hello", []string{"Content-Type: text/plain", payload(wrong)}, ""},
		{"response", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz", []string{web, payload(hello)}, ""},
		{"response", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz", []string{web, payload(hello), FieldBlockDigest + ": " + wrong}, "WARC-Block-Digest: the digest does not fit"},
		{"request", post, []string{web, payload(hello)}, ""},
		{"request", post, []string{web, payload(wrong)}, "does not fit"},
		{"request", "hello", []string{payload(wrong)}, ""},
		{"resource", "hello", []string{payload(hello)}, ""},
		{"resource", "hello", []string{payload(wrong)}, "does not fit"},
		{"resource", plain, []string{web, payload(hello)}, ""},
		{"conversion", "hello", []string{payload(hello)}, ""},
		{"conversion", "hello", []string{payload(wrong)}, "does not fit"},
		{"conversion", "hello", []string{payload(wrong), "WARC-Segment-Number: 1"}, ""},
		{"revisit", plain, []string{web, payload(wrong)}, ""},
		{"metadata", "hello", []string{payload(wrong)}, ""},
		{"metadata", "hello", []string{FieldBlockDigest + ": " + hello}, ""},
		{"metadata", "hello", []string{FieldBlockDigest + ": " + wrong}, "WARC-Block-Digest: the digest does not fit: it should be"},
		{"revisit", "hello", []string{web, FieldBlockDigest + ": " + hello}, ""},
		{"revisit", "hello", []string{web, FieldBlockDigest + ": " + wrong}, "does not fit"},
		{"response", plain, []string{web, FieldBlockDigest + ": sha1:" + "5YBHLKQ4QZ2TQCXJXPZOA4OD7JS4O3OI"}, "does not fit"},
		{"resource", "hello", []string{"WARC-Payload-Digest: sha512:" + "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"}, ""},
		{"resource", "hello", []string{"WARC-Block-Digest: crc:1"}, `WARC-Block-Digest: the digest's algorithm is none of md5, sha1, sha256 and sha512: "crc:1"`},
		{"resource", "hello", []string{"WARC-Payload-Digest: crc:1"}, `WARC-Payload-Digest: the digest's algorithm`},
	} {
		file := strings.Replace(recordOf(c.block, c.lines...), "Type: resource", "Type: "+c.kind, 1)
		r := NewReader(strings.NewReader(file + file))
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		err = rec.Verify()
		if c.bad == "" && err != nil || c.bad != "" && !said(err, 0, c.bad) {
			t.Errorf("%s, %q: %v, want %q", c.kind, c.lines, err, c.bad)
		}
		if c.bad != "" && !strings.Contains(c.bad, "some writers") && err != nil && strings.Contains(err.Error(), "some writers") {
			t.Errorf("%s, %q: %v", c.kind, c.lines, err)
		}
		if next, err := r.Next(); err != nil || next.Offset != int64(len(file)) {
			t.Errorf("%s: the next one: %v", c.kind, err)
		}
	}
}

// Skip says how far it went, and finds every kind of beginning, wherever it stands.
func TestSkipFindsTheNextRecord(t *testing.T) {
	whole, member := recordOf("hello"), zipped(recordOf("hello"))
	arcMember := zipped(arcRecords[1])
	for _, c := range []struct {
		name string
		file string
		at   int // of the record that is found; -1: none
	}{
		{"a member at once", "x" + member, 1},
		{"a member of ARC", "x" + arcMember, 1},
		{"behind two line ends", "x\r\n\r\n" + whole, 5},
		{"behind one line end", "x\r\n" + whole, -1},
		{"at the end of what is looked at", strings.Repeat("x", 40_000) + member, 40_000},
		{"beyond", strings.Repeat("x", 200_001) + member, 200_001},
		{"over the border", strings.Repeat("x", 32<<10-2) + "\r\n\r\n" + whole, 32<<10 + 2},
		{"cut by the far border", strings.Repeat("x", 64<<10-10) + "\r\n\r\n" + whole, 64<<10 - 6},
		{"a member at the far border", strings.Repeat("x", 64<<10-20) + member, 64<<10 - 20},
		{"over the far border", strings.Repeat("x", 64<<10-2) + "\r\n\r\n" + whole, 64<<10 + 2},
		{"no member: of text", "x" + zipped("some text\nand more"), -1},
		{"no member: of nothing", "x" + zipped(""), -1},
		{"no member: the beginning of a version", "x" + zipped("WARC/1"), -1},
		{"no member: control characters", "x" + zipped("\x00http://a.example/ 192.0.2.1 20300102030406 text/html 0\n"), -1},
		{"no member: a reserved flag", "x" + member[:3] + "\x20" + member[4:], -1},
		{"no member: another method", "x" + member[:2] + "\x07" + member[3:], -1},
		{"no member: half of its magic", "x" + member[:1] + "x" + member[2:], -1},
		{"no member: the other half", "xx" + member[1:], -1},
		{"nothing", "x", -1},
		{"only the beginning of a member", "x\x1f\x8b\x08", -1},
	} {
		r := NewReader(strings.NewReader(c.file))
		if _, err := r.Next(); err == nil || err == io.EOF {
			t.Fatalf("%s: %v", c.name, err)
		}
		n, err := r.Skip()
		want := int64(c.at)
		if c.at < 0 {
			want = int64(len(c.file))
		}
		if n != want || err != nil {
			t.Errorf("%s: passed over %d bytes, want %d: %v", c.name, n, want, err)
		}
		rec, err := r.Next()
		if c.at < 0 {
			if err != io.EOF {
				t.Errorf("%s: found %+v, %v", c.name, rec, err)
			}
			continue
		}
		if err != nil || rec.Offset != want {
			t.Errorf("%s: found %+v, %v", c.name, rec, err)
			continue
		}
		if n, err := rec.Close(); err != nil || n != int64(len(c.file)-c.at) {
			t.Errorf("%s: %d bytes, %v", c.name, n, err)
		}
	}
}

// Where nothing is wrong, Skip passes over nothing but what is left of a record.
func TestSkipWhereNothingIsWrong(t *testing.T) {
	file := recordOf("hello") + recordOf("world")
	r := NewReader(strings.NewReader(file))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Skip(); n != 0 || err != nil {
		t.Errorf("passed over %d, %v", n, err)
	}
	rec, err := r.Next()
	if err != nil || rec.Offset != int64(len(recordOf("hello"))) {
		t.Fatal(rec, err)
	}
	if block, err := io.ReadAll(rec); string(block) != "world" || err != nil {
		t.Errorf("%q, %v", block, err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Error(err)
	}
	// A record that is found to be damaged by Skip itself is passed over.
	wrong := strings.Replace(recordOf("hello"), "Length: 5", "Length: 3", 1)
	r = NewReader(strings.NewReader(wrong + recordOf("world")))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Skip(); n != int64(len(wrong)) || err != nil {
		t.Errorf("passed over %d of %d, %v", n, len(wrong), err)
	}
	if rec, err := r.Next(); err != nil || rec.Offset != int64(len(wrong)) {
		t.Error(rec, err)
	}
}

func TestLinesOfARC(t *testing.T) {
	for line, want := range map[string]string{ // version, URL, type, block's type, address
		"http://a.example/ 192.0.2.1 20300102030406 text/html 5": "ARC/1 http://a.example/ response application/http;msgtype=response 192.0.2.1",
		"HTTPS://a.example/ x 20300102030406 text/html 5":        "ARC/1 HTTPS://a.example/ response application/http;msgtype=response ",
		"filedesc://a 0.0.0.0 20300102030406 text/plain 5":       "ARC/1 filedesc://a warcinfo text/plain ",
		"dns:a :: 20300102030406 text/dns 5":                     "ARC/1 dns:a resource text/dns ",
		"dns:a ::1 20300102030406 text/dns 200 - - 12 a.arc 5":   "ARC/2 dns:a resource text/dns ::1",
		"dns:a b c ::1 20300102030406 text/dns 5":                "ARC/1 dns:a b c resource text/dns ::1",
		"dns:a ::1 20300102030406 text/dns 9223372036854775807":  "ARC/1 dns:a resource text/dns ::1",
		"dns:a ::1 20300102030406 text/dns 9223372036854775808":  "",
		"dns:a ::1 20300102030406 text/dns -1":                   "",
		"dns:a ::1 20301302030406 text/dns 5":                    "",
		"dns:a ::1 2030010203040 text/dns 5":                     "",
		"a ::1 20300102030406 text/dns 5":                        "",
		"x\x1f\x8bdns:a ::1 20300102030406 text/dns 5":           "",
		"dns:a 20300102030406 text/dns 5":                        "",
		"20300102030406 text/dns 5":                              "",
		"":                                                       "",
	} {
		version, h, ok := parseARC(line)
		got := ""
		if ok {
			got = strings.Join([]string{version, h.Get(FieldTargetURI), h.Get(FieldType), h.Get(FieldContentType), h.Get(FieldIPAddress)}, " ")
			if h.Get(FieldDate) != "2030-01-02T03:04:06Z" {
				t.Errorf("%q: date %q", line, h.Get(FieldDate))
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestLongestLineOfARC(t *testing.T) {
	const fields = " 192.0.2.1 20300102030406 text/plain 5\n"
	for _, over := range []int{0, 1} {
		line := "dns:" + strings.Repeat("x", 16384-len("dns:")-len(fields)+over) + fields
		for _, zip := range []bool{false, true} {
			file := line + "hello\n"
			if zip {
				file = zipped(file)
			}
			r := NewReader(strings.NewReader(file))
			rec, err := r.Next()
			if over == 0 {
				if err != nil || rec.Size != 5 {
					t.Errorf("%v, %v", rec, err)
				}
			} else if !errors.Is(err, ErrVersion) {
				t.Errorf("one byte over: %v", err)
			}
			if !zip {
				continue
			}
			r = NewReader(strings.NewReader("x" + file))
			if _, err := r.Next(); err == nil {
				t.Fatal("x is a record")
			}
			if _, err := r.Skip(); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Next(); (err == nil) != (over == 0) {
				t.Errorf("%d bytes over, found by Skip: %v", over, err)
			}
		}
	}
}

// What stands behind the block of an ARC record.
func TestEndOfARC(t *testing.T) {
	line := strings.Replace(arcRecords[1], "hello\n", "hello", 1)
	for behind, want := range map[string]error{"": nil, "\n": nil, "\r\n": nil, "\n\n\r\n": nil, "x": ErrEnd, "\nx": nil, "xyzab": ErrEnd} {
		rec := first(t, line+behind)
		n, err := rec.Close()
		ends := len(strings.TrimRight(behind, "xyzab"))
		if !errors.Is(err, want) || want == nil && n != int64(len(line)+ends) {
			t.Errorf("%q: %d bytes of %d, %v", behind, n, len(line), err)
		}
		if want != nil && !said(err, 0, fmt.Sprintf("%q follows", behind[:min(4, len(behind))])) {
			t.Errorf("%q: %v", behind, err)
		}
		if behind == "\nx" {
			want = ErrMember
		}
		rec = first(t, zipped(line+behind))
		if n, err := rec.Close(); !errors.Is(err, want) || want == nil && n != int64(len(zipped(line+behind))) {
			t.Errorf("%q in a member: %d bytes, %v", behind, n, err)
		}
	}
	member := zipped(line + "\n")
	if _, err := first(t, member[:len(member)-1]).Close(); !errors.Is(err, ErrCut) {
		t.Errorf("a member that is cut: %v", err)
	}
}
