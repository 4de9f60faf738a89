package crawllog

import (
	"path/filepath"
	"testing"
	"time"
)

func BenchmarkWrite(b *testing.B) {
	at := time.Date(2025, 3, 4, 5, 6, 7, 123456789, time.UTC)
	l := &Line{
		Time: at, Status: 200, Size: 20480, URL: "http://a.example/section/12/page-34.html", Hops: "LLL",
		Via: "http://a.example/section/12/", Type: "text/html", Worker: 7, Start: at, Duration: 12 * time.Millisecond,
		Digest: "sha1:WNOUOQ7RXZLKIKTAPYMS2UYSFAVPAYNJ",
		Annotations: []string{
			"start:2025-03-04T05:06:07.123456Z", "ttfb:0.001000", "took:0.012000", "asked:1.000000", "clock:own",
			"ip:127.0.0.1:80", "proto:HTTP/1.1", "robots:2025-03-04T05:06:07.123456Z",
		},
	}
	b.Run("format", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf = l.Append(buf[:0])
		}
	})
	b.Run("write", func(b *testing.B) {
		w, err := Open(filepath.Join(b.TempDir(), "crawl.log"))
		if err != nil {
			b.Fatal(err)
		}
		defer w.Close()
		b.ReportAllocs()
		for b.Loop() {
			if err := w.Write(l); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		l, err := Parse(parsed[0])
		if err != nil {
			b.Fatal(err)
		}
		if _, err := l.Request(); err != nil {
			b.Fatal(err)
		}
	}
}
