package cdxj

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/permesso-crawler/permesso/storage/warc"
)

// The keys are those of warcio 2.4.11, except that warcio does not remove WWW2 in capital letters,
// which browsers never send.
func TestSURT(t *testing.T) {
	for _, c := range [][2]string{
		{"http://example.com", "com,example)/"},
		{"https://www.example.com/", "com,example)/"},
		{"http://WWW2.Example.COM/A/B", "com,example)/a/b"},
		{"http://www.com/", "com)/"},
		{"http://www2foo.com/", "com,www2foo)/"},
		{"http://example.com:80/", "com,example)/"},
		{"http://example.com:8080/x", "com,example:8080)/x"},
		{"https://example.com:80/", "com,example:80)/"},
		{"http://example.com/a/", "com,example)/a/"},
		{"http://example.com/a?", "com,example)/a"},
		{"http://example.com/a?b=2&a=1&B=0", "com,example)/a?a=1&b=0&b=2"},
		{"http://example.com/a?b&&a", "com,example)/a?&a&b"},
		{"http://example.com/%7Ea/%C3%BC", "com,example)/%7ea/%c3%bc"},
		{"http://user:pw@example.com/", "com,example)/"},
		{"http://example.com/a/../b/./c", "com,example)/b/c"},
		{"http://example.com/x#frag", "com,example)/x"},
		{"http://192.0.2.1/", "1,2,0,192)/"},
		{"http://[2001:db8::1]:8080/x", "[2001:db8::1]:8080)/x"},
		{"https://example.com/a%2Fb?C=%2F", "com,example)/a%2fb?c=%2f"},
		{"ftp://www.example.com/a", "ftp://www.example.com/a"},
		{"mailto:a@example.org", "mailto:a@example.org"},
		{"http://bücher.example/ü", "example,xn--bcher-kva)/%C3%BC"},
		{"http://a_b.example/", "example,a_b)/"},
		{"http://example.com/jsp;jsessionid=ABC?x=1", "com,example)/jsp;jsessionid=abc?x=1"},
		{"urn:a b\n", "urn:a%20b%0A"},
		{"http://", "http://"},
	} {
		if got := SURT(c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

var sample = Entry{
	Key: "com,example)/a?b=<c>", Time: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), URL: "https://example.com/a?b=<c>",
	MIME: "text/html", Status: 200, Digest: "sha1:ABC", Length: 12, Offset: 345, Filename: "a.warc.gz",
}

const sampleLine = `com,example)/a?b=<c> 20300102030405 {"url":"https://example.com/a?b=<c>","mime":"text/html","status":"200",` +
	`"digest":"sha1:ABC","length":"12","offset":"345","filename":"a.warc.gz"}` + "\n"

func TestLine(t *testing.T) {
	got, err := sample.Append([]byte("before\n"))
	if err != nil || string(got) != "before\n"+sampleLine {
		t.Errorf("got  %s, %v\nwant %s", got, err, sampleLine)
	}
	e, err := Parse(sampleLine)
	if diff := cmp.Diff(&sample, e); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	e, err = Parse(`a 20300102030405 {"status":"-","length":12,"offset":"","extra":[1]}`)
	if err != nil || e.Status != 0 || e.Length != 12 || e.Offset != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := (&Entry{Key: "a b"}).Append(nil); err == nil {
		t.Error("a key of two words is written")
	}
}

// For any strings, a line is the same as the output of encoding/json without escapes for HTML.
func TestTheObjectOfALineIsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[ -~]*`), rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		e := Entry{
			Key: "a", Time: sample.Time, URL: text.Draw(t, "url"), MIME: text.Draw(t, "mime"), Status: rapid.IntRange(0, 999).Draw(t, "status"),
			Digest: text.Draw(t, "digest"), Length: rapid.Int64().Draw(t, "length"), Offset: rapid.Int64().Draw(t, "offset"), Filename: text.Draw(t, "filename"),
		}
		object := struct {
			URL      string `json:"url"`
			MIME     string `json:"mime,omitempty"`
			Status   int    `json:"status,string,omitempty"`
			Digest   string `json:"digest,omitempty"`
			Length   int64  `json:"length,string"`
			Offset   int64  `json:"offset,string"`
			Filename string `json:"filename"`
		}{e.URL, e.MIME, e.Status, e.Digest, e.Length, e.Offset, e.Filename}
		want := bytes.NewBufferString("a " + sample.Time.Format(timeForm) + " ")
		encode := json.NewEncoder(want)
		encode.SetEscapeHTML(false)
		if err := encode.Encode(object); err != nil {
			t.Fatal(err)
		}
		if got, err := e.Append(nil); err != nil || string(got) != want.String() {
			t.Fatalf("got  %q, %v\nwant %q", got, err, want)
		}
	})
}

func TestParseErrors(t *testing.T) {
	for _, s := range []string{
		"", "a", "a 20300102030405", " 20300102030405 {}", "a 2030010203040 {}", "a 20300102030405.5 {}", "a 20300102030405 x",
		`a 20300102030405 {"length":"x"}`, `a 20300102030405 {"offset":-1}`, `a 20300102030405 {"length":"99999999999999999999"}`, `!meta 0 {}`,
	} {
		if e, err := Parse(s); err == nil {
			t.Errorf("%q = %+v, want an error", s, e)
		}
	}
}

func archive(t *testing.T) ([]byte, []warc.Placed) {
	t.Helper()
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := sample.Time.Add(999 * time.Millisecond)
	file, info, err := e.AppendInfo(nil, &warc.Info{Date: at})
	if err != nil {
		t.Fatal(err)
	}
	placed := []warc.Placed{info}
	page := &warc.HTTP{StartLine: warc.StatusLine(404), Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte("no")}
	for _, x := range []*warc.Exchange{
		{URL: "http://www.example.com/B", Response: page, Request: &warc.HTTP{StartLine: "GET /B HTTP/1.1"}, Metadata: []warc.Field{{Name: "via", Value: "x"}}},
		{URL: "http://www.example.com/A", Response: page, Revisit: &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest}},
		{URL: "ftp://example.com/A", File: &warc.File{Type: "text/plain", Body: []byte("hi")}},
		{URL: "http://example.com/odd", Response: &warc.HTTP{Head: []byte("odd\r\n\r\n")}},
	} {
		x.Date = at
		before := int64(len(file))
		var p []warc.Placed
		if file, p, err = e.AppendExchange(file, x); err != nil {
			t.Fatal(err)
		}
		for _, p := range p {
			p.Offset += before
			placed = append(placed, p)
		}
	}
	return file, placed
}

func TestIndex(t *testing.T) {
	file, placed := archive(t)
	var got []Entry
	for e, err := range Index(t.Context(), bytes.NewReader(file), "a.warc.gz") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, *e)
	}
	entry := func(i int, key, url, mime string, status int) Entry {
		return Entry{Key: key, Time: sample.Time, URL: url, MIME: mime, Status: status, Digest: placed[i].PayloadDigest, Length: placed[i].Length, Offset: placed[i].Offset, Filename: "a.warc.gz"}
	}
	want := []Entry{
		entry(1, "com,example)/b", "http://www.example.com/B", "text/html", 404),
		entry(4, "com,example)/a", "http://www.example.com/A", "warc/revisit", 404),
		entry(5, "ftp://example.com/A", "ftp://example.com/A", "text/plain", 0),
		entry(6, "com,example)/odd", "http://example.com/odd", "", 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	var last error
	for _, err := range Index(t.Context(), bytes.NewReader(file[:len(file)-1]), "a.warc.gz") {
		last = err
	}
	var broken *warc.Error
	if !errors.As(last, &broken) || broken.Offset != placed[6].Offset || !strings.Contains(last.Error(), "a.warc.gz") {
		t.Errorf("a cut file: %v", last)
	}
}

// Index continues after a damaged record and returns the following ones.
func TestIndexContinuesAfterDamage(t *testing.T) {
	file, placed := archive(t)
	file[placed[4].Offset+placed[4].Length-6] ^= 1 // damage the checksum of the gzip member
	var got []int64
	var bad []int64
	for e, err := range Index(t.Context(), bytes.NewReader(file), "a.warc.gz") {
		var damaged *warc.Error
		switch {
		case err == nil:
			got = append(got, e.Offset)
		case errors.As(err, &damaged):
			bad = append(bad, damaged.Offset)
		default:
			t.Fatal(err)
		}
	}
	want := []int64{placed[1].Offset, placed[5].Offset, placed[6].Offset}
	if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(bad, []int64{placed[4].Offset}) {
		t.Errorf("damage at %v (-want +got)\n%s", bad, diff)
	}
}

func TestSorterGivesTheOrderOfBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ lines, memory int }{{0, 0}, {1, 1}, {500, 0}, {500, 1000}, {300, 1}} {
		dir := t.TempDir()
		s := NewSorter(dir, c.memory)
		var want []string
		for i := range c.lines {
			e := sample
			e.Key = fmt.Sprintf("%c,%x)/", "aZ~!"[random.IntN(4)], random.IntN(200))
			e.Offset = int64(i % 250) // some lines occur twice
			if err := s.Add(&e); err != nil {
				t.Fatal(err)
			}
			line, err := e.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(line))
		}
		slices.Sort(want)
		var got strings.Builder
		n, err := s.WriteTo(&got)
		if err != nil || n != int64(got.Len()) || s.Len() != int64(c.lines) {
			t.Errorf("%+v: %d bytes, %d lines, %v", c, n, s.Len(), err)
		}
		if got.String() != strings.Join(want, "") {
			t.Errorf("%+v: not in order, or not the same lines", c)
		}
		var again strings.Builder
		if _, err := s.WriteTo(&again); err != nil || again.String() != got.String() {
			t.Errorf("%+v: written again, it differs: %v", c, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%+v: %v is left, %v", c, left, err)
		}
	}
}

func TestSorterErrors(t *testing.T) {
	s := NewSorter(t.TempDir()+"/none", 1)
	err := s.Add(&sample)
	if err == nil {
		err = s.Add(&sample)
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if err := s.Add(&Entry{Key: strings.Repeat("a", MaxLine)}); err == nil {
		t.Error("a line without bounds is taken")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sampleLine)
	f.Add(`a 20300102030405 {"status":"-","length":12,"offset":""}`)
	f.Fuzz(func(t *testing.T, line string) {
		e, err := Parse(line)
		if err != nil {
			return
		}
		text, err := e.Append(nil)
		if err != nil {
			return // the key has other white space
		}
		again, err := Parse(string(text))
		if err != nil {
			t.Fatalf("%q gives %q: %v", line, text, err)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Fatalf("%q gives %q\n%s", line, text, diff)
		}
	})
}

func FuzzSURT(f *testing.F) {
	f.Add("https://www.Example.com:8080/a/../b?z&y#x")
	f.Fuzz(func(t *testing.T, url string) {
		if key := SURT(url); strings.IndexFunc(key, blank) >= 0 {
			t.Fatalf("%q has white space", key)
		}
	})
}

func BenchmarkSorter(b *testing.B) {
	b.ReportAllocs()
	s := NewSorter(b.TempDir(), 0)
	defer s.Close()
	e := sample
	for i := 0; b.Loop(); i++ {
		e.Key = fmt.Sprintf("com,example%d)/%x", i%1000, uint32(i)*2654435761)
		if err := s.Add(&e); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.WriteTo(io.Discard); err != nil {
		b.Fatal(err)
	}
}
