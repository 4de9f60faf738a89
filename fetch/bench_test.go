package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// text returns about n bytes that compress as well as pages do.
func text(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "<p>Paragraph %d, on <a href=\"/page/%d\">page %d</a>: %x.</p>\n", i, i*7919, i%31, uint32(i)*uint32(i)*2654435761)
	}
	return b.Bytes()[:n]
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// BenchmarkGet fetches one page of 20 KiB over a kept connection to a server on loopback,
// with the turn for it.
func BenchmarkGet(b *testing.B) {
	plain := text(20 << 10)
	packed := gzipped(plain)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed)
		default:
			w.Write(plain)
		}
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, tc := range []struct {
		name, path string
		keep       bool
	}{{"plain", "plain", false}, {"gzip", "gzip", false}, {"plain for an archive", "plain", true}, {"gzip for an archive", "gzip", true}} {
		b.Run(tc.name, func(b *testing.B) {
			v := newTour(b, Options{Bodies: Bodies{KeepWire: tc.keep}, ConnectTo: []ConnectTo{{ToHost: "127.0.0.1", ToPort: port}}})
			front, err := frontier.New(frontier.NewMemory(), frontier.Options{Delay: -1})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(plain)))
			n := 0
			for b.Loop() {
				u, err := frontier.ParseURL(fmt.Sprintf("http://a.example/%s?%d", tc.path, n))
				n++
				if err != nil {
					b.Fatal(err)
				}
				if err := front.Add(frontier.Entry{URL: u}); err != nil {
					b.Fatal(err)
				}
				for done := false; !done; {
					turn, err := front.Next(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					res, err := v.fetcher.Get(context.Background(), turn)
					if err != nil {
						b.Fatal(err)
					}
					if done = res.Page != nil; done && len(res.Page.Body) != len(plain) {
						b.Fatalf("%d bytes of body", len(res.Page.Body))
					}
					if _, err := turn.Finish(res.Outcome); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
