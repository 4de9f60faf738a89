package fetch

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// coded is what b becomes in a content coding.
func coded(t testing.TB, coding string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriterLevel(&out, 5)
	case "zstd":
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return b
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// answer is a response in a coding, its length given, or chunked.
func answer(coding string, wire []byte, chunked bool) string {
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	if coding != "" {
		head += "Content-Encoding: " + coding + "\r\n"
	}
	if chunked {
		return fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(wire), wire)
	}
	return head + "Content-Length: " + strconv.Itoa(len(wire)) + "\r\n\r\n" + string(wire)
}

func TestContentCodings(t *testing.T) {
	plain := text(50_000)
	for _, coding := range []string{"", "identity", "gzip", "x-gzip", "GZip", "br", "zstd"} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s chunked=%t", coding, chunked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					name := strings.TrimPrefix(strings.ToLower(coding), "x-")
					packed := coded(t, name, plain)
					var accepted string
					w := &wire{serve: answers(noRobots(func(r *request, n int) string {
						accepted = r.header.Get("Accept-Encoding")
						return answer(coding, packed, chunked)
					}))}
					v := newTour(t, Options{Network: w, KeepWire: true})
					for range 3 { // the decoder is used again
						res, all := v.visit("http://a.example/")
						x := last(all)
						if res.Page == nil || !bytes.Equal(x.Body, plain) || x.Truncated != "" {
							t.Fatalf("%d bytes of body, truncated %q: %v", len(x.Body), x.Truncated, x.Err)
						}
						if !bytes.Equal(x.Wire, packed) || x.WireBytes != int64(len(packed)) {
							t.Errorf("%d bytes of wire body, counted %d, want %d", len(x.Wire), x.WireBytes, len(packed))
						}
					}
					if accepted != "gzip, br, zstd" {
						t.Errorf("Accept-Encoding: %s", accepted)
					}
					if len(w.dialed) != 1 {
						t.Errorf("%d connections, want 1", len(w.dialed))
					}
				})
			})
		}
	}
}

func TestTheBodyIsHeldOnceWhereThereIsNoCoding(t *testing.T) {
	for _, keep := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("hello") }))}
			res, _ := newTour(t, Options{Network: w, KeepWire: keep}).visit("http://a.example/")
			x := res.Page
			if x == nil || string(x.Body) != "hello" {
				t.Fatalf("page: %+v", x)
			}
			if keep != (x.Wire != nil) || keep && &x.Body[0] != &x.Wire[0] {
				t.Errorf("kept %t: %q", keep, x.Wire)
			}
		})
	}
}

func TestBodiesThatAreCodedBadly(t *testing.T) {
	plain := text(50_000)
	for _, coding := range []string{"gzip", "br", "zstd"} {
		whole := coded(t, coding, plain)
		broken := bytes.Clone(whole)
		for i := 20; i < 60; i++ {
			broken[i] ^= 0x55
		}
		for _, tc := range []struct {
			name      string
			packed    []byte
			want      Stage
			truncated string
		}{
			{"empty", nil, "", ""},
			{"half", whole[:len(whole)/2], StageTruncated, "disconnect"},
			{"plain", []byte(strings.Repeat("this is not compressed at all ", 20)), StageEncoding, "unspecified"},
			{"broken", broken, StageEncoding, "unspecified"},
		} {
			t.Run(coding+" "+tc.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{serve: answers(noRobots(func(r *request, n int) string { return answer(coding, tc.packed, false) }))}
					_, all := newTour(t, Options{Network: w}).visit("http://a.example/")
					x := all[1]
					if stage(x) != tc.want || x.Truncated != tc.truncated {
						t.Errorf("stage %q, truncated %q; want %q, %q: %v", stage(x), x.Truncated, tc.want, tc.truncated, x.Err)
					}
				})
			})
		}
	}
}

// What goes wrong on the wire is not put down to the coding.
func TestTheWireIsNotTheCoding(t *testing.T) {
	f := newTour(t, Options{}).fetcher
	cause := errors.New("cause")
	for _, coding := range []string{"gzip", "br", "zstd", ""} {
		whole := coded(t, coding, text(50_000))
		for _, n := range []int{0, 1, len(whole) / 2} {
			resp := response(coding, nil)
			resp.ContentLength = -1
			resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(cause)))
			if _, err := f.Decode(resp); err != cause {
				t.Errorf("%q after %d bytes: %v", coding, n, err)
			}
			// Nor where it waits for a decoder.
			busy := newBudget(1, t.TempDir())
			busy.windows.TryAcquire(maxWindows)
			resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(cause)))
			b, err := f.readBody(resp, busy, 1<<20, false, func(int) {})
			if b.free(); err != cause {
				t.Errorf("%q after %d bytes, without a decoder: %v", coding, n, err)
			}
		}
	}
}

func TestAGzipBodyMayBeShorterThanItsLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := text(50_000)
		w := &wire{serve: answers(noRobots(func(r *request, n int) string {
			return "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 50000\r\n\r\n" + string(gzipped(plain))
		}))}
		_, all := newTour(t, Options{Network: w}).visit("http://a.example/")
		if x := last(all); !bytes.Equal(x.Body, plain) || x.Ended != x.FirstByte {
			t.Errorf("%d bytes of body after %v: %v", len(x.Body), x.Ended.Sub(x.FirstByte), x.Err)
		}
	})
}

// response is one as net/http gives it.
func response(coding string, wire []byte) *http.Response {
	return &http.Response{
		Header: http.Header{"Content-Encoding": {coding}}, ContentLength: int64(len(wire)),
		Body: io.NopCloser(bytes.NewReader(wire)), ProtoMajor: 1,
	}
}

func TestBombsCostTheCap(t *testing.T) {
	const limit = 16 << 20
	bomb := make([]byte, 32<<20)
	for _, coding := range []string{"gzip", "br", "zstd"} {
		t.Run(coding, func(t *testing.T) {
			wire := coded(t, coding, bomb)
			f := &Fetcher{}
			defer f.decoders.close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b, err := f.readBody(response(coding, wire), nil, limit, false, func(int) {})
			err = cmp.Or(err, b.settle(t.Context(), f))
			runtime.ReadMemStats(&after)
			if err != nil || !b.cut {
				t.Fatalf("cut %t: %v", b.cut, err)
			}
			if n := int64(len(b.decoded)); n > limit || n > max(freeBytes, maxRatio*b.n)+64<<10 {
				t.Errorf("%d bytes of body from %d", n, b.n)
			}
			// What was allocated is more than what was ever resident.
			if n := after.TotalAlloc - before.TotalAlloc; n > limit+16<<20 {
				t.Errorf("%d bytes of memory for a cap of %d", n, limit)
			}
		})
	}
}

