package crawler_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// Every kind of document that lists pages is read in any encoding. The encoding is given by the
// first bytes of the document, by its declaration or by the header.
func TestListsInEachEncoding(t *testing.T) {
	little := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	big := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	encodings := []struct {
		name, mark, label, charset string // label is for the XML declaration, charset for Content-Type
		encoding                   encoding.Encoding
	}{
		{"utf8", "", "UTF-8", "", encoding.Nop},
		{"mark", "\ufeff", "UTF-8", "", encoding.Nop},
		{"mark-undeclared", "\ufeff", "", "", encoding.Nop},
		{"utf16le", "\ufeff", "UTF-16", "", little},
		{"utf16be", "\ufeff", "UTF-16", "", big},
		{"utf16le-unmarked", "", "UTF-16", "", little},
		{"utf16be-unmarked", "", "UTF-16", "", big},
		{"utf16le-said-utf8", "\ufeff", "UTF-16", "utf-8", little},
		{"latin1", "", "ISO-8859-1", "", charmap.ISO8859_1},
		{"latin1-header", "", "", "iso-8859-1", charmap.ISO8859_1},
		{"latin1-undeclared", "", "", "", charmap.ISO8859_1},
		{"windows1251", "", "windows-1251", "", charmap.Windows1251},
	}
	lists := []struct {
		name, mediaType string
		text            func(declaration, url string) string
	}{
		{"urlset", "application/xml", func(d, u string) string {
			return d + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>` + u + "</loc></url></urlset>"
		}},
		{"plain", "text/plain", func(d, u string) string { return d + "<urlset><url><loc>" + u + "</loc></url></urlset>" }},
		{"feed", "application/rss+xml", func(d, u string) string {
			return d + "<rss><channel><item><link>" + u + "</link></item></channel></rss>"
		}},
		{"lines", "text/plain", func(_, u string) string { return u + "\n" }},
	}
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/", "")
		rules, links := "", ""
		var want []string
		for _, e := range encodings {
			page := "/page/caf\u00e9"
			if e.name == "windows1251" {
				page = "/page/\u0436"
			}
			declaration := ""
			if e.label != "" {
				declaration = `<?xml version="1.0" encoding="` + e.label + `"?>` + "\n"
			}
			for _, l := range lists {
				if l.name == "lines" && (e.label == "ISO-8859-1" || e.label == "windows-1251") {
					continue // plain text cannot declare its encoding
				}
				for _, zipped := range []bool{false, true} {
					target := fmt.Sprintf("%s-%s-%s-%v", page, e.name, l.name, zipped)
					if zipped && strings.HasPrefix(e.name, "latin1-") {
						continue // the declaration is inside the compressed file
					}
					body, err := e.encoding.NewEncoder().Bytes([]byte(e.mark + l.text(declaration, "http://a.example"+target)))
					if err != nil {
						t.Fatal(err)
					}
					if zipped {
						var b bytes.Buffer
						z := gzip.NewWriter(&b)
						z.Write(body)
						z.Close()
						body = b.Bytes()
					}
					mediaType := l.mediaType
					if e.charset != "" {
						mediaType += "; charset=" + e.charset
					}
					at := fmt.Sprintf("/%s-%s-%v", e.name, l.name, zipped)
					s.Func(at, sent(mediaType, string(body)))
					rules += "Sitemap: " + at + "\n"
					s.Page(escaped(target), "")
					want = append(want, "http://a.example"+escaped(target))
					if l.name == "feed" && !zipped { // a feed is also read if a page links to it
						feed := strings.Replace(target, "-feed-", "-linked-", 1)
						body, _ := e.encoding.NewEncoder().Bytes([]byte(e.mark + l.text(declaration, "http://a.example"+feed)))
						s.Func("/linked"+at, sent(mediaType, string(body)))
						links += `<a href="/linked` + at + `">f</a>`
						s.Page(escaped(feed), "")
						want = append(want, "http://a.example"+escaped(feed), "http://a.example/linked"+at)
					}
				}
			}
		}
		s.Robots("User-agent: *\n"+rules).Page("/", links)
		pages, _ := crawl(t, w, func(o *crawler.Options) {}, "http://a.example/")
		wantPages(t, pages, append(want, "http://a.example/")...)
	})
}

// escaped returns a target in the form in which it is sent, with percent-encoded bytes.
func escaped(target string) string {
	var b strings.Builder
	for _, c := range []byte(target) {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
