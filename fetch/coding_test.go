package fetch

import (
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
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

// coded returns b in a content coding.
func coded(t testing.TB, coding string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw deflate":
		w, _ = flate.NewWriter(&out, 5)
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

// answer returns an answer in a content coding, with a Content-Length or chunked.
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
					v := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}})
					for range 3 { // the later rounds reuse the decoder
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
			res, _ := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: keep}}).visit("http://a.example/")
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

// An error on the wire is not reported as an error of the content coding.
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
			// The error is the same for a body that waits for a decoder.
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

// response returns an http.Response whose body has a content coding.
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
			// TotalAlloc counts all allocations, so it is larger than the memory in use at any
			// time.
			if n := after.TotalAlloc - before.TotalAlloc; n > limit+16<<20 {
				t.Errorf("%d bytes of memory for a cap of %d", n, limit)
			}
		})
	}
}

// Each limit of an encoded body is tested with a body that no other limit ends.
func TestEachBoundOfABombAlone(t *testing.T) {
	const noLimit = 1 << 40
	blanks := make([]byte, 32<<20)
	prose := bytes.Repeat(text(64<<10), 64)                                                            // gzip compresses this text to about a thirtieth
	skipped := bytes.Repeat(append([]byte("\x50\x2a\x4d\x18\x00\x10\x00\x00"), text(4<<10)...), 4<<10) // frames that decoders skip (RFC 8878, section 3.1.2)
	for _, tc := range []struct {
		name, codings string
		wire          []byte
		limit, most   int64 // limit of the decoded bytes; most is the size of the body
		layer         int   // index of the decoder that is stopped; it has then decoded as many bytes as most says
		ends          int64
		by            error // the error that stops it; nil: the size limit of the body
	}{
		{"size", "gzip", coded(t, "gzip", prose), 1 << 20, 1 << 20, 0, 1<<20 + 1, nil},
		{"size", "br", coded(t, "br", text(4<<20)), 1 << 20, 1 << 20, 0, 1<<20 + 1, nil},
		{"size", "zstd", coded(t, "zstd", text(4<<20)), 1 << 20, 1 << 20, 0, 1<<20 + 1, nil},
		{"size", "deflate", coded(t, "deflate", text(4<<20)), 1 << 20, 1 << 20, 0, 1<<20 + 1, nil},
		{"size of the last", "gzip, deflate", chained(t, prose, "gzip", "deflate"), 1 << 20, 1 << 20, 1, 1<<20 + 1, nil},
		{"ratio", "gzip", coded(t, "gzip", blanks), noLimit, 5 << 20, 0, 5 << 20, errBomb},
		{"ratio", "deflate", coded(t, "raw deflate", blanks), noLimit, 5 << 20, 0, 5 << 20, errBomb},
		{"ratio", "br", coded(t, "br", blanks), noLimit, 5 << 20, 0, 5 << 20, errBomb},
		{"ratio", "zstd", coded(t, "zstd", blanks), noLimit, 5 << 20, 0, 5 << 20, errBomb},
		{"ratio of the first", "zstd, gzip", coded(t, "gzip", bytes.Repeat([]byte("\x50\x2a\x4d\x18\x00\x00\x00\x00"), 4<<20)), noLimit, 0, 0, 5 << 20, errBomb},
		{"ratio of the last", "gzip, br", chained(t, blanks, "gzip", "br"), noLimit, 5 << 20, 1, 5 << 20, errBomb},
		{"the output of the first", "zstd, gzip", coded(t, "gzip", skipped), 1 << 20, 0, 0, 2 << 20, errLength},
	} {
		f := &Fetcher{}
		resp := response(tc.codings, tc.wire)
		codings, err := codingsOf(resp.Header)
		if err != nil {
			t.Fatal(err)
		}
		b := &body{}
		b.plain.share, b.kept.share = &b.share, &b.share
		d := newDecoding(codings, f.decoders.get)
		err = f.decode(b, d, source{r: resp.Body, read: func(int) {}, end: mostCoded(tc.limit)}, tc.limit, false, false)
		ended := d.layers[tc.layer]
		if err != nil || !b.cut || int64(len(b.plain.b)) > tc.most || ended.n > tc.ends+64<<10 || tc.by != nil && ended.err != tc.by {
			t.Errorf("%s, %s: cut %t, %d bytes of body, %d of the coding, which %v has ended: %v", tc.name, tc.codings, b.cut, len(b.plain.b), ended.n, ended.err, err)
		}
		for i, l := range d.layers {
			if i != tc.layer && (l.err == errBomb || l.err == errLength) && l.err != ended.err {
				t.Errorf("%s, %s: another bound has ended it: %v", tc.name, tc.codings, l.err)
			}
		}
		if d.src.err == errLength || tc.by == nil && int64(len(b.plain.b)) != tc.limit {
			t.Errorf("%s, %s: another bound has ended it, after %d bytes", tc.name, tc.codings, len(b.plain.b))
		}
		f.decoders.close()
	}
}

