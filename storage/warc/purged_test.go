package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

// A Purged gets exactly the length of the replaced record, for any length, and readers accept it.
func TestAGapIsFilledByARecordOfItsLength(t *testing.T) {
	p := &Purged{ID: "urn:uuid:0a1b2c3d-0000-4000-8000-000000000001", Date: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC), Was: "record"}
	lengths := []int64{65000, 65535, 65536, 65700, 131070, 131080, 1 << 20}
	for n := range int64(1500) {
		lengths = append(lengths, n)
	}
	for n := range int64(40) { // lengths at which a further stored block begins
		lengths = append(lengths, 1<<16+160+n, 1<<17+160+n)
	}
	least, filled := int64(0), 0
	for _, n := range lengths {
		var out bytes.Buffer
		if err := p.Fill(&out, n); err != nil {
			if least = max(least, n); !errors.Is(err, errNoRoom) || out.Len() > 0 {
				t.Fatalf("%d bytes: %v, %d written", n, err, out.Len())
			}
			continue
		}
		filled++
		if int64(out.Len()) != n {
			t.Fatalf("%d bytes, want %d", out.Len(), n)
		}
		zip, err := gzip.NewReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, zip); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		r := NewReader(bytes.NewReader(out.Bytes()))
		rec, err := r.Next()
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if rec.ID != p.ID || rec.Type != Metadata || rec.TargetURI() != "" || rec.Header.Get(FieldPurged) != "record" || !rec.Date.Equal(p.Date.Truncate(time.Second)) {
			t.Fatalf("%d bytes: %+v", n, rec)
		}
		if rec.Header.Get(fieldBlockDigest) == "" {
			t.Fatalf("%d bytes: %v", n, rec.Header)
		}
		if err := rec.Verify(); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if length, err := rec.Close(); err != nil || length != n {
			t.Fatalf("%d bytes: %d, %v", n, length, err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	if least > 260 || filled < 1200 {
		t.Errorf("%d bytes are too few; %d gaps were filled", least, filled)
	}
}

// Even the records of the smallest possible exchange are long enough for a Purged.
func TestEveryRecordOfAnExchangeLeavesRoom(t *testing.T) {
	e, err := NewEncoder(Options{Level: 9})
	if err != nil {
		t.Fatal(err)
	}
	_, placed, err := e.AppendExchange(nil, &Exchange{
		URL: "http://a/", Date: time.Unix(0, 0),
		Response: &HTTP{StartLine: StatusLine(200), Header: http.Header{}},
		Request:  &HTTP{StartLine: "GET / HTTP/1.1", Header: http.Header{}},
		Metadata: []Field{{"a", "b"}},
	})
	if err != nil || len(placed) != 3 {
		t.Fatal(placed, err)
	}
	for _, r := range placed {
		p := &Purged{ID: r.ID, Date: time.Now(), Was: "record"}
		if r.Type == Response {
			p.Was = "answer abcdefghijklmnopqrstuvwx"
		}
		if err := p.Fill(io.Discard, r.Length); err != nil {
			t.Errorf("%s: %v", r.Type, err)
		}
	}
}
