package warc

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

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
		t.Errorf("placed although the head is cut: %v", err)
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

// A broken reader returns its error together with its last bytes.
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

// All bytes before an error of the disk are read. Then each method returns the error in an *Error.
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
					t.Errorf("%d of %d bytes: the bytes read differ from those written", n, len(file))
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
				t.Errorf("%d of %d bytes: after Skip: %v", n, len(file), err)
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
	if n, err := rec.Close(); n != 0 || err != bad || !errors.Is(err, errEnd) || !said(err, 0, `"o\r\n\r" follows`) {
		t.Error(n, err)
	}
	rec = first(t, zipped(strings.Replace(file, "Length: 5", "Length: 6", 1)))
	if _, err := rec.Close(); !errors.Is(err, errEnd) || !said(err, 0, "3 bytes follow instead of 4") {
		t.Error(err)
	}
	rec = first(t, zipped(strings.Replace(file, "Length: 5", "Length: 15", 1)))
	if _, err := rec.Close(); !errors.Is(err, errEnd) || !said(err, 0, "the gzip member ends 6 bytes before the block does") {
		t.Error(err)
	}
}

// For any first bytes of a file, Next returns a record or an error.
func TestFirstBytes(t *testing.T) {
	for start, want := range map[string]error{
		"": io.EOF, "W": ErrCut, "WARC": ErrCut, "WARC/": ErrCut, "WARC/1.1": ErrCut, "WARC/1.1\r\n": ErrCut, "x": ErrCut,
		"<htm": ErrCut, "<html": errVersion, "WARC\r": errVersion, "WARC/1.2\r\n\r\n": errVersion, "WARC/1.1 \r\n\r\n": errVersion,
		"\x1f\x8b": ErrCut, "\x1f\x8bxxxxxxxxxx": gzip.ErrHeader, "\x1fxxxxxxxxxxx": errVersion, "x\x8bxxxxxxxxxx": errVersion,
		zipped(""): errHeader, zipped("x"): errHeader, zipped("<html>"): errVersion, zipped(strings.Repeat("x", 20_000)): errVersion,
		zipped("<html>") + "x": errVersion,
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
		{"response", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz", []string{web, payload(hello), fieldBlockDigest + ": " + wrong}, "WARC-Block-Digest: the digest does not fit"},
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
		{"metadata", "hello", []string{fieldBlockDigest + ": " + hello}, ""},
		{"metadata", "hello", []string{fieldBlockDigest + ": " + wrong}, "WARC-Block-Digest: the digest does not fit: it should be"},
		{"revisit", "hello", []string{web, fieldBlockDigest + ": " + hello}, ""},
		{"revisit", "hello", []string{web, fieldBlockDigest + ": " + wrong}, "does not fit"},
		{"response", plain, []string{web, fieldBlockDigest + ": sha1:" + "5YBHLKQ4QZ2TQCXJXPZOA4OD7JS4O3OI"}, "does not fit"},
		{"resource", "hello", []string{"WARC-Payload-Digest: sha512:" + "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"}, ""},
		{"resource", "hello", []string{"WARC-Block-Digest: crc:1"}, `WARC-Block-Digest: the digest's algorithm is not one of md5, sha1, sha256 and sha512: "crc:1"`},
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

// Skip finds the beginning of each kind of record at any place, and returns the number of skipped
// bytes.
func TestSkipFindsTheNextRecord(t *testing.T) {
	whole, member := recordOf("hello"), zipped(recordOf("hello"))
	arcMember := zipped(arcRecords[1])
	for _, c := range []struct {
		name string
		file string
		at   int // position of the found record; -1 if none is found
	}{
		{"a member at once", "x" + member, 1},
		{"a member of ARC", "x" + arcMember, 1},
		{"after two line ends", "x\r\n\r\n" + whole, 5},
		{"after one line end", "x\r\n" + whole, -1},
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

// If no error has occurred, Skip only skips the rest of the current record.
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
	// Skip also skips the current record if that turns out to be damaged.
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
