package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var day = time.Date(2030, 1, 2, 3, 4, 5, 678901234, time.FixedZone("", 3600))

// A counting is a source of random bytes for record IDs that are known and distinct.
type counting struct {
	mu sync.Mutex
	n  byte
}

func (c *counting) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	clear(p)
	p[len(p)-1] = c.n
	return len(p), nil
}

func encoder(t testing.TB, o Options) *Encoder {
	t.Helper()
	if o.Random == nil {
		o.Random = new(counting)
	}
	e, err := NewEncoder(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func page(body string) *Exchange {
	return &Exchange{
		URL: "http://a.example/x?y", Date: day, IP: netip.MustParseAddr("::ffff:192.0.2.1"),
		Protocol: []string{"h2", "tls/1.3"}, Cipher: "TLS_AES_128_GCM_SHA256", InfoID: "urn:uuid:info",
		Request: &HTTP{StartLine: RequestLine("GET", "/x?y"), Header: http.Header{"Accept": {"*/*"}, "Host": {"a.example"}}},
		Response: &HTTP{
			StartLine: StatusLine(200),
			Header:    http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}, "Content-Length": {"7"}, "Vary": {"a", "b"}},
			Body:      []byte(body), Coding: Decoded,
		},
		Metadata: []Field{{"via", "http://a.example/"}, {"hopsFromSeed", ""}, {"fetchTimeMs", "12"}},
	}
}

func mustExchange(t testing.TB, e *Encoder, b []byte, x *Exchange) ([]byte, []Placed) {
	t.Helper()
	b, placed, err := e.AppendExchange(b, x)
	if err != nil {
		t.Fatal(err)
	}
	return b, placed
}

func TestAnExchangeToTheByte(t *testing.T) {
	got, _ := mustExchange(t, encoder(t, Options{Plain: true}), nil, page("hello"))
	want := strings.ReplaceAll(`WARC/1.1
WARC-Type: response
WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>
WARC-Date: 2030-01-02T02:04:05.678901Z
WARC-Target-URI: http://a.example/x?y
WARC-IP-Address: 192.0.2.1
WARC-Warcinfo-ID: <urn:uuid:info>
WARC-Protocol: h2
WARC-Protocol: tls/1.3
WARC-Cipher-Suite: TLS_AES_128_GCM_SHA256
WARC-Payload-Digest: sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N
WARC-Block-Digest: sha1:BLOCK1
Content-Type: application/http; msgtype=response
Content-Length: 159

HTTP/1.1 200 OK
X-Archive-Orig-Content-Encoding: gzip
X-Archive-Orig-Content-Length: 7
Content-Type: text/html
Vary: a
Vary: b
Content-Length: 5

hello

WARC/1.1
WARC-Type: request
WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000002>
WARC-Date: 2030-01-02T02:04:05.678901Z
WARC-Target-URI: http://a.example/x?y
WARC-IP-Address: 192.0.2.1
WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000001>
WARC-Warcinfo-ID: <urn:uuid:info>
WARC-Protocol: h2
WARC-Protocol: tls/1.3
WARC-Cipher-Suite: TLS_AES_128_GCM_SHA256
WARC-Block-Digest: sha1:BLOCK2
Content-Type: application/http; msgtype=request
Content-Length: 51

GET /x?y HTTP/1.1
Host: a.example
Accept: */*



WARC/1.1
WARC-Type: metadata
WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000003>
WARC-Date: 2030-01-02T02:04:05.678901Z
WARC-Target-URI: http://a.example/x?y
WARC-IP-Address: 192.0.2.1
WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000001>
WARC-Warcinfo-ID: <urn:uuid:info>
WARC-Block-Digest: sha1:BLOCK3
Content-Type: application/warc-fields
Content-Length: 41

via: http://a.example/
fetchTimeMs: 12


`, "\n", "\r\n")
	text := string(got)
	n := 0
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "WARC-Block-Digest: "); ok {
			n++
			if len(value) != len("sha1:\r\n")+32 {
				t.Errorf("block digest %q", value)
			}
			text = strings.Replace(text, strings.TrimSpace(value), fmt.Sprint("sha1:BLOCK", n), 1)
		}
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for rec := range records(t, got) {
		if err := rec.Verify(); err != nil {
			t.Error(err)
		}
	}
}

