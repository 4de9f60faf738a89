package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// The memory of a body is reused only after Release.
func TestLentBodies(t *testing.T) {
	f := &Fetcher{}
	read := func(fill byte, coding string) *Exchange {
		t.Helper()
		plain := bytes.Repeat([]byte{fill}, 50_000)
		b, err := f.readBody(response(coding, coded(t, coding, plain)), nil, 1<<20, true, func(int) {})
		err = errors.Join(err, b.settle(t.Context(), f))
		if err != nil || !bytes.Equal(b.decoded, plain) {
			t.Fatalf("%d bytes: %v", len(b.decoded), err)
		}
		return &Exchange{Status: http.StatusOK, Body: b.decoded, Wire: b.wire, lent: b.lent}
	}
	var kept []*Exchange
	for i := range byte(20) {
		coding := []string{"", "gzip"}[i%2]
		x := read('a'+i, coding)
		if i%3 > 0 {
			x.Release()
			if x.Body != nil {
				t.Error("a body that was given back is still there")
			}
			x.Release() // a second call has no effect
			continue
		}
		kept = append(kept, x)
	}
	for i, x := range kept {
		if want := 'a' + byte(3*i); x.Body[0] != want || x.Body[len(x.Body)-1] != want {
			t.Errorf("body %d begins with %q, want %q", i, x.Body[0], want)
		}
	}
	f.decoders.close()
}

func TestLongBodiesAreReadIntoOnePiece(t *testing.T) {
	f := &Fetcher{}
	plain := text(3 << 20)
	resp := response("", plain)
	resp.ContentLength = int64(len(plain))
	b, err := f.readBody(resp, nil, 16<<20, true, func(int) {})
	err = errors.Join(err, b.settle(t.Context(), f))
	if err != nil || !bytes.Equal(b.decoded, plain) || cap(b.decoded) != len(plain)+1 || b.lent != nil {
		t.Errorf("%d bytes in %d, lent %t: %v", len(b.decoded), cap(b.decoded), b.lent != nil, err)
	}
	// A false Content-Length costs no more memory than maxTrusted.
	resp = response("", []byte("short"))
	resp.ContentLength = 1 << 40
	if b, _ := f.readBody(resp, nil, 1<<50, false, func(int) {}); cap(b.plain.b) != 4194305 {
		t.Errorf("%d bytes of memory for %d", cap(b.plain.b), len(b.plain.b))
	}
}

// Only bodies up to maxScratch bytes are lent.
func TestOnlySmallBodiesAreLent(t *testing.T) {
	for size, want := range map[int]bool{1000: true, maxScratch - 1: true, maxScratch: false} {
		f := &Fetcher{}
		b, err := f.readBody(response("", text(size)), nil, 16<<20, true, func(int) {})
		if err = errors.Join(err, b.settle(t.Context(), f)); err != nil || (b.lent != nil) != want || len(b.decoded) != size {
			t.Errorf("%d bytes of %d, lent %t: %v", len(b.decoded), size, b.lent != nil, err)
		}
	}
}

// The memory for the bytes on the wire is allocated once, if the server sends a Content-Length.
func TestTheWireIsReadIntoOnePiece(t *testing.T) {
	f := &Fetcher{opts: Options{Bodies: Bodies{KeepWire: true}}}
	defer f.decoders.close()
	for _, size := range []int{1, 100, 50_000} {
		wire := gzipped(text(400_000))[:size]
		b, _ := f.readBody(response("gzip", wire), nil, 16<<20, false, func(int) {})
		if cap(b.kept.b) != size || len(b.kept.b) != size {
			t.Errorf("%d bytes of %d in a piece of %d", len(b.kept.b), size, cap(b.kept.b))
		}
	}
}