func TestCodingsThatStandForNothingEnd(t *testing.T) {
	const limit = 1 << 20
	nothing := map[string][2]string{
		"gzip": {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\xff\xff"}, // RFC 1951, section 3.2.4
		"zstd": {"", "\x50\x2a\x4d\x18\x01\x00\x00\x00x"},                            // RFC 8878, section 3.1.2
	}
	for coding, parts := range nothing {
		wire := []byte(parts[0] + strings.Repeat(parts[1], 8*limit/len(parts[1])))
		f := &Fetcher{opts: Options{KeepWire: true}}
		b, err := f.readBody(response(coding, wire), nil, limit, false, func(int) {})
		err = cmp.Or(err, b.settle(t.Context(), f))
		if err != nil || !b.cut || len(b.decoded) != 0 || len(b.wire) > 2*limit || b.n != int64(len(b.wire)) {
			t.Errorf("%s: %d bytes of %d on the wire, %d of body, cut %t: %v", coding, b.n, len(b.wire), len(b.decoded), b.cut, err)
		}
		f.decoders.close()
	}
}

func TestLargeBodiesThatAreNoBombsAreWhole(t *testing.T) {
	blanks := bytes.Repeat([]byte(" "), 1<<20)
	table := text(6 << 20)
	for _, coding := range []string{"gzip", "br", "zstd"} {
		for name, plain := range map[string][]byte{"blanks": blanks, "table": table} {
			f := &Fetcher{}
			b, err := f.readBody(response(coding, coded(t, coding, plain)), nil, 16<<20, false, func(int) {})
			err = cmp.Or(err, b.settle(t.Context(), f))
			if err != nil || b.cut || !bytes.Equal(b.decoded, plain) {
				t.Errorf("%s, %s: %d bytes of %d, cut %t: %v", coding, name, len(b.decoded), len(plain), b.cut, err)
			}
			f.decoders.close()
		}
	}
}

func TestAWindowThatIsTooLargeIsRefused(t *testing.T) {
	var wire bytes.Buffer
	z, err := zstd.NewWriter(&wire, zstd.WithWindowSize(16<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	z.Write(text(17 << 20))
	z.Close()
	f := &Fetcher{}
	defer f.decoders.close()
	b, err := f.readBody(response("zstd", wire.Bytes()), nil, 1<<20, false, func(int) {})
	err = cmp.Or(err, b.settle(t.Context(), f))
	if _, ok := err.(*decodeError); !ok {
		t.Errorf("error %v", err)
	}
}

// RFC 9659, section 3: windows of up to 8 MiB.
func TestWindowsOfZstd(t *testing.T) {
	for window, want := range map[byte]bool{0x67: true, 0x68: true, 0x69: false} { // 7.5, 8 and 9 MiB (RFC 8878, section 3.1.1.1.2)
		f := &Fetcher{opts: Options{MaxSize: 100}}
		wire := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, window, 5<<3 | 1, 0, 0}, "hello"...)
		b, err := f.Decode(response("zstd", wire))
		if (err == nil) != want || want && string(b) != "hello" {
			t.Errorf("window %x: %q, %v", window, b, err)
		}
		f.decoders.close()
	}
}

func TestDecodersThatAreTooManyAreNotKept(t *testing.T) {
	var p decoders
	var used []*decoder
	for range idleDecoders + 3 {
		used = append(used, p.get("zstd"))
	}
	for _, d := range used {
		p.put(d)
	}
	if n := len(p.idle["zstd"]); n != 2 {
		t.Errorf("%d decoders are kept, want %d", n, idleDecoders)
	}
	first, second := p.get("zstd"), p.get("zstd")
	if first == second || p.get("br") == nil || len(p.idle["zstd"]) != 0 {
		t.Error("a decoder is used twice")
	}
	p.put(first)
	p.put(second)
	p.close()
	for _, d := range used { // those that were too many, too
		if _, err := d.undo.Read(make([]byte, 1)); err != zstd.ErrDecoderClosed {
			t.Errorf("a decoder that is not used is open: %v", err)
		}
	}
	if !p.mu.TryLock() || len(p.idle) != 0 {
		t.Error("the decoders are locked, or some are there")
	}
}

func TestCodingsOfAnAnswer(t *testing.T) {
	for field, want := range map[string]string{
		"": "", "identity": "", " GZip ": "gzip", "x-gzip": "gzip", "br": "br", "zstd": "zstd",
		"utf-8": "", "none": "", // of servers that mean something else
	} {
		if got, err := codingOf(http.Header{"Content-Encoding": {field}}); got != want || err != nil {
			t.Errorf("%q = %q, %v", field, got, err)
		}
	}
	for _, fields := range [][]string{{"compress"}, {"x-compress"}, {"deflate"}, {"gzip, br"}, {"gzip", "br"}, {"utf-8, gzip"}} {
		got, err := codingOf(http.Header{"Content-Encoding": fields})
		if _, ok := err.(*decodeError); !ok || got != "" {
			t.Errorf("%q = %q, %v", fields, got, err)
		}
	}
	if got, err := codingOf(http.Header{}); got != "" || err != nil {
		t.Errorf("no field: %q, %v", got, err)
	}
}

// zeros is a decoder of a body of zeros.
type zeros struct{ asked []int }

func (z *zeros) Reset(io.Reader) error { return nil }

func (z *zeros) Read(p []byte) (int, error) {
	z.asked = append(z.asked, len(p))
	return len(p), nil
}

func TestTheBoundsOfTheBombGuard(t *testing.T) {
	for _, tc := range []struct {
		before, wire int64
		want         error
	}{
		{freeBytes - 1, 0, nil}, {freeBytes, 0, ErrBomb}, {freeBytes, freeBytes/maxRatio + 1, nil},
		{100*50_000 - 1, 50_000, nil}, {100 * 50_000, 50_000, ErrBomb},
	} {
		g := &guarded{d: &decoder{undo: &zeros{}, src: source{n: tc.wire}}, n: tc.before}
		if n, err := g.Read(make([]byte, 1)); n != 1 || err != tc.want {
			t.Errorf("%d bytes and one from %d: %d, %v, want %v", tc.before, tc.wire, n, err, tc.want)
		}
	}
	z := &zeros{}
	g := &guarded{d: &decoder{undo: z}}
	for _, size := range []int{1, 64 << 10, 64<<10 + 1, 1 << 20} {
		g.Read(make([]byte, size))
	}
	if got := fmt.Sprint(z.asked); got != "[1 65536 65536 65536]" || freeBytes != 4<<20 || maxRatio != 100 {
		t.Errorf("portions %s, %d bytes free, ratio %d", got, freeBytes, maxRatio)
	}
}

func FuzzContentEncoding(f *testing.F) {
	for _, s := range []string{"", "gzip", "identity", "br", "zstd", "gzip, br", "compress", "utf-8", "GZIP ", "x-gzip"} {
		f.Add(s, []byte("hello"))
		f.Add(s, gzipped([]byte("hello")))
		f.Add(s, coded(f, "br", []byte("hello")))
		f.Add(s, coded(f, "zstd", []byte("hello")))
	}
	f.Fuzz(func(t *testing.T, coding string, wire []byte) {
		const limit = 1000
		fetcher := &Fetcher{opts: Options{KeepWire: true}}
		defer fetcher.decoders.close()
		b, err := fetcher.readBody(response(coding, wire), nil, limit, false, func(int) {})
		err = cmp.Or(err, b.settle(t.Context(), fetcher))
		if len(b.decoded) > limit {
			t.Errorf("%d bytes of body, the cap is %d", len(b.decoded), limit)
		}
		if err == nil && !b.cut && coding != "" && len(b.wire) > len(wire) {
			t.Errorf("%d bytes of wire body of %d", len(b.wire), len(wire))
		}
	})
}
