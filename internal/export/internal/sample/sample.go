// Package sample makes a small crawl directory with every kind of capture, for tests. Each call
// makes the same bytes.
package sample

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// Start is the time of the first request. There is one request per second.
var Start = time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC)

// A Capture is one answer of the sample crawl.
type Capture struct {
	Page     *store.PageRecord
	Exchange *warc.Exchange
}

// WARC is the name of the WARC file. The file is not compressed, so that its offsets do not
// depend on the version of gzip.
const WARC = "sample-00000.warc"

// textDigest is the recorded digest of a page's text.
const textDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Captures returns the answers of the crawl, in the order of the requests.
func Captures() []Capture {
	var all []Capture
	at := Start
	next := func() time.Time {
		t := at
		at = at.Add(time.Second)
		return t
	}
	robots := Start
	answer := func(url string, status int, header http.Header, body, via, hops string) *warc.Exchange {
		tag, fetched, rule := "news", robots.Add(1).Format(time.RFC3339Nano), "line 2: Allow: /"
		if hops == "P" {
			fetched, rule = "", ""
		}
		return &warc.Exchange{
			URL: url, Date: next(), IP: netip.MustParseAddr("192.0.2.7"), Protocol: []string{"http/1.1"},
			Response: &warc.HTTP{StartLine: warc.StatusLine(status), Header: header, Body: []byte(body)},
			Request:  &warc.HTTP{StartLine: warc.RequestLine("GET", "/"), Header: http.Header{"Host": {"www.a.example"}}},
			Metadata: []warc.Field{{Name: "via", Value: via}, {Name: "hopsFromSeed", Value: hops}, {Name: "seedTag", Value: tag}, {Name: "robotsFetched", Value: fetched}, {Name: "robotsRule", Value: rule}},
		}
	}
	html := http.Header{"Content-Type": {"text/HTML; charset=utf-8"}}
	page := func(x *warc.Exchange, p store.PageRecord) {
		// The time of a page has nanoseconds, but WARC-Date has only microseconds.
		p.URL, p.Time, p.Robots = x.URL, x.Date.Add(999), robots
		p.Size = 100
		p.Digest = "sha1:" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
		all = append(all, Capture{&p, x})
	}
	only := func(x *warc.Exchange) { all = append(all, Capture{nil, x}) }

	only(answer("http://www.a.example/robots.txt", 200, http.Header{"Content-Type": {"text/plain"}}, "User-agent: *\nAllow: /\n", "http://www.a.example/", "P"))
	page(answer("http://www.a.example/", 200, html, "<title>=1+1</title>", "", ""), store.PageRecord{
		Status: 200, Type: "text/html", Charset: "utf-8", Title: "=1+1", Links: 3, Tag: "news", Rule: "line 2: Allow: /", Body: store.Text("<title>=1+1</title>"),
	})
	page(answer("http://www.a.example/old", 301, http.Header{"Location": {"/new"}}, "", "http://www.a.example/", "L"), store.PageRecord{
		Status: 301, Location: "http://www.a.example/new", Depth: 1, Hops: "L", Via: "http://www.a.example/", Tag: "news",
	})
	// Two captures of one URL, because the first answer was a 503 with Retry-After.
	only(answer("http://www.a.example/new", 503, http.Header{"Content-Type": {"text/html"}, "Retry-After": {"1"}}, "later", "http://www.a.example/old", "LR"))
	page(answer("http://www.a.example/new", 200, html, "again", "http://www.a.example/old", "LR"), store.PageRecord{
		Status: 200, Type: "text/html", Charset: "utf-8", Title: "A \"new\" page, with\nlines — and ünïcödé", Depth: 1, Hops: "LR", Via: "http://www.a.example/old", NoIndex: true, NoArchive: true,
		Body: store.Text(`"body":"not this one"`),
	})
	// The crawl has archived this redirect but has not followed it. The column for its target
	// has the text of the Location field.
	only(answer("http://www.a.example/loop", 302, http.Header{"Location": {"loop?2"}}, "", "http://www.a.example/", "L"))
	x := answer("http://b.example.co.uk:8080/x?b=2&a=1", 200, http.Header{"Content-Type": {"text/plain"}}, "again", "http://www.a.example/", "L")
	x.Revisit = &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: "http://www.a.example/new", Date: Start}
	x.Truncated, x.PayloadType = warc.TruncatedLength, "text/x-log"
	usage := []store.UsageRecord{
		{Use: "search", Granted: true, By: "line 3: Content-Signal: search=yes"}, {Use: "ai-train", By: "X-Robots-Tag: noai"}, {Use: "ai-input", By: "X-Robots-Tag: noai"},
		{Use: "tdm", Granted: true, By: "tdm-reservation: 0"}, {Use: "archive", By: "meta robots: noarchive"},
	}
	for _, u := range usage {
		x.Metadata = append(x.Metadata, warc.Field{Name: "usage", Value: u.String()})
	}
	x.Metadata = append(x.Metadata, warc.Field{Name: "license", Value: "https://a.example/l"}, warc.Field{Name: "license", Value: "https://a.example/m"}, warc.Field{Name: "tdmPolicy", Value: "https://a.example/p"},
		warc.Field{Name: "canonical", Value: "http://b.example.co.uk/x"}, warc.Field{Name: "ogUrl", Value: "http://b.example.co.uk/shared"},
		warc.Field{Name: "change", Value: "same-text"}, warc.Field{Name: "textDigest", Value: textDigest})
	page(x, store.PageRecord{
		Status: 200, Type: "text/plain", Charset: "windows-1252", Truncated: "length", Depth: 1, Hops: "L", Via: "http://www.a.example/",
		Usage: usage, License: []string{"https://a.example/l", "https://a.example/m"}, TDMPolicy: []string{"https://a.example/p"},
		Canonical: "http://b.example.co.uk/x", OpenGraph: "http://b.example.co.uk/shared", Change: "same-text", TextDigest: textDigest,
	})
	page(&warc.Exchange{
		URL: "ftp://ftp.example/pub/readme", Date: next(), File: &warc.File{Type: "text/plain", Body: []byte("read me")},
	}, store.PageRecord{Status: 200, Type: "text/plain"})
	// These pages are not archived: one that is not text, one on an IP address, and one under a
	// private suffix of the Public Suffix List.
	for _, url := range []string{"https://foo.github.io/i.png", "http://[2001:db8::1]/", "https://xn--bcher-kva.example/%zz"} {
		page(&warc.Exchange{URL: url, Date: next()}, store.PageRecord{Status: 404, Type: "image/png", Base64: []byte("body")})
		all[len(all)-1].Exchange = nil
	}
	// An answer to HEAD is not a capture in an index, and not a page in a WACZ.
	x = answer("http://head.zw/", 200, http.Header{"Content-Type": {"text/html"}, "Content-Length": {"1000"}}, "", "http://www.a.example/", "L")
	x.Head, x.Request.StartLine = true, warc.RequestLine("HEAD", "/")
	page(x, store.PageRecord{Status: 200, Type: "text/html", Method: "HEAD", Depth: 1, Hops: "L", Via: "http://www.a.example/"})
	all[len(all)-1].Page.Size, all[len(all)-1].Page.Digest = 0, ""
	// The owner of this page refuses the purpose of the crawl.
	page(&warc.Exchange{URL: "http://refused.example/", Date: next()}, store.PageRecord{
		Status: 200, Type: "text/html", Usage: []store.UsageRecord{{Use: "archive", By: "meta robots: noarchive"}}, Refused: "meta robots: noarchive", NoArchive: true,
	})
	all[len(all)-1].Exchange = nil
	return all
}

// Write writes the crawl to dir: pages.jsonl if pages is set, and warc/ if archive is set.
func Write(dir string, pages, archive bool) error {
	var lines, records bytes.Buffer
	encode := json.NewEncoder(&lines)
	encode.SetEscapeHTML(false)
	e, err := warc.NewEncoder(warc.Options{Plain: true, Random: rand.NewChaCha8([32]byte{})})
	if err != nil {
		return err
	}
	if _, err := e.WriteInfo(&records, &warc.Info{Filename: WARC, Date: Start, Software: "permesso"}); err != nil {
		return err
	}
	for _, c := range Captures() {
		if c.Exchange != nil {
			if _, err := e.WriteExchange(&records, c.Exchange); err != nil {
				return err
			}
		}
		if c.Page != nil {
			if err := encode.Encode(c.Page); err != nil {
				return err
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, store.ArchiveDir), 0o755); err != nil {
		return err
	}
	if pages {
		if err := os.WriteFile(filepath.Join(dir, "pages.jsonl"), lines.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if archive {
		return os.WriteFile(filepath.Join(dir, store.ArchiveDir, WARC), records.Bytes(), 0o644)
	}
	return nil
}