func TestASourceHasBounds(t *testing.T) {
	for _, tc := range []struct {
		most int
		end  int64
		want string // the number of bytes of each read
	}{
		{0, 0, "10 10 10 0"}, {1, 0, "1 1 1 1"}, {4, 0, "4 4 4 4"}, {0, 1, "10 0 0 0"}, {4, 4, "4 0 0 0"}, {4, 5, "4 4 0 0"}, {0, 20, "10 10 0 0"}, {0, 30, "10 10 10 0"},
	} {
		var told []string
		s := source{r: strings.NewReader(strings.Repeat("x", 30)), most: tc.most, end: tc.end, read: func(n int) { told = append(told, fmt.Sprint(n)) }}
		var got []string
		var err error
		for range 4 {
			var n int
			n, err = s.Read(make([]byte, 10))
			got = append(got, fmt.Sprint(n))
		}
		if strings.Join(got, " ") != tc.want || !strings.HasPrefix(tc.want, strings.Join(told, " ")) {
			t.Errorf("%d at once, %d at all: read %v, reported %v, want %s", tc.most, tc.end, got, told, tc.want)
		}
		if ended := tc.end > 0; ended != (err == errLength) || ended != (s.err == errLength) {
			t.Errorf("%d at once, %d at all: %v, %v", tc.most, tc.end, err, s.err)
		}
	}
	// Reading ends if the bytes cannot be kept.
	full := &spool{share: &share{budget: newBudget(1, t.TempDir()+"/none"), full: true}}
	s := source{r: strings.NewReader("x"), keep: full, read: func(int) {}}
	if _, err := s.Read(make([]byte, 10)); !isSpool(err) || !isSpool(s.err) {
		t.Errorf("%v, %v", err, s.err)
	}
}

// At most one byte more than the limit is read of a body, for any size of the reads.
func TestOneByteMoreThanTheLimitIsRead(t *testing.T) {
	f := &Fetcher{}
	for size, want := range map[int]int64{9: 9, 10: 10, 11: 11, 12: 11, 1000: 11} {
		for _, slow := range []bool{false, true} {
			resp := response("", text(size))
			if resp.ContentLength = -1; slow {
				resp.Body = io.NopCloser(iotest.OneByteReader(resp.Body))
			}
			b, err := f.readBody(resp, nil, 10, false, func(int) {})
			if err != nil || b.n != want || b.cut != (size > 10) || len(b.plain.b) != min(size, 10) {
				t.Errorf("%d bytes, one at a time %t: %d were read, %d are left, cut %t: %v", size, slow, b.n, len(b.plain.b), b.cut, err)
			}
		}
	}
}

// Encoded bytes that decode to nothing are read up to a limit, by a decoder or into a file.
func TestEncodedBytesThatDecodeToNothingAreLimited(t *testing.T) {
	const limit, most = 1600, 1600 + 100 + 65536
	wire := bytes.Repeat([]byte("\x50\x2a\x4d\x18\x01\x00\x00\x00x"), 10_000) // frames that decoders skip (RFC 8878, section 3.1.2)
	f := &Fetcher{}
	defer f.decoders.close()
	for _, busy := range []bool{false, true} {
		budget := newBudget(10, t.TempDir())
		resp := response("zstd", wire)
		if busy {
			budget.windows.TryAcquire(maxWindows)
		} else {
			resp.Body = io.NopCloser(iotest.OneByteReader(resp.Body))
		}
		b, err := f.readBody(resp, budget, limit, false, func(int) {})
		if busy {
			budget.windows.Release(maxWindows)
		}
		if err = errors.Join(err, b.settle(t.Context(), f)); err != nil || !b.cut || b.n != most || len(b.decoded) > 0 {
			t.Errorf("busy %t: %d bytes were read, want %d; cut %t: %v", busy, b.n, most, b.cut, err)
		}
		if b.raw != nil && b.raw.file != nil {
			t.Error("the file of a received body is open")
		}
		if !budget.windows.TryAcquire(maxWindows) || budget.windows.TryAcquire(1) {
			t.Errorf("busy %t: not each decoder is free", busy)
		}
	}
}

