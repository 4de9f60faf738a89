package warc

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"
)

var day = time.Date(2030, 1, 2, 3, 4, 5, 678901234, time.FixedZone("", 3600))

// counting is a source of record IDs that differ and are known.
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

// records goes through a file that must be in order.
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
		if rec.Type != Warcinfo || rec.ID != placed.ID || rec.Header.Get(FieldFilename) != "a.warc.gz" || rec.Header.Get(FieldTargetURI) != "" {
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
			FieldType: "revisit", FieldProfile: string(IdenticalPayloadDigest), FieldRefersTo: "<urn:uuid:first>",
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

// An answer to HEAD is its header, every field as it came, and has no payload: readers
// look for no body, whatever the header says, and take it for no empty page.
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
			h.Get(FieldIdentifiedType) != "text/plain" || h.Get(FieldPayloadDigest) != placed[0].PayloadDigest || h.Get(FieldBlockDigest) != placed[0].PayloadDigest {
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
	if _, err := encoder(t, Options{Random: iotest.ErrReader(io.ErrNoProgress)}).NewID(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("no random bytes: %v", err)
	}
	full := errors.New("disk full")
	if _, err := encoder(t, Options{}).WriteExchange(failing{full}, page("hello")); !errors.Is(err, full) {
		t.Errorf("failing writer: %v", err)
	}
}

// A file that takes only so much: no record is said to be whole.
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
		// The gzip members of two runs differ by the IDs in them.
		for room := range whole.Len() - 100 {
			if err := all(&filling{room, full}); !errors.Is(err, full) {
				t.Fatalf("plain %v, room for %d of %d bytes: %v", plain, room, whole.Len(), err)
			}
		}
	}
}

// filling takes so many bytes.
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

func TestAFileCutAnywhereSaysSo(t *testing.T) {
	for _, plain := range []bool{true, false} {
		file, placed := mustExchange(t, encoder(t, Options{Plain: plain}), nil, page("hello"))
		ends := map[int64]bool{0: true}
		for _, p := range placed {
			ends[p.Offset+p.Length] = true
		}
		for n := range file {
			r := NewReader(bytes.NewReader(file[:n]))
			var err error
			for err == nil {
				_, err = r.Next()
			}
			if ends[int64(n)] {
				if err != io.EOF {
					t.Errorf("%d bytes, whole records: %v", n, err)
				}
				continue
			}
			e := (*Error)(nil)
			if !errors.Is(err, ErrCut) || !errors.As(err, &e) || !ends[e.Offset] {
				t.Errorf("%d bytes: %v", n, err)
			}
		}
	}
}

func TestSkip(t *testing.T) {
	for _, plain := range []bool{true, false} {
		file, placed := mustExchange(t, encoder(t, Options{Plain: plain}), nil, page(strings.Repeat("hello", 50000)))
		if plain {
			file[placed[1].Offset] ^= 1
		} else {
			file[placed[1].Offset+placed[1].Length-8] ^= 1 // checksum
		}
		file = append([]byte("junk"), file...)
		r := NewReader(bytes.NewReader(file))
		var seen []Type
		var passed int64
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err == nil {
				seen = append(seen, rec.Type)
				continue
			}
			n, err := r.Skip()
			if err != nil {
				t.Fatal(err)
			}
			passed += n
		}
		// A header can be read before the checksum that condemns it. After junk a
		// record is found only if it is compressed.
		want, over := []Type{Response, Request, Metadata}, 4+placed[1].Length
		if plain {
			want, over = []Type{Metadata}, 4+placed[0].Length+placed[1].Length
		}
		if diff := cmp.Diff(want, seen); diff != "" || passed != over {
			t.Errorf("plain %v: passed over %d, want %d\n%s", plain, passed, over, diff)
		}
	}
}

