package warc

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

var errMisuse = errors.New("a reader that fails")

// An oddReader is a reader that violates the contract of io.Reader.
type oddReader func(p []byte) (int, error)

func (f oddReader) Read(p []byte) (int, error)            { return f(p) }
func (f oddReader) ReadAt(p []byte, _ int64) (int, error) { return f(p) }
func (f oddReader) Write(p []byte) (int, error)           { return f(p) }

// quiet calls f. It fails the test if f panics or does not return in time.
func quiet(t *testing.T, name string, f func() error, wantError bool) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s panics: %v", name, v)
		}
	}()
	if err := f(); (err != nil) != wantError {
		t.Errorf("%s: %v", name, err)
	} else if err != nil && len(err.Error()) > 1<<12 {
		t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
	}
}

// The zero Exchange, and other values that cannot be written, give an error, and nothing is
// written.
func TestExchangesThatCannotBeWritten(t *testing.T) {
	now := time.Now()
	good := func() *Exchange {
		return &Exchange{URL: "http://a.example/", Date: now, Request: &HTTP{Head: []byte("GET / HTTP/1.1\r\n\r\n")}, Response: &HTTP{Head: []byte("HTTP/1.1 200 OK\r\n\r\n"), Body: []byte("x")}}
	}
	for name, test := range map[string]struct {
		change func(x *Exchange)
		fails  bool
	}{
		"as it is":         {func(*Exchange) {}, false},
		"zero":             {func(x *Exchange) { *x = Exchange{} }, true},
		"no date":          {func(x *Exchange) { x.Date = time.Time{} }, true},
		"the year 10000":   {func(x *Exchange) { x.Date = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, true},
		"the year -1":      {func(x *Exchange) { x.Date = time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC) }, true},
		"a line end":       {func(x *Exchange) { x.URL = "http://a.example/\r\nX: y" }, true},
		"a NUL":            {func(x *Exchange) { x.InfoID = "a\x00b" }, true},
		"a field's name":   {func(x *Exchange) { x.Metadata = []Field{{Name: "a b", Value: "c"}} }, true},
		"a field's value":  {func(x *Exchange) { x.Metadata = []Field{{Name: "A", Value: "c\nd"}} }, true},
		"no head":          {func(x *Exchange) { x.Response.Head = nil }, true},
		"no request":       {func(x *Exchange) { x.Request = nil }, false},
		"nothing":          {func(x *Exchange) { x.Request, x.Response = nil, nil }, true},
		"a huge body":      {func(x *Exchange) { x.Response.Body = make([]byte, 1<<20) }, false},
		"an odd cut":       {func(x *Exchange) { x.Truncated = "a\r\nb" }, true},
		"an odd cipher":    {func(x *Exchange) { x.Cipher = "\r\n" }, true},
		"an odd protocol":  {func(x *Exchange) { x.Protocol = []string{"", "h2", "\n"} }, true},
		"a revisit of nil": {func(x *Exchange) { x.Revisit = &RevisitOf{} }, true},
	} {
		for _, plain := range []bool{false, true} {
			e, err := NewEncoder(Options{Plain: plain})
			if err != nil {
				t.Fatal(err)
			}
			x := good()
			test.change(x)
			var out bytes.Buffer
			quiet(t, name, func() error { _, err := e.WriteExchange(&out, x); return err }, test.fails)
			quiet(t, name+", appended", func() error {
				b, _, err := e.AppendExchange([]byte("before"), x)
				if !bytes.HasPrefix(b, []byte("before")) {
					t.Errorf("%s: what was there is lost", name)
				}
				return err
			}, test.fails)
			// The Encoder can still be used after the error.
			quiet(t, name+", and a good one", func() error { _, err := e.WriteExchange(io.Discard, good()); return err }, false)
		}
	}
	e, _ := NewEncoder(Options{})
	for name, w := range map[string]io.Writer{
		"a writer that fails":  oddReader(func([]byte) (int, error) { return 0, errMisuse }),
		"a writer of one byte": oddReader(func([]byte) (int, error) { return 1, io.ErrShortWrite }),
		"a writer of too much": oddReader(func(p []byte) (int, error) { return len(p), errMisuse }),
	} {
		quiet(t, name, func() error { _, err := e.WriteExchange(w, good()); return err }, true)
		quiet(t, name+", info", func() error { _, err := e.WriteInfo(w, &Info{}); return err }, true)
	}
	for name, o := range map[string]Options{"level": {Level: 99}, "negative level": {Level: -99}} {
		quiet(t, name, func() error { _, err := NewEncoder(o); return err }, true)
	}
}

