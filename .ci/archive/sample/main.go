// Sample writes a small crawl to a directory: warc/sample.warc.gz with each kind
// of record, pages.jsonl with most of them, index.cdxj, and sample.wacz. A number adds so
// many captures, which makes the index one of blocks.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/wacz"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: sample DIR [CAPTURES]")
		os.Exit(2)
	}
	more := 0
	if len(os.Args) > 2 {
		var err error
		if more, err = strconv.Atoi(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "sample:", err)
			os.Exit(2)
		}
	}
	if err := write(os.Args[1], more); err != nil {
		fmt.Fprintln(os.Stderr, "sample:", err)
		os.Exit(1)
	}
}

const site = "http://www.sample.example"

var day = time.Date(2030, 1, 2, 3, 4, 5, 678901000, time.UTC)

func exchanges(more int) []*warc.Exchange {
	const text = `<!doctype html><html><head><title>Sample</title><link rel="stylesheet" href="/Style.css?b=2&amp;a=1"></head>` +
		`<body><h1>A page from the archive</h1><img src="/image.png" alt="square"><a href="/dir/">next</a></body></html>`
	var style bytes.Buffer
	zip := gzip.NewWriter(&style)
	_, _ = zip.Write([]byte("h1 { color: rgb(0, 128, 0) }\n"))
	_ = zip.Close()
	square := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		square.Set(i%64, i/64, color.RGBA{200, uint8(i % 64 * 4), 0, 255})
	}
	var picture, chunks bytes.Buffer
	_ = png.Encode(&picture, square)
	fmt.Fprintf(&chunks, "a\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", picture.Bytes()[:10], picture.Len()-10, picture.Bytes()[10:])

	request := func(target string) *warc.HTTP {
		return &warc.HTTP{StartLine: warc.RequestLine("GET", target), Header: http.Header{"Host": {"www.sample.example"}, "User-Agent": {"sample/1.0"}}}
	}
	list := []*warc.Exchange{
		{ // decoded by the crawler, over HTTP/2
			URL: site + "/", Request: request("/"), Protocol: []string{"h2", "tls/1.3"},
			Response: &warc.HTTP{
				StartLine: warc.StatusLine(200), Body: []byte(text), Coding: warc.Decoded,
				Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Content-Encoding": {"br"}, "Content-Length": {"99"}},
			},
			Metadata: []warc.Field{{Name: "hopsFromSeed", Value: ""}, {Name: "fetchTimeMs", Value: "12"}},
		},
		{ // with its content coding
			URL: site + "/Style.css?b=2&a=1", Request: request("/Style.css?b=2&a=1"), Protocol: []string{"http/1.1"},
			Response: &warc.HTTP{
				Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/css\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"),
				Body: style.Bytes(), Coding: warc.Unchunked,
			},
			Metadata: []warc.Field{{Name: "via", Value: site + "/"}, {Name: "hopsFromSeed", Value: "E"}},
		},
		{ // as it came over the wire
			URL: site + "/image.png", Request: request("/image.png"), Protocol: []string{"http/1.1"},
			Response: &warc.HTTP{Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n"), Body: chunks.Bytes()},
		},
		{ // the same bytes as the first page
			URL: site + "/dir/", Request: request("/dir/"),
			Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(text)},
			Revisit:  &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: site + "/", Date: day},
		},
		{
			URL: site + "/", Request: request("/"),
			Response: &warc.HTTP{StartLine: warc.StatusLine(304), Header: http.Header{"Etag": {`"x"`}}},
			Revisit:  &warc.RevisitOf{Profile: warc.ServerNotModified, URL: site + "/", Date: day},
		},
		{
			URL: site + "/dir", Request: request("/dir"), Response: &warc.HTTP{StartLine: warc.StatusLine(301), Header: http.Header{"Location": {"/dir/"}, "Content-Length": {"0"}}},
		},
		{ // truncated
			URL: site + "/long", Request: request("/long"), Truncated: warc.TruncatedLength,
			Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/plain"}, "Content-Length": {"1000000"}}, Body: []byte("begins")},
		},
		{URL: "ftp://sample.example/read.me", File: &warc.File{Type: "text/plain", Body: []byte("read me\n")}},
		{URL: site + "/silent", Request: request("/silent"), Metadata: []warc.Field{{Name: "error", Value: "no answer"}}},
	}
	for i := range more {
		url := fmt.Sprintf("%s/more/%d", site, i)
		list = append(list, &warc.Exchange{URL: url, Response: &warc.HTTP{StartLine: warc.StatusLine(404), Header: http.Header{"Content-Type": {"text/plain"}}}})
	}
	return list
}