// A length that is a little wrong costs the record, not the one behind it.
func TestSkipAfterAWrongLength(t *testing.T) {
	record := func(id, length string) string {
		return strings.Replace(head, "uuid:1", "uuid:"+id, 1) + "Content-Length: " + length + "\r\n\r\nhello\r\n\r\n"
	}
	for length := range 10 {
		for _, member := range []bool{false, true} {
			one, two, three := record("1", fmt.Sprint(length)), record("2", "5"), record("3", "5")
			if member {
				one, two, three = zipped(one), zipped(two), zipped(three)
			}
			r := NewReader(strings.NewReader(one + two + three))
			whole := map[string]bool{}
			for {
				rec, err := r.Next()
				if err == io.EOF {
					break
				}
				if err == nil {
					if _, err = rec.Close(); err == nil {
						whole[rec.ID] = true
						continue
					}
				}
				if _, err := r.Skip(); err != nil {
					t.Fatal(err)
				}
			}
			if !whole["urn:uuid:2"] || !whole["urn:uuid:3"] || whole["urn:uuid:1"] != (length == 5) {
				t.Errorf("length %d of 5, members %v: read %v", length, member, whole)
			}
		}
	}
}

const head = "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2030-01-02T03:04:05Z\r\n"

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func TestWhatIsNoRecord(t *testing.T) {
	const whole = head + "Content-Length: 2\r\n\r\nhi\r\n\r\n"
	for _, c := range []struct {
		name, file string
		want       error
	}{
		{"HTML", "<html>and so on", ErrVersion},
		{"ARC", "WARC/0.18\r\n\r\n", ErrVersion},
		{"bare LF", "WARC/1.0\nWARC-Type: a\n\n", ErrHeader},
		{"no colon", "WARC/1.0\r\nabc\r\n\r\n", ErrHeader},
		{"folded first", "WARC/1.0\r\n abc\r\n\r\n", ErrHeader},
		{"no length", head + "\r\n", ErrHeader},
		{"two lengths", head + "Content-Length: 2\r\ncontent-length: 2\r\n\r\nhi\r\n\r\n", ErrHeader},
		{"negative length", head + "Content-Length: -2\r\n\r\nhi\r\n\r\n", ErrHeader},
		{"length of 2^63", head + "Content-Length: 9223372036854775808\r\n\r\nhi\r\n\r\n", ErrHeader},
		{"date", strings.Replace(whole, "03:04:05Z", "late", 1), ErrHeader},
		{"long header", head + "X: " + strings.Repeat("y", MaxHeader) + "\r\n\r\n", ErrTooLong},
		{"many fields", head + strings.Repeat("X: y\r\n", MaxHeader) + "\r\n", ErrTooLong},
		{"length too small", head + "Content-Length: 1\r\n\r\nhi\r\n\r\n", ErrEnd},
		{"length too small in a member", zipped(head + "Content-Length: 1\r\n\r\nhi\r\n\r\n"), ErrEnd},
		{"length too large in a member", zipped(head + "Content-Length: 9\r\n\r\nhi\r\n\r\n"), ErrEnd},
		{"no line ends in a member", zipped(head + "Content-Length: 2\r\n\r\nhi\r\n"), ErrEnd},
		{"header ends with its member", zipped(head), ErrHeader},
		{"length too large", head + "Content-Length: 9\r\n\r\nhi\r\n\r\n", ErrCut},
		{"two in a member", zipped(whole + whole), ErrMember},
		{"checksum", zipped(whole)[:len(zipped(whole))-8] + "12345678", gzip.ErrChecksum},
	} {
		r := NewReader(strings.NewReader(c.file))
		var err error
		for err == nil {
			_, err = r.Next()
		}
		e := (*Error)(nil)
		if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Offset != 0 {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := ReadAt(strings.NewReader(whole), 3); !errors.Is(err, ErrVersion) {
		t.Errorf("within a record: %v", err)
	}
	if _, err := ReadAt(strings.NewReader(whole), int64(len(whole))); !errors.Is(err, ErrCut) {
		t.Errorf("at the end: %v", err)
	}
	if _, err := ReadAt(strings.NewReader(whole), -1); err == nil {
		t.Error("a negative offset is read")
	}
}

func TestOlderFiles(t *testing.T) {
	const file = "WARC/1.0\r\nwarc-type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date:\r\n 2030-01-02T03:04:05Z\r\nWARC-Target-URI: <http://a.example/>\r\n" +
		"Content-Type: application/http;msgtype=response\r\nWARC-Payload-Digest: sha1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d\r\nContent-Length: 21\r\n\r\nHTTP/1.0 200\r\n\r\nhello\r\n\r\n"
	n := 0
	for rec := range records(t, []byte(file+file)) {
		n++
		if rec.Version != "1.0" || rec.TargetURI() != "http://a.example/" || rec.Type != Response || rec.Date.Second() != 5 {
			t.Errorf("%+v", rec)
		}
		if err := rec.Verify(); err != nil {
			t.Error(err)
		}
	}
	if n != 2 {
		t.Errorf("%d records", n)
	}
	for _, s := range []string{"2030", "2030-01", "2030-01-02", "2030-01-02T03:04Z", "2030-01-02T03:04:05.123456789Z"} {
		if d, err := parseDate(s); err != nil || d.Year() != 2030 {
			t.Errorf("%s: %v, %v", s, d, err)
		}
	}
}

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	const record = head + "WARC-Block-Digest: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\r\n" +
		"WARC-Payload-Digest: md5:5d41402abc4b2a76b9719d911017c592\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"
	for _, c := range []struct {
		old, new string
		want     error
	}{
		{"hello", "hello", nil}, {"hello", "jello", ErrDigest}, {"md5:5", "md5:6", ErrDigest}, {"sha256:2", "crc32:2", ErrAlgorithm}, {"md5:5", ":5", ErrAlgorithm},
	} {
		r := NewReader(strings.NewReader(strings.Replace(record, c.old, c.new, 1) + record))
		rec, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Verify(); !errors.Is(err, c.want) {
			t.Errorf("%s for %s: %v, want %v", c.new, c.old, err, c.want)
		}
		if rec, err = r.Next(); err != nil {
			t.Errorf("the record after: %v", err)
		} else if err := rec.Verify(); err != nil {
			t.Errorf("the record after: %v", err)
		}
	}
	r := NewReader(strings.NewReader(record))
	rec, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := rec.Verify(); err == nil {
		t.Error("half a block is verified")
	}
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	if _, err := rec.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("a record that has gone by is read: %v", err)
	}
}