// records iterates over the records of a file, which must be valid.
func records(t testing.TB, file []byte) func(func(*Record) bool) {
	return func(yield func(*Record) bool) {
		t.Helper()
		r := NewReader(bytes.NewReader(file))
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !yield(rec) {
				return
			}
		}
	}
}

func TestInfo(t *testing.T) {
	e := encoder(t, Options{})
	file, placed, err := e.AppendInfo(nil, &Info{
		Filename: "a.warc.gz", Date: day, Software: "permesso/1", Robots: "RFC 9309",
		Operator: "Someone <mailto:a@example.org>", IsPartOf: "job", More: []Field{{"description", "a test"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for rec := range records(t, file) {
		fields, err := rec.Fields()
		want := []Field{{"software", "permesso/1"}, {"format", "WARC File Format 1.1"}, {"conformsTo", conformsTo}, {"robots", "RFC 9309"},
			{"operator", "Someone <mailto:a@example.org>"}, {"isPartOf", "job"}, {"description", "a test"}}
		if diff := cmp.Diff(want, fields); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if rec.Type != Warcinfo || rec.ID != placed.ID || rec.Header.Get(fieldFilename) != "a.warc.gz" || rec.Header.Get(FieldTargetURI) != "" {
			t.Errorf("%+v", rec.Header)
		}
	}
	var w bytes.Buffer
	e = encoder(t, Options{})
	if _, err := e.WriteInfo(&w, &Info{Date: day}); err != nil || w.Len() == 0 {
		t.Errorf("%d bytes, %v", w.Len(), err)
	}
}

func TestHeadsAreRenamedOnlyWhereACodingWasRemoved(t *testing.T) {
	const raw = "HTTP/1.0 200 fine\r\nX-odd:  Case \r\ntransfer-encoding: chunked\r\nContent-Encoding: br\r\nContent-length: 9\r\n\r\n"
	header := http.Header{"Transfer-Encoding": {"chunked"}, "Content-Encoding": {"br"}, "Content-Length": {"9"}}
	for _, c := range []struct {
		name string
		m    HTTP
		want string
	}{
		{"raw as sent", HTTP{Head: []byte(raw)}, raw},
		{"raw unchunked", HTTP{Head: []byte(raw), Coding: Unchunked},
			"HTTP/1.0 200 fine\r\nX-odd:  Case \r\nX-Archive-Orig-transfer-encoding: chunked\r\nContent-Encoding: br\r\nX-Archive-Orig-Content-length: 9\r\nContent-Length: 4\r\n\r\n"},
		{"raw decoded", HTTP{Head: []byte(raw), Coding: Decoded},
			"HTTP/1.0 200 fine\r\nX-odd:  Case \r\nX-Archive-Orig-transfer-encoding: chunked\r\nX-Archive-Orig-Content-Encoding: br\r\nX-Archive-Orig-Content-length: 9\r\nContent-Length: 4\r\n\r\n"},
		{"raw without codings", HTTP{Head: []byte("HTTP/1.1 200\nContent-Length: 9\n\n"), Coding: Decoded}, "HTTP/1.1 200\nContent-Length: 9\n\n"},
		{"as sent", HTTP{StartLine: "HTTP/1.1 200 OK", Header: header},
			"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"unchunked", HTTP{StartLine: "HTTP/1.1 200 OK", Header: header, Coding: Unchunked},
			"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nX-Archive-Orig-Content-Length: 9\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n"},
		{"unchunked without chunks", HTTP{StartLine: "HTTP/1.1 200 OK", Header: http.Header{"Content-Encoding": {"br"}, "Content-Length": {"9"}}, Coding: Unchunked},
			"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 9\r\n\r\n"},
		{"line ends in values", HTTP{StartLine: "HTTP/1.1 200 OK", Header: http.Header{"X-A": {"a\r\nb\x00c"}}}, "HTTP/1.1 200 OK\r\nX-A: a  b c\r\n\r\n"},
	} {
		c.m.Body = []byte("body")
		got, err := c.m.appendHead(nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\ngot  %q\nwant %q", c.name, err, got, c.want)
		}
	}
}

func TestPayloadDigestIsWithoutChunks(t *testing.T) {
	x := &Exchange{URL: "http://a.example/", Date: day, Response: &HTTP{
		Head: []byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"), Body: []byte("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")}}
	file, placed := mustExchange(t, encoder(t, Options{}), nil, x)
	if placed[0].PayloadDigest != "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N" {
		t.Errorf("got %s, want that of hello", placed[0].PayloadDigest)
	}
	if got := PayloadDigest(x.Response); got != placed[0].PayloadDigest {
		t.Errorf("before it is written: %s", got)
	}
	for rec := range records(t, file) {
		if err := rec.Verify(); err != nil {
			t.Error(err)
		}
	}
}

func TestRevisits(t *testing.T) {
	x := page("hello")
	x.Request, x.Metadata = nil, nil
	x.Revisit = &RevisitOf{Profile: IdenticalPayloadDigest, ID: "urn:uuid:first", URL: "http://a.example/first", Date: day}
	file, _ := mustExchange(t, encoder(t, Options{}), nil, x)
	for rec := range records(t, file) {
		for name, want := range map[string]string{
			fieldType: "revisit", FieldProfile: string(IdenticalPayloadDigest), fieldRefersTo: "<urn:uuid:first>",
			FieldRefersToURI: "http://a.example/first", FieldRefersToDate: "2030-01-02T02:04:05.678901Z",
			FieldTruncated: "length", FieldPayloadDigest: "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
		} {
			if got := rec.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		block, err := io.ReadAll(rec)
		if err != nil || !bytes.HasSuffix(block, []byte("\r\n\r\n")) {
			t.Errorf("the block %q has a body: %v", block, err)
		}
	}

	x.Response = &HTTP{StartLine: StatusLine(304), Header: http.Header{"Etag": {`"1"`}}}
	x.Revisit = &RevisitOf{Profile: ServerNotModified}
	file, _ = mustExchange(t, encoder(t, Options{}), nil, x)
	for rec := range records(t, file) {
		resp, err := rec.Response()
		if err != nil || resp.StatusCode != 304 || rec.Header.Get(FieldPayloadDigest) != "" || rec.Header.Get(FieldTruncated) != "" {
			t.Errorf("%+v, %v: %v", resp, err, rec.Header)
		}
	}
}

// The record of an answer to HEAD has its header with every field as received, and no payload.
// Readers expect no body, even if the header announces one, and do not take it for an empty page.
func TestAnAnswerToHEAD(t *testing.T) {
	for _, head := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n",
	} {
		x := page("")
		x.Head, x.Metadata, x.Response = true, nil, &HTTP{Head: []byte(head)}
		x.Request = &HTTP{StartLine: RequestLine("HEAD", "/")}
		file, placed := mustExchange(t, encoder(t, Options{}), nil, x)
		if len(placed) != 2 || !placed[0].Head || placed[0].PayloadDigest != "" || placed[0].Status != 200 || placed[1].Head {
			t.Errorf("%+v", placed)
		}
		i := 0
		for rec := range records(t, file) {
			p := placed[i]
			if i++; rec.Head() != p.Head || rec.Header.Get(FieldPayloadDigest) != "" {
				t.Errorf("%v", rec.Header)
			}
			if err := rec.Verify(); err != nil {
				t.Error(err)
			}
			is, err := rec.Placed()
			if p.Date = is.Date; err != nil || is != p {
				t.Errorf("%+v, %v, want %+v", is, err, p)
			}
		}
		rec, err := ReadAt(bytes.NewReader(file), placed[0].Offset)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rec.Response()
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || len(body) > 0 {
			t.Errorf("%q has the body %q, %v", head, body, err)
		}
		if rec, err = ReadAt(bytes.NewReader(file), placed[0].Offset); err != nil {
			t.Fatal(err)
		}
		if raw, err := io.ReadAll(rec); string(raw) != head || err != nil {
			t.Errorf("%q, %v, want %q", raw, err, head)
		}
	}
}

func TestAFileFromFTP(t *testing.T) {
	x := &Exchange{URL: "ftp://a.example/x", Date: day, File: &File{Body: []byte("hello")}, Truncated: TruncatedTime, PayloadType: "text/plain"}
	file, placed := mustExchange(t, encoder(t, Options{}), nil, x)
	for rec := range records(t, file) {
		if err := rec.Verify(); err != nil {
			t.Error(err)
		}
		h := rec.Header
		if rec.Type != Resource || h.Get(FieldContentType) != "application/octet-stream" || h.Get(FieldTruncated) != "time" ||
			h.Get(FieldIdentifiedType) != "text/plain" || h.Get(FieldPayloadDigest) != placed[0].PayloadDigest || h.Get(fieldBlockDigest) != placed[0].PayloadDigest {
			t.Errorf("%v", h)
		}
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	for name, spoil := range map[string]func(*Exchange){
		"white space":          func(x *Exchange) { x.URL += " " },
		"is empty":             func(x *Exchange) { x.URL = "" },
		"both Response":        func(x *Exchange) { x.File = &File{} },
		"Revisit without":      func(x *Exchange) { x.Revisit, x.Response = &RevisitOf{}, nil },
		"to HEAD with a body":  func(x *Exchange) { x.Head = true },
		"that repeats one":     func(x *Exchange) { x.Head, x.Response.Body, x.Revisit = true, nil, &RevisitOf{} },
		"revisit profile":      func(x *Exchange) { x.Revisit = &RevisitOf{Profile: "other"} },
		"PayloadDigest":        func(x *Exchange) { x.Revisit, x.Response.Body = &RevisitOf{Profile: IdenticalPayloadDigest}, nil },
		"at least one":         func(x *Exchange) { *x = Exchange{URL: x.URL, Date: x.Date} },
		"without a date":       func(x *Exchange) { x.Date = time.Time{} },
		"start line":           func(x *Exchange) { x.Request.StartLine = "" },
		"line end inside":      func(x *Exchange) { x.Request.StartLine = "GET /\r\nX: y" },
		"is no token":          func(x *Exchange) { x.Response.Header["a b"] = []string{"c"} },
		"does not end":         func(x *Exchange) { x.Response.Head = []byte("HTTP/1.1 200 OK\r\n") },
		"control character":    func(x *Exchange) { x.Metadata = []Field{{"via", "a\r\nb"}} },
		"only letters, digits": func(x *Exchange) { x.Metadata = []Field{{"a b", "c"}} },
	} {
		x := page("hello")
		spoil(x)
		b, placed, err := encoder(t, Options{}).AppendExchange([]byte("before"), x)
		if err == nil || !strings.Contains(err.Error(), name) || string(b) != "before" || placed != nil {
			t.Errorf("%s: %q, %v, %v", name, b, placed, err)
		}
	}
	if _, err := NewEncoder(Options{Level: 10}); err == nil {
		t.Error("level 10 is taken")
	}
	if _, err := encoder(t, Options{Random: iotest.ErrReader(io.ErrNoProgress)}).newID(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("no random bytes: %v", err)
	}
	full := errors.New("disk full")
	if _, err := encoder(t, Options{}).WriteExchange(failing{full}, page("hello")); !errors.Is(err, full) {
		t.Errorf("failing writer: %v", err)
	}
}

// If the disk is full, no record is reported as complete.
func TestNoWriteErrorIsLost(t *testing.T) {
	full := errors.New("disk full")
	for _, plain := range []bool{true, false} {
		e := encoder(t, Options{Plain: plain})
		all := func(w io.Writer) error {
			if _, err := e.WriteInfo(w, &Info{Software: "test/1", Date: time.Unix(0, 0)}); err != nil {
				return err
			}
			_, err := e.WriteExchange(w, page("hello"))
			return err
		}
		var whole bytes.Buffer
		if err := all(&whole); err != nil {
			t.Fatal(err)
		}
		// The last 100 sizes are left out: the length of the file differs a little between two
		// runs, because the IDs differ.
		for room := range whole.Len() - 100 {
			if err := all(&filling{room, full}); !errors.Is(err, full) {
				t.Fatalf("plain %v, room for %d of %d bytes: %v", plain, room, whole.Len(), err)
			}
		}
	}
}

// A filling is a writer that accepts so many bytes, and then fails.
type filling struct {
	room int
	err  error
}

func (f *filling) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	if f.room -= n; n < len(p) {
		return n, f.err
	}
	return n, nil
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := NewEncoder(Options{Plain: rapid.Bool().Draw(t, "plain"), Level: rapid.IntRange(0, 9).Draw(t, "level")})
		if err != nil {
			t.Fatal(err)
		}
		type want struct {
			Placed
			body []byte
		}
		var file []byte
		var wants []want
		for range rapid.IntRange(1, 4).Draw(t, "exchanges") {
			x := page("")
			x.Response.Body = rapid.SliceOf(rapid.Byte()).Draw(t, "body")
			if rapid.Bool().Draw(t, "no request") {
				x.Request = nil
			}
			if rapid.Bool().Draw(t, "no metadata") {
				x.Metadata = nil
			}
			before := int64(len(file))
			var placed []Placed
			if file, placed, err = e.AppendExchange(file, x); err != nil {
				t.Fatal(err)
			}
			for _, p := range placed {
				p.Offset += before
				wants = append(wants, want{p, x.Response.Body})
			}
		}
		r := NewReader(iotest.OneByteReader(bytes.NewReader(file)))
		for _, w := range wants {
			rec, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			at, err := ReadAt(bytes.NewReader(file), w.Offset)
			if err != nil || at.ID != rec.ID || at.Offset != w.Offset {
				t.Fatalf("at %d: %+v, %v", w.Offset, at, err)
			}
			if rec.ID != w.ID || rec.Type != w.Type || rec.Offset != w.Offset || !rec.Date.Equal(day.Truncate(time.Microsecond)) {
				t.Fatalf("got %+v, want %+v", rec, w)
			}
			if w.Type == Response && w.PayloadDigest != rec.Header.Get(FieldPayloadDigest) {
				t.Fatalf("payload digest %q", w.PayloadDigest)
			}
			if err := at.Verify(); err != nil {
				t.Fatal(err)
			}
			if rec.Type == Response {
				resp, err := rec.Response()
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(body, w.body) {
					t.Fatalf("body %q, %v, want %q", body, err, w.body)
				}
			}
			if length, err := rec.Close(); err != nil || length != w.Length {
				t.Fatalf("length %d, %v, want %d", length, err, w.Length)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("after the last: %v", err)
		}
	})
}

func TestManyGoroutinesShareAnEncoder(t *testing.T) {
	e := encoder(t, Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 20 {
				body := strings.Repeat(fmt.Sprint(i, j), 1000)
				file, _, err := e.AppendExchange(nil, page(body))
				if err != nil {
					t.Error(err)
					return
				}
				rec, err := ReadAt(bytes.NewReader(file), 0)
				if err == nil {
					err = rec.Verify()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
