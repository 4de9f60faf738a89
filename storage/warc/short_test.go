package warc

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"
)

// The codes are complete, because decoders refuse incomplete ones (RFC 1951, section 3.2.7).
func TestTheCodesOfShortRecordsAreComplete(t *testing.T) {
	for name, runs := range map[string][]run{"symbols": shortSymbols, "distances": shortDistances, "lengths": shortLengths} {
		sum := 0
		for _, n := range expand(runs) {
			if n > 15 {
				t.Errorf("%s: a code of %d bits, at most 15 are allowed", name, n)
			} else if n > 0 {
				sum += 1 << (15 - n)
			}
		}
		if sum != 1<<15 {
			t.Errorf("%s: the codes make %d of %d", name, sum, 1<<15)
		}
	}
	if symbols, distances := len(expand(shortSymbols)), len(expand(shortDistances)); symbols != 286 || distances != 22 {
		t.Errorf("%d symbols and %d distances, want all 286, and the 22 that reach the length of a record", symbols, distances)
	}
}

// unzip decodes a gzip member with two decoders.
func unzip(t interface{ Fatal(...any) }, member []byte) string {
	std, err := stdgzip.NewReader(bytes.NewReader(member))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(std)
	if err != nil {
		t.Fatal(err)
	}
	other, err := gzip.NewReader(bytes.NewReader(member))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := io.ReadAll(other); err != nil || !bytes.Equal(again, text) {
		t.Fatal("the other decoder reads something else", err)
	}
	return string(text)
}

func TestShortRecordsAreReadAsTheyWere(t *testing.T) {
	c := newShortCode()
	rapid.Check(t, func(t *rapid.T) {
		var text string
		for len(text) < maxShort && rapid.IntRange(0, 30).Draw(t, "more") > 0 {
			if n := len(text); n > 0 && rapid.Bool().Draw(t, "again") {
				from := rapid.IntRange(0, n-1).Draw(t, "from")
				piece := text[from:rapid.IntRange(from, n).Draw(t, "to")]
				text += strings.Repeat(piece, rapid.IntRange(1, 300).Draw(t, "times"))
			} else {
				text += rapid.StringMatching(`[\r\n -~]{0,40}`).Draw(t, "new")
			}
			text = text[:min(len(text), maxShort)]
		}
		member, gains := c.append([]byte("before"), []byte(text))
		if string(member[:6]) != "before" || unzip(t, member[6:]) != text {
			t.Fatal("it is another text")
		}
		if gains != (len(member)-6 <= len(text)-len(text)/8) {
			t.Fatalf("%d bytes of %d: %v", len(member)-6, len(text), gains)
		}
	})
}

func TestTheEdgesOfMatchesInShortRecords(t *testing.T) {
	c := newShortCode()
	unlike := make([]byte, 0, maxShort) // a text in which no four bytes occur twice
	for i := 0; len(unlike) < maxShort; i++ {
		unlike = fmt.Appendf(unlike, "%c%c%c", 'a'+i%26, 'A'+i/26%26, '0'+i/676)
	}
	var texts []string
	for n := range 530 { // lengths for one match, for two, and for a rest
		texts = append(texts, strings.Repeat("x", n))
	}
	for n := 4; n <= maxShort-8; n++ { // matches at each distance
		texts = append(texts, "<!!>"+string(unlike[:n-4])+"<!!>")
	}
	texts = append(texts, "<!!>"+string(unlike[:maxShort-8])+"<!!>")
	for _, text := range texts {
		if member, _ := c.append(nil, []byte(text)); unzip(t, member) != text {
			t.Fatalf("a text of %d bytes is another one", len(text))
		}
	}
}

