package cdxj

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/permesso-crawler/permesso/storage/warc"
)

func TestKeysAtTheirBounds(t *testing.T) {
	for url, want := range map[string]string{
		"HTTP://a.example/":        "example,a)/",
		"HTTPS://A.example/":       "example,a)/",
		"http://www":               "www)/",
		"http://www1":              "www1)/",
		"http://www.":              "http://www.",
		"http://w.a.example/":      "example,a,w)/",
		"http://ww.a.example/":     "example,a,ww)/",
		"http://wwwa.example/":     "example,wwwa)/",
		"http://www0123.a.example": "example,a)/",
		"http://WwW9.a.example":    "example,a)/",
		"http://www.www.example/":  "example,www)/",
		"http://[::1]/":            "[::1])/",
		"http://[::1]:81/":         "[::1]:81)/",
		"http://a.example/?":       "example,a)/",
		"http://a.example/?a?b":    "example,a)/?a?b",
		"x://a b":                  "x://a%20b",
		" x":                       "%20x",
		"a\x1f\x20!~\x7f\x80é":     "a%1F%20!~%7F\x80é",
		"":                         "",
	} {
		if got := SURT(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}

func TestLinesAtTheirBounds(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 999, time.FixedZone("", 3600))
	for _, c := range []struct {
		e    Entry
		want string
	}{
		{Entry{Key: "k", Time: at}, `k 20300102020405 {"url":"","length":"0","offset":"0","filename":""}`},
		{Entry{Key: "k", Time: at, Status: 1, MIME: "m", Digest: "d", URL: "a&<>"}, `k 20300102020405 {"url":"a&<>","mime":"m","status":"1","digest":"d","length":"0","offset":"0","filename":""}`},
	} {
		got, err := c.e.Append(nil)
		if err != nil || string(got) != c.want+"\n" {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
		e, err := Parse(c.want)
		c.e.Time = time.Date(2030, 1, 2, 2, 4, 5, 0, time.UTC)
		if diff := cmp.Diff(&c.e, e); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	for _, key := range []string{"", " ", "a b", "a\x7f", "\t"} {
		b, err := (&Entry{Key: key}).Append([]byte("before"))
		if err == nil || !strings.Contains(err.Error(), "make it with SURT") || string(b) != "before" {
			t.Errorf("%q: %q, %v", key, b, err)
		}
	}
	long := strings.Repeat("x", 120)
	for line, want := range map[string]string{
		"a":                                 `the line "a" is not`,
		long:                                `the line "` + long + `" is not`,
		long + "x":                          `the line "` + long + `..." is not`,
		"a 2030010203040 {}":                `the time "2030010203040"`,
		"a 20300102030405.5 {}":             `the time "20300102030405.5"`,
		"a 20301302030405 {}":               `the time "20301302030405"`,
		"k 20300102030405 x":                `the object of "k"`,
		`k 20300102030405 {"status":"-1"}`:  `the object of "k" has a number below 0`,
		`k 20300102030405 {"length":-1}`:    `the object of "k" has a number below 0`,
		`k 20300102030405 {"offset":-1}`:    `the object of "k" has a number below 0`,
		`k 20300102030405 {"offset":"1.5"}`: `"1.5" is no whole number`,
		`k 20300102030405 {"offset":"9223372036854775808"}`: `"9223372036854775808" is no whole number`,
	} {
		e, err := Parse(line)
		if e != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", line, e, err)
		}
	}
	e, err := Parse(`k 20300102030405 {"status":null,"length":"9223372036854775807","offset":"-","mime":"m"}`)
	if err != nil || e.Status != 0 || e.Length != 1<<63-1 || e.Offset != 0 || e.MIME != "m" {
		t.Errorf("%+v, %v", e, err)
	}
}

// EntryOf returns an entry for captures only, with the media type that their line has.
func TestEntryOf(t *testing.T) {
	const fields = "application/warc-fields"
	most := "a/" + strings.Repeat("b", 253)
	for _, c := range []struct {
		of   warc.Type
		kind string
		want string // media type of the entry; "-" if there is no entry
	}{
		{warc.Response, "text/html", "text/html"},
		{warc.Response, " \tText/HTML \t; charset=x", "text/html"},
		{warc.Response, "text/html, text/plain", "text/html"},
		{warc.Response, "", ""},
		{warc.Response, ";", ""},
		{warc.Response, "text", ""},
		{warc.Response, "/html", ""},
		{warc.Response, "text/", ""},
		{warc.Response, "te xt/html", ""},
		{warc.Response, "(/html", ""},
		{warc.Response, "text/ht(ml", ""},
		{warc.Response, "az09!#$%&'*+-.^_`|~/az09", "az09!#$%&'*+-.^_`|~/az09"},
		{warc.Response, most, most},
		{warc.Response, most + "b", ""},
		{warc.Response, fields, fields},
		{warc.Revisit, "text/html", "warc/revisit"},
		{warc.Resource, "text/plain", "text/plain"},
		{warc.Resource, fields, "-"},
		{warc.Request, "text/plain", "-"},
		{warc.Metadata, "text/plain", "-"},
		{warc.Warcinfo, fields, "-"},
		{warc.Conversion, "text/plain", "-"},
		{warc.Continuation, "text/plain", "-"},
	} {
		p := warc.Placed{Type: c.of, URL: "http://www.a.example/", Date: time.Date(2030, 1, 2, 3, 4, 5, 999, time.FixedZone("", 3600)), Offset: 1, Length: 2, PayloadDigest: "d", Status: 3, ContentType: c.kind}
		e, err := EntryOf(&p, "f")
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "-" {
			if e != nil {
				t.Errorf("%s of %q: %+v", c.of, c.kind, e)
			}
			continue
		}
		want := &Entry{Key: "example,a)/", Time: time.Date(2030, 1, 2, 2, 4, 5, 0, time.UTC), URL: p.URL, MIME: c.want, Status: 3, Digest: "d", Length: 2, Offset: 1, Filename: "f"}
		if diff := cmp.Diff(want, e); diff != "" {
			t.Errorf("%s of %q (-want +got):\n%s", c.of, c.kind, diff)
		}
		p.URL = ""
		bad := (*warc.Error)(nil)
		if e, err := EntryOf(&p, "f"); e != nil || !errors.As(err, &bad) || bad.Offset != 1 || !strings.Contains(err.Error(), string(c.of)) {
			t.Errorf("%s without a URL: %+v, %v", c.of, e, err)
		}
	}
	for c := range 256 {
		kind := "a/" + string([]byte{byte(c)})
		e, err := EntryOf(&warc.Placed{Type: warc.Response, URL: "x:", ContentType: kind}, "")
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if strings.IndexByte("!#$%&'*+-.^_`|~/0123456789abcdefghijklmnopqrstuvwxyz", byte(c)) >= 0 {
			want = kind
		} else if 'A' <= c && c <= 'Z' {
			want = strings.ToLower(kind)
		}
		if e.MIME != want {
			t.Errorf("%q: %q, want %q", kind, e.MIME, want)
		}
	}
}

// Some errors end the iteration of Index.
func TestIndexEnds(t *testing.T) {
	file, placed := archive(t)
	n := 0
	for _, err := range Index(t.Context(), bytes.NewReader(file), "f") {
		if n++; err != nil {
			t.Error(err)
		}
		break
	}
	if n != 1 {
		t.Errorf("%d entries", n)
	}
	bad := errors.New("bad sector")
	in := io.MultiReader(bytes.NewReader(file[:placed[5].Offset]), iotest.ErrReader(bad))
	switch errs := indexErrors(t, in); {
	case len(errs) == 0:
		t.Error("a disk that fails: no error")
	case !errors.Is(errs[len(errs)-1], bad) || !strings.HasPrefix(errs[len(errs)-1].Error(), "f: "):
		t.Errorf("a disk that fails: %v", errs)
	}
	broken := (*warc.Error)(nil)
	if errs := indexErrors(t, bytes.NewReader(file[:len(file)-1])); len(errs) != 1 || !errors.As(errs[0], &broken) || !errors.Is(errs[0], warc.ErrCut) {
		t.Errorf("cut: %v", errs)
	}
}

// An incomplete record gets no entry, and the error says why.
func TestNoEntryOfARecordThatIsCut(t *testing.T) {
	file, placed := archive(t)
	for _, p := range placed {
		in := warc.NewReader(bytes.NewReader(file[p.Offset : p.Offset+p.Length-1]))
		rec, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e, err := NewEntry(rec, "f"); e != nil || !errors.Is(err, warc.ErrCut) {
			t.Errorf("%s of %s: %+v, %v", p.Type, p.URL, e, err)
		}
	}
}

func TestLongestLine(t *testing.T) {
	s := NewSorter(t.TempDir(), 0)
	defer s.Close()
	if err := s.AddLine(make([]byte, 1<<20)); err != nil {
		t.Error(err)
	}
	err := s.AddLine(make([]byte, 1<<20+1))
	if err == nil || !strings.Contains(err.Error(), "1048577 bytes is longer than 1048576") || s.Len() != 1 {
		t.Errorf("%v, %d lines", err, s.Len())
	}
	if err := s.Add(&Entry{}); err == nil || s.Len() != 1 {
		t.Errorf("an entry without a key: %v, %d lines", err, s.Len())
	}
}

// Without a given memory, a Sorter holds more than one line in memory.
func TestTheDefaultMemoryOfASorter(t *testing.T) {
	for _, memory := range []int{0, -1} {
		s := NewSorter(filepath.Join(t.TempDir(), "none"), memory)
		defer s.Close()
		for range 1000 {
			if err := s.Add(&sample); err != nil {
				t.Fatalf("memory of %d: %v", memory, err)
			}
		}
	}
}

// A room is a writer that accepts so many bytes, and then fails.
type room struct{ left int }

var errFull = errors.New("disk full")

func (r *room) Write(p []byte) (int, error) {
	n := min(len(p), r.left)
	if r.left -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}

// WriteTo returns the number of written bytes, and each error.
func TestWriteToADiskThatIsFull(t *testing.T) {
	s := NewSorter(t.TempDir(), 0)
	defer s.Close()
	var all []string
	for i := range 2000 {
		line := fmt.Sprintf("%06d %s\n", i, strings.Repeat("x", 100))
		all = append(all, line)
		if err := s.AddLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	size := len(strings.Join(all, ""))
	for _, left := range []int{0, 1, size / 2, size - 1} {
		if n, err := s.WriteTo(&room{left}); n != int64(left) || !errors.Is(err, errFull) {
			t.Errorf("room for %d of %d bytes: %d, %v", left, size, n, err)
		}
	}
	if n, err := s.WriteTo(&room{size}); n != int64(size) || err != nil {
		t.Errorf("%d of %d bytes, %v", n, size, err)
	}
	if err := s.Close(); err != nil || s.Len() != 0 {
		t.Errorf("closed: %d lines, %v", s.Len(), err)
	}
}

// indexErrors returns the errors that Index yields for r.
func indexErrors(t *testing.T, r io.Reader) (errs []error) {
	for e, err := range Index(t.Context(), r, "f") {
		if (e == nil) != (err != nil) {
			t.Errorf("the pair %+v, %v", e, err)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