// If a reader fails or returns odd lengths, reading the archive ends with an error.
func TestInvalidArchives(t *testing.T) {
	for name, r := range map[string]oddReader{
		"fails":          func([]byte) (int, error) { return 0, errMisuse },
		"is never ready": func([]byte) (int, error) { return 0, nil },
		"zeros":          func(p []byte) (int, error) { clear(p); return len(p), nil },
		"one line":       func(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil },
		"line ends":      func(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("\r\n"), len(p)/2+1)), nil },
		"heads": func(p []byte) (int, error) {
			return copy(p, bytes.Repeat([]byte("WARC/1.1\r\nA: b\r\n"), len(p)/16+1)), nil
		},
		"gzip for ever":     func(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("\x1f\x8b\x08\x00"), len(p)/4+1)), nil },
		"data and an error": func(p []byte) (int, error) { return copy(p, "WARC/1.1\r\n"), errMisuse },
	} {
		quiet(t, name, func() error { _, err := NewReader(io.LimitReader(r, 1<<24)).Next(); return err }, true)
		quiet(t, name+", at", func() error {
			rec, err := ReadAt(io.NewSectionReader(r, 0, 1<<20), 0)
			if err == nil {
				_, err = io.Copy(io.Discard, rec)
			}
			return err
		}, true)
	}
	whole := archiveOf(t)
	for name, at := range map[string]int64{"negative": -1, "behind": 1 << 40, "the largest": math.MaxInt64, "in the middle": 5} {
		quiet(t, name, func() error { _, err := ReadAt(bytes.NewReader(whole), at); return err }, true)
	}
	for cut := range len(whole) {
		r := NewReader(bytes.NewReader(whole[:cut]))
		var err error
		for n := 0; err == nil && n < 100; n++ {
			var rec *Record
			if rec, err = r.Next(); err == nil {
				_, err = rec.Close()
			}
		}
		if err == nil {
			t.Fatalf("%d of %d bytes: no end", cut, len(whole))
		}
	}
}

// archiveOf returns a WARC file with the records of one exchange.
func archiveOf(t *testing.T) []byte {
	t.Helper()
	e, err := NewEncoder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	x := &Exchange{URL: "http://a.example/", Date: time.Now(), Request: &HTTP{Head: []byte("GET / HTTP/1.1\r\n\r\n")}, Response: &HTTP{Head: []byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"), Body: []byte("body")}}
	if _, err := e.WriteExchange(&out, x); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The methods of a record may be called in any order, also after Close and after the next record
// was read. They return errors, or the same results as before, and the reader continues.
func TestRecordsInAnyOrder(t *testing.T) {
	whole := archiveOf(t)
	uses := map[string]func(*Record){
		"Read":     func(r *Record) { r.Read(make([]byte, 3)) },
		"Read nil": func(r *Record) { r.Read(nil) },
		"Response": func(r *Record) {
			if resp, err := r.Response(); err == nil {
				resp.Body.Read(make([]byte, 1))
				resp.Body.Close()
				resp.Body.Read(make([]byte, 1))
			}
		},
		"Response, unread": func(r *Record) { r.Response() },
		"Fields":           func(r *Record) { r.Fields() },
		"Placed":           func(r *Record) { r.Placed() },
		"Verify":           func(r *Record) { r.Verify() },
		"Close":            func(r *Record) { r.Close() },
		"readers":          func(r *Record) { r.Head(); r.TargetURI(); r.Header.Get(""); r.Header.Values("\x00") },
	}
	for first, one := range uses {
		for second, other := range uses {
			quiet(t, first+", "+second, func() error {
				r := NewReader(bytes.NewReader(whole))
				var last *Record
				for n := 0; ; n++ {
					rec, err := r.Next()
					if errors.Is(err, io.EOF) {
						if n < 2 {
							t.Errorf("%s, %s: %d records", first, second, n)
						}
						return nil
					}
					if err != nil {
						return err
					}
					one(rec)
					other(rec)
					if last != nil {
						one(last)
						other(last)
					}
					last = rec
				}
			}, false)
		}
	}
}

// The methods of zero values do not panic.
func TestZeroValues(t *testing.T) {
	quiet(t, "Error", func() error { e := &Error{}; _ = e.Unwrap(); return e }, true)
	quiet(t, "Header", func() error { _, _ = Header(nil).Get("x"), Header(nil).Values(""); return nil }, false)
	quiet(t, "PayloadDigest", func() error { _ = PayloadDigest(&HTTP{}); return nil }, false)
	quiet(t, "lines", func() error {
		_, _, _ = RequestLine("", ""), StatusLine(-1), StatusLine(0)
		return nil
	}, false)
	quiet(t, "Info", func() error { e, _ := NewEncoder(Options{}); _, err := e.WriteInfo(io.Discard, &Info{}); return err }, true)
	quiet(t, "Fill", func() error { return new(Purged).Fill(io.Discard, -1) }, true)
	quiet(t, "Fill, none", func() error { return new(Purged).Fill(io.Discard, 0) }, true)
	quiet(t, "an empty archive", func() error { _, err := NewReader(strings.NewReader("")).Next(); return err }, true)
	quiet(t, "Skip of nothing", func() error { _, err := NewReader(strings.NewReader("")).Skip(); return err }, false)
}