// addPage writes the line of pages.jsonl. Every seventh answer has none, as if the page was
// requested again; after every fifth it also writes the line of a page that is not
// archived.
func addPage(w io.Writer, i int, x *warc.Exchange) error {
	if x.Response == nil && x.File == nil || i%7 == 6 {
		return nil
	}
	enc := json.NewEncoder(w)
	p := storage.PageRecord{
		URL: x.URL, Time: x.Date.Add(321), Status: 200, Type: "text/plain", Size: int64(i), Digest: "sha1:" + strings.Repeat("A", 32),
		Title: fmt.Sprintf("\"%d\", =ü\n", i), Links: i % 300, Depth: i % 4, Hops: "LLLL"[:i%4], Tag: []string{"", "=tag"}[i%2], Robots: day,
		NoIndex: i%2 == 0, NoArchive: i%3 == 0, Body: storage.Text("a body"),
	}
	if i%4 == 1 {
		p.Usage = []storage.UsageRecord{{Use: "ai-train", Granted: i%8 == 1, By: "X-Robots-Tag: =\"odd\", value"}, {Use: "tdm", By: "tdm-reservation: 1"}}
		p.License, p.TDMPolicy = []string{"https://sample.example/l", "https://sample.example/m"}, []string{"/policy"}
	}
	if i%25 == 4 {
		p.Refused = "meta robots: noai"
	}
	if err := enc.Encode(p); err != nil || i%5 != 4 {
		return err
	}
	p.URL = fmt.Sprintf("https://user%d.github.io:8443/not/archived?%d", i%100, i)
	return enc.Encode(p)
}

func write(dir string, more int) error {
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "warc"), 0o755); err != nil {
		return err
	}
	var pages bytes.Buffer
	file, info, err := e.AppendInfo(nil, &warc.Info{
		Filename: "sample.warc.gz", Date: day, Software: "sample/1.0", Robots: "RFC 9309",
		UserAgent: "sample/1.0", From: "sample@example.org", Operator: "Sample <sample@example.org>", IsPartOf: "sample",
	})
	if err != nil {
		return err
	}
	for i, x := range exchanges(more) {
		x.InfoID, x.IP = info.ID, netip.MustParseAddr("192.0.2.1")
		x.Date = day.Add(time.Duration(i) * time.Second)
		if file, _, err = e.AppendExchange(file, x); err != nil {
			return err
		}
		if err := addPage(&pages, i, x); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "pages.jsonl"), pages.Bytes(), 0o644); err != nil {
		return err
	}
	path := filepath.Join(dir, "warc", "sample.warc.gz")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		return err
	}

	sorter := cdxj.NewSorter(dir, 0)
	defer sorter.Close()
	ctx := context.Background()
	for e, err := range cdxj.Index(ctx, bytes.NewReader(file), "sample.warc.gz") {
		if err == nil {
			err = sorter.Add(e)
		}
		if err != nil {
			return err
		}
	}
	var index bytes.Buffer
	if _, err := sorter.WriteTo(&index); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.cdxj"), index.Bytes(), 0o644); err != nil {
		return err
	}

	packed, err := os.Create(filepath.Join(dir, "sample.wacz"))
	if err != nil {
		return err
	}
	err = wacz.Write(ctx, packed, &wacz.Package{
		WARCs: []string{path}, Title: "Sample", Software: "sample/1.0", Created: day, MainPageURL: site + "/",
		Pages: func(yield func(wacz.Page, error) bool) {
			yield(wacz.Page{ID: "1", URL: site + "/", Time: day, Title: "Sample"}, nil)
		},
	})
	if err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return wacz.Verify(packed.Name())
}