func TestDigestsInEveryForm(t *testing.T) {
	const sum = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d" // of hello
	for digest, fits := range map[string]bool{
		"sha1:" + sum: true, "SHA1:" + strings.ToUpper(sum): true, "sha-1:" + sum: true,
		"sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N": true, "sha1:vl2mmho4yxukfwv63yhtwsbm3gxksq2n": true,
		"sha1:qvTGHdzF6KLavt4PO0gs2a6pQ00=": true, "sha1:qvTGHdzF6KLavt4PO0gs2a6pQ00": true,
		"sha256:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=": true, "sha256:LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=": true,
		"sha1:QVTGHDZF6KLAVT4PO0GS2A6PQ00=": false, "sha1:": false, "sha1:=": false, "sha1:qvTGHdzF6KLavt4PO0gs2a6pQ0": false,
	} {
		rec, err := NewReader(strings.NewReader(head + "WARC-Payload-Digest: " + digest + "\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n")).Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := rec.Verify(); (err == nil) != fits || err != nil && !errors.Is(err, ErrDigest) {
			t.Errorf("%s: %v", digest, err)
		}
	}
}

func TestHeadsThatAreTooLong(t *testing.T) {
	x := page("hello")
	x.Response.Header.Set("X", strings.Repeat("y", MaxHead))
	file, _ := mustExchange(t, encoder(t, Options{}), nil, x)
	rec, err := ReadAt(bytes.NewReader(file), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rec.Response(); err == nil {
		t.Error("is read")
	}
}

func FuzzReader(f *testing.F) {
	for _, plain := range []bool{true, false} {
		file, _ := mustExchange(f, encoder(f, Options{Plain: plain}), nil, page("hello"))
		f.Add(file)
	}
	f.Add([]byte(strings.Join(arcRecords, "")))
	f.Add([]byte(zipped(arcRecords[0]) + zipped(arcRecords[1])))
	f.Add([]byte(head + "Content-Length: 3\r\n\r\nhi\r\n\r\n" + head + "Content-Length: 2\r\n\r\nhi\r\n\r\n"))
	f.Add([]byte(zipped(head + "Content-Length: 9\r\n\r\nhi\r\n\r\n")))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := NewReader(bytes.NewReader(file))
		at := int64(0)
		for n := 0; ; n++ {
			if n > len(file) {
				t.Fatal("it does not come to an end")
			}
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				if _, err := r.Skip(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if rec.Offset < at {
				t.Fatalf("offset %d after %d", rec.Offset, at)
			}
			at = rec.Offset
			var e *Error
			if err := rec.Verify(); err != nil && !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			length, err := rec.Close()
			if err != nil {
				continue
			}
			if at += length; length <= 0 || at > int64(len(file)) {
				t.Fatalf("%d bytes at %d of %d", length, rec.Offset, len(file))
			}
			again, err := ReadAt(bytes.NewReader(file), rec.Offset)
			if err != nil || again.ID != rec.ID {
				t.Fatalf("%+v, %v, want %+v", again, err, rec)
			}
			if again.Type == Response {
				if resp, err := again.Response(); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
				}
			} else if _, err := again.Fields(); err != nil && !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
		}
	})
}

