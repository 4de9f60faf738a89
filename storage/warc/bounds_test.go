package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// recordOf returns a WARC 1.0 record with the given block. The lines follow the mandatory fields.
func recordOf(block string, lines ...string) string {
	return head + strings.Join(append(lines, ""), "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
}

// answerRecord returns a response record with the given block and further header lines.
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

// said reports whether err is an *Error for the record at offset that contains text.
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
				if !errors.Is(err, errTooLong) || !said(err, 0, "longer than 65536 bytes") {
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
	// A head without an end may be as long as the whole block.
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
		if !errors.Is(err, errHeader) || !said(err, 0, want) {
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
		if !errors.Is(err, errHeader) || !said(err, 0, name+" is missing") {
			t.Errorf("without %s: %v", name, err)
		}
		_, err = NewReader(strings.NewReader(of(append(slices.Clone(fields), line)...))).Next()
		if !errors.Is(err, errHeader) || !said(err, 0, name+" is there 2 times") {
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
		got, err := encoder(t, Options{Random: bytes.NewReader(bytes.Repeat([]byte{b}, 16))}).newID()
		if got != want || err != nil {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	each, err := encoder(t, Options{Random: strings.NewReader("\x01\x12\x23\x34\x45\x56\x67\x78\x89\x9a\xab\xbc\xcd\xde\xef\xf0")}).newID()
	if each != "urn:uuid:01122334-4556-4778-899a-abbccddeeff0" || err != nil {
		t.Errorf("%s, %v", each, err)
	}
	got, err := encoder(t, Options{Random: bytes.NewReader(make([]byte, 15))}).newID()
	if got != "" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of 15 bytes: %q, %v", got, err)
	}
}

// Names and values of fields may have only the permitted characters.
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
		want string // the result, or a part of the error
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

func TestLinesOfARC(t *testing.T) {
	for line, want := range map[string]string{ // expected version, URL, type of the record, type of the block, and address
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
			got = strings.Join([]string{version, h.Get(FieldTargetURI), h.Get(fieldType), h.Get(FieldContentType), h.Get(FieldIPAddress)}, " ")
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
			} else if !errors.Is(err, errVersion) {
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

// One or more line ends must follow the block of an ARC record.
func TestEndOfARC(t *testing.T) {
	line := strings.Replace(arcRecords[1], "hello\n", "hello", 1)
	for behind, want := range map[string]error{"": nil, "\n": nil, "\r\n": nil, "\n\n\r\n": nil, "x": errEnd, "\nx": nil, "xyzab": errEnd} {
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
			want = errMember
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