// Short records are compressed with one fixed Huffman code at level 1. A short record with bytes that
// this code is not made for is compressed like a long one, and so is every record at other levels.
func TestRecordsThatTheShortCodeIsNotFor(t *testing.T) {
	var rare strings.Builder
	for x := uint32(1); rare.Len() < 600; x = x*1664525 + 1013904223 {
		rare.WriteByte("!#$%&'()*+,|"[x>>16%12])
	}
	for _, c := range []struct {
		name, body string
		level      int
		short      bool
	}{
		{"header fields", "hello", defaultLevel, true},
		{"bytes that have no code", "\x00\xff", defaultLevel, false},
		{"letters that have long codes", rare.String(), defaultLevel, false},
		{"long", strings.Repeat("words ", maxShort/6), defaultLevel, false},
		{"another level", "hello", 6, false},
	} {
		x := page(c.body)
		x.Request, x.Metadata = nil, nil
		got, placed := mustExchange(t, encoder(t, Options{Level: c.level}), nil, x)
		record, _ := mustExchange(t, encoder(t, Options{Plain: true}), nil, x)
		if own := zipAt(t, c.level, record); bytes.Equal(got, own) == c.short {
			t.Errorf("%s: with the code of short records: %v", c.name, !c.short)
		}
		if unzip(t, got) != string(record) || placed[0].Length != int64(len(got)) {
			t.Errorf("%s: %+v is another record", c.name, placed[0])
		}
	}
}

// zipAt returns a record compressed at the given level, with Huffman codes made for this record.
func zipAt(t testing.TB, level int, record []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(record); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fields returns records of header fields that are typical for crawls.
func fields(t testing.TB) (all [][]byte) {
	e := encoder(t, Options{Plain: true})
	for i, path := range []string{"/", "/archive/2024/05/a-walk-through-the-old-town.html", "/item?id=48812&sort=date", "/wiki/Category:Rivers_of_Europe"} {
		x := page("")
		x.URL = "https://www.news.example" + path
		x.Request = &HTTP{Head: fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: www.news.example\r\n"+
			"User-Agent: readerbot (+https://reader.example/bot) permesso/0.1.0\r\nAccept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n"+
			"Accept-Encoding: gzip, br, zstd\r\nFrom: crawl@reader.example\r\n\r\n", path)}
		x.Metadata = []Field{{"via", "https://www.news.example/index/" + fmt.Sprint(i)}, {"hopsFromSeed", "LL"}, {"fetchTimeMs", "87"},
			{"robotsFetched", "2030-01-02T02:01:17.120394811Z"}, {"canonical", x.URL}}
		file, placed := mustExchange(t, e, nil, x)
		for _, p := range placed[1:] {
			all = append(all, file[p.Offset:p.Offset+p.Length])
		}
	}
	return all
}

func TestTheShortCodeDoesNotMakeRecordsLonger(t *testing.T) {
	c, short, own := newShortCode(), 0, 0
	for _, record := range fields(t) {
		member, ok := c.append(nil, record)
		if !ok || unzip(t, member) != string(record) {
			t.Fatalf("not read as it was, or not short: %q", record)
		}
		short += len(member)
		own += len(zipAt(t, defaultLevel, record))
	}
	if short > own {
		t.Errorf("%d bytes, and %d with codes of their own", short, own)
	}
}

func FuzzShort(f *testing.F) {
	c := newShortCode()
	f.Add([]byte("WARC/1.1\r\nWARC-Type: metadata\r\n\r\n"))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"))
	f.Add([]byte("\xff"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		text = text[:min(len(text), maxShort)]
		if member, ok := c.append(nil, text); ok && unzip(t, member) != string(text) {
			t.Fatal("it is another text")
		}
	})
}

func BenchmarkShort(b *testing.B) {
	records := fields(b)
	for _, short := range []bool{true, false} {
		b.Run(fmt.Sprint("short=", short), func(b *testing.B) {
			e := encoder(b, Options{})
			if !short {
				e.short = nil
			}
			s, size := e.state(), 0
			for i := 0; b.Loop(); i++ {
				s.to(s.buf[:0], nil)
				if err := e.compress(s, records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
				size += len(s.buf)
			}
			b.ReportMetric(float64(size)/float64(b.N), "bytes")
		})
	}
}
