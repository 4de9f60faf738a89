package crawltest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Bomb makes the site answer requests for target (path and query) with size bytes of zeros, encoded
// with each of the codings in turn. A coding is "gzip", "br" or "zstd", as in Content-Encoding
// (RFC 9110, section 8.4). Without codings, Bomb uses gzip.
func (s *Site) Bomb(target string, size int64, codings ...string) *Site {
	s.web.t.Helper()
	if len(codings) == 0 {
		codings = []string{"gzip"}
	}
	for _, c := range codings {
		if encoders[c] == nil {
			s.web.t.Fatalf("crawltest: the coding %q is not one of gzip, br and zstd", c)
		}
		if _, err := encoders[c](io.Discard); err != nil {
			s.web.t.Fatalf("crawltest: %v", err)
		}
	}
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", strings.Join(codings, ", "))
		var to io.Writer = w
		var open []io.Closer
		for _, c := range slices.Backward(codings) {
			e, err := encoders[c](to)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			to, open = e, append(open, e)
		}
		io.CopyN(to, zeros{}, size)
		for _, e := range slices.Backward(open) {
			e.Close()
		}
	})
}

var encoders = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"br":   func(w io.Writer) (io.WriteCloser, error) { return brotli.NewWriterLevel(w, brotli.BestSpeed), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) },
}

// SitemapBomb makes the site answer requests for target (path and query) with a sitemap that is
// compressed with gzip. The sitemap names n pages of the site: prefix0, prefix1 and so on.
func (s *Site) SitemapBomb(target, prefix string, n int) *Site {
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		io.WriteString(z, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := range n {
			if _, err := fmt.Fprintf(z, "<url><loc>%s%s%d</loc></url>\n", s.site, prefix, i); err != nil {
				return
			}
		}
		io.WriteString(z, "</urlset>")
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
