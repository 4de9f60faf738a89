package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
)

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
			file[placed[1].Offset+placed[1].Length-8] ^= 1 // damage the checksum
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
		// The header of a record can be read although its checksum is wrong. After junk bytes, a
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

// A length that is slightly wrong damages its record, but not the next one.
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
		{"HTML", "<html>and so on", errVersion},
		{"ARC", "WARC/0.18\r\n\r\n", errVersion},
		{"bare LF", "WARC/1.0\nWARC-Type: a\n\n", errHeader},
		{"no colon", "WARC/1.0\r\nabc\r\n\r\n", errHeader},
		{"folded first", "WARC/1.0\r\n abc\r\n\r\n", errHeader},
		{"no length", head + "\r\n", errHeader},
		{"two lengths", head + "Content-Length: 2\r\ncontent-length: 2\r\n\r\nhi\r\n\r\n", errHeader},
		{"negative length", head + "Content-Length: -2\r\n\r\nhi\r\n\r\n", errHeader},
		{"length of 2^63", head + "Content-Length: 9223372036854775808\r\n\r\nhi\r\n\r\n", errHeader},
		{"date", strings.Replace(whole, "03:04:05Z", "late", 1), errHeader},
		{"long header", head + "X: " + strings.Repeat("y", maxHeader) + "\r\n\r\n", errTooLong},
		{"many fields", head + strings.Repeat("X: y\r\n", maxHeader) + "\r\n", errTooLong},
		{"length too small", head + "Content-Length: 1\r\n\r\nhi\r\n\r\n", errEnd},
		{"length too small in a member", zipped(head + "Content-Length: 1\r\n\r\nhi\r\n\r\n"), errEnd},
		{"length too large in a member", zipped(head + "Content-Length: 9\r\n\r\nhi\r\n\r\n"), errEnd},
		{"no line ends in a member", zipped(head + "Content-Length: 2\r\n\r\nhi\r\n"), errEnd},
		{"header ends with its member", zipped(head), errHeader},
		{"length too large", head + "Content-Length: 9\r\n\r\nhi\r\n\r\n", ErrCut},
		{"two in a member", zipped(whole + whole), errMember},
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
	if _, err := ReadAt(strings.NewReader(whole), 3); !errors.Is(err, errVersion) {
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
		{"hello", "hello", nil}, {"hello", "jello", ErrDigest}, {"md5:5", "md5:6", ErrDigest}, {"sha256:2", "crc32:2", errAlgorithm}, {"md5:5", ":5", errAlgorithm},
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
	const sum = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d" // SHA-1 of "hello"
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
	x.Response.Header.Set("X", strings.Repeat("y", maxHead))
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

// After Reset, a reader has neither the offset nor the error of the previous file.
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
		"an invalid record": "WARC/1.1\r\n\r\n",
	} {
		r.Reset(strings.NewReader(before), 5)
		var old *Record
		for rec, err := r.Next(); err == nil; rec, err = r.Next() {
			old = rec
		}
		r.Reset(bytes.NewReader(file[placed[1].Offset:]), placed[1].Offset)
		rec, err := r.Next()
		if err != nil || rec.Type != Request || rec.Offset != placed[1].Offset {
			t.Fatalf("after %s: %+v, %v", name, rec, err)
		}
		if n, err := rec.Close(); n != placed[1].Length || err != nil {
			t.Errorf("after %s: %d bytes, %v", name, n, err)
		}
		if old != nil {
			if n, err := old.Read(make([]byte, 1)); n > 0 || err == nil {
				t.Errorf("after %s: its record is still read", name)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("after %s: %v", name, err)
		}
	}
}
