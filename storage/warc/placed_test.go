package warc

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// FuzzPlaced checks that writing a record and reading it give the same Placed.
func FuzzPlaced(f *testing.F) {
	for _, head := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: Text/HTML; charset=utf-8\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Type : text/html\r\ncontent-type: text/plain\r\n\r\n",
		"HTTP/1.0 404\nContent-Type:text/html, text/html\n\n",
		"HTTP/1.1 2000 OK\r\nContent-Type:\r\n text/html\r\n\r\n",
		"ICY 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n",
		"HTTP/1.1  200\r\nA: b\r\n: c\r\nContent-Type: text/html;;\r\n\r\n",
	} {
		f.Add([]byte(head), []byte("body"), false)
		f.Add([]byte(head), []byte{}, true)
	}
	e, err := NewEncoder(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, head, body []byte, revisit bool) {
		x := Exchange{URL: "http://a.example/", Date: time.Unix(1e9, 1e3).UTC(), Response: &HTTP{Head: head, Body: body}}
		if revisit {
			x.Revisit = &RevisitOf{Profile: IdenticalPayloadDigest, PayloadDigest: "sha1:X"}
		}
		b, placed, err := e.AppendExchange(nil, &x)
		if err != nil {
			t.Skip()
		}
		r := NewReader(bytes.NewReader(b))
		for _, want := range placed {
			rec, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := rec.Placed(); got != want || err != nil {
				t.Errorf("%q is read as\n%+v, written as\n%+v: %v", head, got, want, err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Error(err)
		}
	})
}
