package warc

import (
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
)

// article returns a page of a typical size. It has a head, navigation, and text written for
// people: a page of this project's documentation.
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
		t.Fatalf("a page of %d bytes, want %d", b.Len(), size)
	}
	return b.String()[:size]
}

// BenchmarkAppendExchange measures the time for a page of 20 KiB, and its compressed size, for
// each level of gzip.
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
