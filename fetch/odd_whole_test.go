package fetch

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/storage/warc"
)

// If this package accepts an answer, the answer can be read from its archive record. A crawl that
// is continued reads all records.
func FuzzAnAnswerCanBeReadInItsRecord(f *testing.F) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, answer := range []string{
		ok + "Content-Length: 5\r\n\r\nhello", ok + ": x\r\n\r\nhello", ok + "<x>: y\r\n z\r\nContent-Length: 5, 5\r\n\r\nhello", "http/1.1 200\tok\r\nX: a\x01\x7fb\r\n\r\nhello",
		ok + "Transfer-Encoding: chunked, chunked\r\nContent-Length: x\r\n\r\n5\r\nhello\r\n0\r\n\r\n", ok + "Transfer-Encoding: identity\r\n\r\nhello",
		"HTTP/1.1 304 No\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 204 No\r\nTransfer-Encoding: x\r\n\r\n", "HTTP/1.0 200 OK\r\nTransfer-Encoding: x\r\n\r\nhello",
		"HTTP/2.0 200 OK\r\nX : a\r\n\r\nhello", "HTTP/1.1 101 Switching\r\nContent-Length: x\r\n\r\n", "\r\nHTTP/1.1 999\n\nhello", ok + "Content-Length :\r\n 5\r\n\r\nhello",
		ok + "<br />\r\nContent-Length: 5\r\n\r\nhello", ok + "Content-Length: 5x\r\n\r\nhello", "HTTP/2 200 OK\r\n X: a\r\n\r\nhello", "HTTP/1.1 200OK\r\n\r\nhello",
	} {
		f.Add(answer, false)
		f.Add(answer, true)
	}
	f.Fuzz(func(t *testing.T, answer string, head bool) {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: script(answer)}
			v := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}, Timeout: time.Second})
			v.head = head
			_, all := v.visit("http://a.example/")
			for _, x := range all {
				if !x.Robots && x.Status > 0 {
					readBack(t, answer, x)
				}
			}
		})
	})
}

func readBack(t *testing.T, answer string, x *Exchange) {
	t.Helper()
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	record := &warc.Exchange{
		URL: x.URL.String(), Date: x.Started, Head: x.Head, Truncated: warc.Truncation(x.Truncated),
		Response: &warc.HTTP{Head: x.ResponseHead, Body: x.Wire, Coding: warc.Unchunked},
	}
	if x.Head {
		record.Response.Coding = warc.AsSent
	}
	file, _, err := e.AppendExchange(nil, record)
	if err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	rec, err := warc.NewReader(bytes.NewReader(file)).Next()
	if err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	resp, err := rec.Response()
	if err != nil || resp.StatusCode != x.Status {
		t.Fatalf("%q is %d to fetch: %v", answer, x.Status, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil && !strings.HasPrefix(string(x.Wire), string(body)) {
		t.Errorf("%q: body %q, in its record %q", answer, x.Wire, body)
	}
}