// article is a page of some size as sites have them: head, navigation, and text that
// somebody has written for people, here that of a page of our documentation.
func article(t testing.TB, size int) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/outputs.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Outputs</title>\n<link rel=\"stylesheet\" href=\"/style.css\"></head>\n<body>\n<nav><ul>\n")
	for i, word := range strings.Fields(string(text))[:60] {
		word = strings.Trim(html.EscapeString(word), "`*#|:;,.()")
		fmt.Fprintf(&b, "<li><a class=\"nav-%d\" href=\"/docs/%s-%d.html\">%s</a></li>\n", i%3, strings.ToLower(word), i, word)
	}
	b.WriteString("</ul></nav>\n<main>\n")
	for i, paragraph := range strings.Split(string(text), "\n\n") {
		fmt.Fprintf(&b, "<p id=\"p%d\">%s</p>\n", i, html.EscapeString(paragraph))
	}
	if b.Len() < size {
		t.Fatalf("a page of %d bytes where %d are wanted", b.Len(), size)
	}
	return b.String()[:size]
}

// What a page of 20 KiB costs by the level of gzip, and what is left of it.
func BenchmarkAppendExchange(b *testing.B) {
	body := article(b, 20<<10)
	for _, level := range []int{1, 2, 3, 5, 6, 9} {
		b.Run(fmt.Sprint("level=", level), func(b *testing.B) {
			e := encoder(b, Options{Level: level})
			x := page(body)
			plain, _ := mustExchange(b, encoder(b, Options{Plain: true}), nil, x)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = mustExchange(b, e, buf[:0], x)
			}
			b.ReportMetric(float64(len(buf)), "bytes")
			b.ReportMetric(float64(len(buf))/float64(len(plain)), "of-plain")
		})
	}
}

func BenchmarkReader(b *testing.B) {
	e := encoder(b, Options{})
	var file []byte
	for range 100 {
		file, _ = mustExchange(b, e, file, page(strings.Repeat("hello world ", 1700)))
	}
	b.ReportAllocs()
	for b.Loop() {
		for rec := range records(b, file) {
			if err := rec.Verify(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A reader that is to read another file knows nothing of the one before: neither where it
// was, nor what was wrong there.
func TestAReaderThatIsResetReadsAsANewOne(t *testing.T) {
	e, err := NewEncoder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	file, placed, err := e.AppendExchange(nil, &Exchange{
		URL: "http://a.example/", Date: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		Response: &HTTP{StartLine: StatusLine(200), Body: []byte("hello"), Coding: Unchunked},
		Request:  &HTTP{Head: []byte("GET / HTTP/1.1\r\n\r\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := new(Reader)
	for name, before := range map[string]string{
		"nothing": "", "no record": "no record", "a cut record": string(file[:len(file)/3]), "an ARC file": strings.Join(arcRecords, ""), "a whole file": string(file),
		"a record that is none": "WARC/1.1\r\n\r\n",
	} {
		r.Reset(strings.NewReader(before), 5)
		var old *Record
		for rec, err := r.Next(); err == nil; rec, err = r.Next() {
			old = rec
		}
		r.Reset(bytes.NewReader(file[placed[1].Offset:]), placed[1].Offset)
		rec, err := r.Next()
		if err != nil || rec.Type != Request || rec.Offset != placed[1].Offset {
			t.Fatalf("behind %s: %+v, %v", name, rec, err)
		}
		if n, err := rec.Close(); n != placed[1].Length || err != nil {
			t.Errorf("behind %s: %d bytes, %v", name, n, err)
		}
		if old != nil {
			if n, err := old.Read(make([]byte, 1)); n > 0 || err == nil {
				t.Errorf("behind %s: its record is still read", name)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("behind %s: %v", name, err)
		}
	}
}
