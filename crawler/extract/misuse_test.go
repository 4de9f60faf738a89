package extract

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// documents are bodies that a program might pass by mistake.
var documents = map[string][]byte{
	"nil":        nil,
	"NUL":        {0},
	"zeros":      make([]byte, 1<<16),
	"no UTF-8":   bytes.Repeat([]byte{0xff, 0xfe, 0x00}, 1<<12),
	"deep":       bytes.Repeat([]byte("<div>"), 1<<15),
	"deep XML":   bytes.Repeat([]byte("<a>"), 1<<15),
	"deep JSON":  bytes.Repeat([]byte(`{"a":[`), 1<<14),
	"open":       []byte("<a href="),
	"attributes": append([]byte("<a "), bytes.Repeat([]byte("a=b "), 1<<14)...),
	"a long URL": []byte("<a href='/" + strings.Repeat("x", 1<<20) + "'>x</a>"),
	"bad URLs":   []byte("<a href='http://['>x</a><a href='http://a b/'>x</a><a href='\x00'>x</a><img srcset=',,, 1x, 2x'><base href='::'>"),
	"many links": bytes.Repeat([]byte("<a href=/x>"), MaxLinks+10),
	"scripts":    bytes.Repeat([]byte("<script><!--<script>"), 1<<13),
	"comments":   bytes.Repeat([]byte("<!--"), 1<<14),
	"srcdoc":     []byte(strings.Repeat("<iframe srcdoc='", 1<<10)),
	"imports":    bytes.Repeat([]byte("@import url("), 1<<13),
	"entities":   []byte(`<!DOCTYPE a [<!ENTITY b "` + strings.Repeat("c", 1<<10) + `"><!ENTITY d "&b;&b;">]><rss>&d;</rss>`),
	"a sitemap":  []byte(`<urlset><url><loc>http://[</loc><priority>NaN</priority><lastmod>99999-99-99</lastmod></url></urlset>`),
	"gzip":       {0x1f, 0x8b, 8, 0},
}

// Any body of any type, with any URL, is read in bounded time without a panic. At most MaxLinks
// links are found.
func TestBodiesOfAnyType(t *testing.T) {
	urls := []frontier.URL{{}}
	if u, err := frontier.ParseURL("http://a.example/x"); err == nil {
		urls = append(urls, u)
	}
	types := []string{"", "\x00", "text/html", "application/xhtml+xml", "text/css", "text/plain", "application/rss+xml", "application/atom+xml", "application/feed+json", "application/json", "application/xml", "image/svg+xml", "application/pdf", "no type"}
	options := []Options{{}, {Token: "x", Embeds: true, Forms: true, Text: true, Broken: true, Changes: true}, {Token: "\x00", Sitemap: true, Charset: "no charset", Aliases: []string{"", "\xff"}}}
	for name, body := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			for _, u := range urls {
				for _, kind := range types {
					for _, o := range options {
						given := bytes.Clone(body)
						d, _ := Read(given, u, kind, o)
						if len(d.Links) > MaxLinks {
							t.Errorf("%s: %d links", kind, len(d.Links))
						}
						if !bytes.Equal(given, body) {
							t.Errorf("%s: the body has changed", kind)
						}
						_, _ = d.Resolve("x")
						_, _ = d.Resolve("\x00")
						d.AddHeader(http.Header{"Link": {"<", "<>;rel", "</x>;rel=\"", strings.Repeat("<x>,", 1<<10)}}, u, o)
						for _, l := range d.Links {
							_, _ = l.Text(), l.Lang()
						}
					}
					_, _ = Feed(body, u, kind, Options{}), HTML(body, u, kind, Options{})
					_, _ = Decode(body, kind)
					_, _ = DecodeAs(body, kind, "\x00")
					_ = TextDigest(body, kind)
				}
				_ = CSS(body, u, Options{})
				HeaderLicenses([]string{string(body)}, u)
				LinkHeader([]string{string(body)}, u, Options{})
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// Sitemap ends if its reader fails or never ends, and if the caller leaves the loop.
func TestSitemapsOfOddReaders(t *testing.T) {
	u, err := frontier.ParseURL("http://a.example/sitemap.xml")
	if err != nil {
		t.Fatal(err)
	}
	errRead := errors.New("a reader that fails")
	entries := func(p []byte) (int, error) {
		return copy(p, bytes.Repeat([]byte("<url><loc>http://a.example/x</loc></url>"), len(p)/40+1)), nil
	}
	for name, r := range map[string]io.Reader{
		"fails":           oddReader(func([]byte) (int, error) { return 0, errRead }),
		"is never ready":  oddReader(func([]byte) (int, error) { return 0, nil }),
		"zeros":           io.LimitReader(oddReader(func(p []byte) (int, error) { clear(p); return len(p), nil }), 1<<22),
		"no end":          io.MultiReader(strings.NewReader("<urlset>"), oddReader(entries)),
		"one byte a time": oneByte{strings.NewReader("<urlset><url><loc>http://a.example/x</loc></url></urlset>")},
		"an error inside": io.MultiReader(strings.NewReader("<urlset><url><loc>http://a.exa"), oddReader(func([]byte) (int, error) { return 0, errRead })),
		"gzip of nothing": strings.NewReader("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"),
	} {
		for _, base := range []frontier.URL{u, {}} {
			n, failed := 0, error(nil)
			for _, err := range Sitemap(r, base) {
				if n++; err != nil {
					failed = err
				}
				if n > 100_000 {
					break
				}
			}
			var bad *sitemapError
			if failed != nil && !errors.As(failed, &bad) {
				t.Errorf("%s: %v", name, failed)
			}
		}
	}
	if e := (&sitemapError{}); e.Error() == "" || e.Unwrap() != nil {
		t.Errorf("%q", e.Error())
	}
	d := new(Document)
	if _, err := d.Resolve("x"); err == nil {
		t.Error("the zero Document resolves a relative reference")
	}
	d.AddHeader(nil, frontier.URL{}, Options{})
	_, _ = Link{}.Text(), Link{}.Lang()
}

type oddReader func(p []byte) (int, error)

func (f oddReader) Read(p []byte) (int, error) { return f(p) }

type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(1, len(p))]) }