func TestCodingsThatStandForNothingEnd(t *testing.T) {
	const limit = 1 << 20
	nothing := map[string][2]string{
		"gzip": {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\xff\xff"}, // an empty gzip member and an empty block (RFC 1951, section 3.2.4)
		"zstd": {"", "\x50\x2a\x4d\x18\x01\x00\x00\x00x"},                            // a frame that decoders skip (RFC 8878, section 3.1.2)
	}
	for coding, parts := range nothing {
		wire := []byte(parts[0] + strings.Repeat(parts[1], 8*limit/len(parts[1])))
		f := &Fetcher{opts: Options{Bodies: Bodies{KeepWire: true}}}
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

// The windows of zstd may have up to 8 MiB (RFC 9659, section 3).
func TestWindowsOfZstd(t *testing.T) {
	for window, want := range map[byte]bool{0x67: true, 0x68: true, 0x69: false} { // 7.5, 8 and 9 MiB (RFC 8878, section 3.1.1.1.2)
		f := &Fetcher{opts: Options{Bodies: Bodies{MaxSize: 100}}}
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
	for _, d := range used { // including decoders beyond the number that is kept
		if _, err := d.undo.Read(make([]byte, 1)); err != zstd.ErrDecoderClosed {
			t.Errorf("a decoder that is not used is open: %v", err)
		}
	}
	if !p.mu.TryLock() || len(p.idle) != 0 {
		t.Error("the decoders are locked, or some are there")
	}
}

func TestCodingsOfAnAnswer(t *testing.T) {
	for _, tc := range []struct {
		fields []string
		want   string
	}{
		{nil, "[]"}, {[]string{""}, "[]"}, {[]string{"identity"}, "[]"}, {[]string{" GZip "}, "[gzip]"}, {[]string{"x-gzip"}, "[gzip]"}, {[]string{"br"}, "[br]"},
		{[]string{"zstd"}, "[zstd]"}, {[]string{"deflate"}, "[deflate]"}, {[]string{"gzip;q=1"}, "[gzip]"},
		{[]string{"gzip,"}, "[gzip]"}, {[]string{",,br ,"}, "[br]"}, {[]string{"gzip, br"}, "[gzip br]"}, {[]string{"gzip", "br"}, "[gzip br]"}, {[]string{"identity, gzip", "identity"}, "[gzip]"},
		{[]string{"gzip,deflate", "zstd"}, "[gzip deflate zstd]"},
		{[]string{"utf-8"}, "[]"}, {[]string{"none"}, "[]"}, {[]string{"8bit, gzip"}, "[gzip]"}, // names that servers use with other meanings
	} {
		if got, err := codingsOf(http.Header{"Content-Encoding": tc.fields}); fmt.Sprint(got) != tc.want || err != nil {
			t.Errorf("%q = %q, %v", tc.fields, got, err)
		}
	}
	for _, fields := range [][]string{{"compress"}, {"x-compress"}, {"gzip, dcb"}, {"gzip, gzip, gzip, gzip"}, {"gzip,br", "gzip,br"}} {
		got, err := codingsOf(http.Header{"Content-Encoding": fields})
		if _, ok := err.(*decodeError); !ok || got != nil {
			t.Errorf("%q = %q, %v", fields, got, err)
		}
	}
}

// zeros decodes any body to zeros, and records the sizes of the reads.
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
		{freeBytes - 1, 0, nil}, {freeBytes, 0, errBomb}, {freeBytes, freeBytes/maxRatio + 1, nil},
		{100*50_000 - 1, 50_000, nil}, {100 * 50_000, 50_000, errBomb},
	} {
		g := &guarded{decoder: &decoder{undo: &zeros{}}, src: &source{n: tc.wire}, n: tc.before}
		if n, err := g.Read(make([]byte, 1)); n != 1 || err != tc.want || g.err != err {
			t.Errorf("%d bytes and one from %d: %d, %v, want %v", tc.before, tc.wire, n, err, tc.want)
		}
	}
	z := &zeros{}
	g := &guarded{decoder: &decoder{undo: z}, src: &source{}, most: 1<<20 + 1}
	for _, size := range []int{1, 64 << 10, 64<<10 + 1, 1 << 20} {
		g.Read(make([]byte, size))
	}
	if got := fmt.Sprint(z.asked); got != "[1 65536 65536 65536]" || freeBytes != 4<<20 || maxRatio != 100 {
		t.Errorf("portions %s, %d bytes free, ratio %d", got, freeBytes, maxRatio)
	}
	g.n = g.most - 1
	_, first := g.Read(make([]byte, 1))
	if _, second := g.Read(make([]byte, 1)); first != nil || second != errLength {
		t.Errorf("up to the most %v, and beyond it %v", first, second)
	}
}

func FuzzContentEncoding(f *testing.F) {
	for _, s := range []string{"", "gzip", "identity", "br", "zstd", "gzip, br", "deflate", "gzip,gzip,br", "deflate, zstd", "compress", "utf-8", "GZIP ", "x-gzip"} {
		f.Add(s, []byte("hello"))
		f.Add(s, gzipped([]byte("hello")))
		f.Add(s, coded(f, "br", []byte("hello")))
		f.Add(s, coded(f, "zstd", []byte("hello")))
	}
	f.Fuzz(func(t *testing.T, coding string, wire []byte) {
		const limit = 1000
		fetcher := &Fetcher{opts: Options{Bodies: Bodies{KeepWire: true}}}
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

// chained returns b in several codings, applied one after another.
func chained(t testing.TB, b []byte, codings ...string) []byte {
	for _, coding := range codings {
		b = coded(t, coding, b)
	}
	return b
}

// Chains of up to three codings are removed, including both forms of deflate. This is so for
// bodies that get a decoder at once and for those that wait. The decoders are reused.
func TestChainsOfCodings(t *testing.T) {
	plain := text(50_000)
	kinds := []string{"gzip", "deflate", "raw deflate", "br", "zstd"}
	var chains [][]string
	for _, a := range kinds {
		chains = append(chains, []string{a})
		for _, b := range kinds {
			chains = append(chains, []string{a, b}, []string{a, b, "gzip"})
		}
	}
	f := &Fetcher{opts: Options{Bodies: Bodies{KeepWire: true}}}
	defer f.decoders.close()
	for _, chain := range chains {
		wire := chained(t, plain, chain...)
		field := strings.ReplaceAll(strings.Join(chain, ", "), "raw ", "")
		for _, busy := range []bool{false, true} {
			budget := newBudget(1<<30, t.TempDir())
			if busy {
				budget.windows.TryAcquire(maxWindows)
			}
			b, err := f.readBody(response(field, wire), budget, 1<<20, false, func(int) {})
			if busy {
				budget.windows.Release(maxWindows)
			}
			if err = errors.Join(err, b.settle(t.Context(), f)); err != nil || !bytes.Equal(b.decoded, plain) || !bytes.Equal(b.wire, wire) && !busy {
				t.Errorf("%s, busy %t: %d bytes of body, %d of %d on the wire: %v", chain, busy, len(b.decoded), len(b.wire), len(wire), err)
			}
			if !budget.windows.TryAcquire(maxWindows) {
				t.Errorf("%s, busy %t: not each decoder is free", chain, busy)
			}
			b.free()
		}
		body, err := Decode(field, bytes.NewReader(wire))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, plain) || body.Close() != nil {
			t.Errorf("%s, without a fetcher: %d bytes: %v", chain, len(got), err)
		}
		// An error of each layer is told apart from the others.
		for name, tc := range map[string]struct {
			wire    []byte
			coding  bool
			partial bool
		}{"cut": {wire[:len(wire)/2], false, true}, "no coding": {chained(t, []byte(strings.Repeat("this is no coding at all ", 20)), chain[1:]...), true, false}} {
			b, err := f.readBody(response(field, tc.wire), nil, 1<<20, false, func(int) {})
			var decode *decodeError
			if errors.As(err, &decode) != tc.coding || !tc.coding && !errors.Is(err, io.ErrUnexpectedEOF) || len(b.plain.b) > 0 && !tc.partial {
				t.Errorf("%s, %s: %d bytes: %v", chain, name, len(b.plain.b), err)
			}
		}
	}
}

// All members of gzip (RFC 1952, section 2.2) and all frames of zstd are read. Other bytes after
// them are an error in robots.txt and similar files, and ignored in a page.
func TestRulesAreReadToTheEndOfTheWire(t *testing.T) {
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	one, two := []byte("one "), []byte("two")
	for _, tc := range []struct {
		name, coding string
		wire         []byte
		length       int64  // the Content-Length; 0: the true length
		want         string // result of readRules; empty: an error
		page         string
	}{
		{"one member", "gzip", coded(t, "gzip", one), 0, "one ", "one "},
		{"two members", "gzip", join(coded(t, "gzip", one), coded(t, "gzip", two)), 0, "one two", "one two"},
		{"many members", "gzip", bytes.Repeat(coded(t, "gzip", two), 100), 0, strings.Repeat("two", 100), strings.Repeat("two", 100)},
		{"an empty member between", "gzip", join(coded(t, "gzip", one), coded(t, "gzip", nil), coded(t, "gzip", two)), 0, "one two", "one two"},
		{"two members within another gzip", "gzip, gzip", coded(t, "gzip", join(coded(t, "gzip", one), coded(t, "gzip", two))), 0, "one two", "one two"},
		{"a second member that is cut", "gzip", join(coded(t, "gzip", one), coded(t, "gzip", two)[:15]), 0, "", "broken"},
		{"half a header after it", "gzip", join(coded(t, "gzip", one), []byte("\x1f\x8b")), 0, "", "one "},
		{"bytes after gzip", "gzip", join(coded(t, "gzip", one), two), 0, "", "one "},
		{"zeros after gzip", "gzip", join(coded(t, "gzip", one), make([]byte, 100)), 0, "", "one "},
		{"bytes after a gzip within another", "gzip, gzip", coded(t, "gzip", join(coded(t, "gzip", one), two)), 0, "", "one "},
		{"deflate", "deflate", coded(t, "deflate", one), 0, "one ", "one "},
		{"raw deflate", "deflate", coded(t, "raw deflate", one), 0, "one ", "one "},
		{"bytes after deflate", "deflate", join(coded(t, "deflate", one), two), 0, "", "one "},
		{"bytes after raw deflate", "deflate", join(coded(t, "raw deflate", one), two), 0, "", "one "},
		{"br", "br", coded(t, "br", one), 0, "one ", "one "},
		{"bytes after br", "br", join(coded(t, "br", one), two), 0, "", "broken"},
		{"many bytes after br", "br", join(coded(t, "br", one), make([]byte, 100_000)), 0, "", "broken"},
		{"a member, and an end that is lost", "gzip", coded(t, "gzip", one), 500, "", "one "},
		{"a frame, and an end that is lost", "zstd", coded(t, "zstd", one), 500, "", "one "},
		{"br, and an end that is lost", "br", coded(t, "br", one), 500, "", "broken"},
		{"deflate, and an end that is lost", "deflate", coded(t, "deflate", one), 500, "", "one "},
		{"two frames", "zstd", join(coded(t, "zstd", one), coded(t, "zstd", two)), 0, "one two", "one two"},
		{"bytes after zstd", "zstd", join(coded(t, "zstd", one), two), 0, "", "broken"},
		{"the length of what is decoded", "gzip", coded(t, "gzip", text(500)), 500, string(text(500)), string(text(500))},
		{"too long a length", "gzip", coded(t, "gzip", text(500)), 501, "", string(text(500))},
		{"more on the wire than the bound", "gzip", bytes.Repeat(coded(t, "gzip", nil), 10_000), 0, "", ""},
	} {
		f := &Fetcher{}
		resp := func() *http.Response {
			r := response(tc.coding, tc.wire)
			if r.ContentLength = max(tc.length, int64(len(tc.wire))); tc.length > 0 {
				r.ContentLength, r.Body = tc.length, io.NopCloser(io.MultiReader(bytes.NewReader(tc.wire), iotest.ErrReader(io.ErrUnexpectedEOF)))
			}
			return r
		}
		b, err := f.readRules(resp(), 1000, func(int) {})
		if got := string(b.plain.b); err == nil && got != tc.want || (err != nil) != (tc.want == "") || b.cut {
			t.Errorf("%s: %q, cut %t: %v", tc.name, got, b.cut, err)
		}
		b, err = f.readBody(resp(), nil, 1000, false, func(int) {})
		if got := string(b.plain.b); err == nil && got != tc.page || (err != nil) != (tc.page == "broken") {
			t.Errorf("%s, as a page: %q: %v", tc.name, got, err)
		}
		f.decoders.close()
	}
}