// The bytes after the end of a coding are read if this keeps the connection usable. They are not
// read if the Content-Length may be wrong.
func TestBytesAfterACoding(t *testing.T) {
	wire := append(gzipped([]byte("hello")), make([]byte, 20_000)...)
	for _, tc := range []struct {
		length  int64
		version int
		whole   bool
	}{{-1, 1, true}, {0, 1, false}, {1, 1, false}, {30_000, 1, false}, {30_000, 2, true}, {30_000, 3, false}} {
		f := &Fetcher{}
		resp := response("gzip", wire)
		resp.ContentLength, resp.ProtoMajor = tc.length, tc.version
		b, err := f.readBody(resp, nil, 1<<20, false, func(int) {})
		if err != nil || string(b.plain.b) != "hello" || (b.n == int64(len(wire))) != tc.whole {
			t.Errorf("length %d, HTTP/%d: %d bytes of %d were read, body %q: %v", tc.length, tc.version, b.n, len(wire), b.plain.b, err)
		}
		if idle := f.decoders.idle["gzip"]; len(idle) != 1 || idle[0].from != nil {
			t.Error("the decoder was not given back, or holds on to the body")
		}
	}
}

// A body waits for a decoder in its encoded form. Errors on the wire have the same results as for
// other bodies.
func TestBodiesThatWaitForADecoder(t *testing.T) {
	hello := string(coded(t, "br", []byte("hello")))
	for name, tc := range map[string]struct {
		wire      string
		more      int // announced bytes that the server does not send
		want      Stage
		truncated string
		body      string
	}{
		"whole":  {hello, 0, "", "", "hello"},
		"broken": {strings.Repeat("no brotli at all ", 20), 0, StageEncoding, "unspecified", ""},
		"stops":  {hello[:3], 9, StageBodyTimeout, "time", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %d\r\n\r\n", len(tc.wire)+tc.more)
			w := &wire{serve: answers(noRobots(func(*request, int) string { return head + tc.wire }))}
			f := newTour(t, Options{Network: w, Bodies: Bodies{BodyBudget: 10, TempDir: t.TempDir()}}).fetcher
			for range maxWindows {
				f.bodies.window("br")
			}
			time.AfterFunc(time.Hour, func() { f.bodies.freeWindow("br") })
			ctx, cancel := context.WithCancel(t.Context())
			var x *Exchange
			visitWith(ctx, f, "http://a.example/", func(r *Result) {
				if x = last(r.Exchanges); !x.Robots {
					cancel()
				}
			})
			if stage(x) != tc.want || x.Truncated != tc.truncated || string(x.Body) != tc.body || x.WireBytes != int64(len(tc.wire)) {
				t.Errorf("%s: stage %q, truncated %q, body %q, %d bytes of %d: %v", name, stage(x), x.Truncated, x.Body, x.WireBytes, len(tc.wire), x.Err)
			}
			if took := x.Ended.Sub(x.Started); took > time.Minute {
				t.Errorf("%s: took %v: the wait is not the site's", name, took)
			}
			if !f.bodies.windows.TryAcquire(1) || f.bodies.windows.TryAcquire(1) {
				t.Errorf("%s: not one decoder is free", name)
			}
		})
	}
}

// A body that failed holds no memory and no file after free.
func TestABodyThatIsFreedHasNoFiles(t *testing.T) {
	budget := newBudget(10, t.TempDir())
	b := &body{share: share{budget: budget, full: true}, raw: &spool{share: &share{budget: budget, full: true}}}
	b.plain.share, b.kept.share = &b.share, &b.share
	var files []*os.File
	for _, p := range []*spool{&b.plain, &b.kept, b.raw} {
		if err := p.append([]byte("x")); err != nil {
			t.Fatal(err)
		}
		files = append(files, p.file)
	}
	b.free()
	for i, file := range files {
		if err := file.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("file %d was open: %v", i, err)
		}
	}
	if b.plain.file != nil || b.kept.file != nil || b.raw.file != nil {
		t.Error("a file is there")
	}
}
