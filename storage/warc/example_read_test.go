package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/permesso-crawler/permesso/storage/warc"
)

// archive returns a WARC file with a warcinfo record and an answer.
func archive() []byte {
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	began := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	if _, err := e.WriteInfo(&file, &warc.Info{Date: began, Software: "example/1.0"}); err != nil {
		log.Fatal(err)
	}
	if _, err := e.WriteExchange(&file, &warc.Exchange{
		URL: "http://a.example/", Date: began,
		Response: &warc.HTTP{Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"), Body: []byte("hello")},
	}); err != nil {
		log.Fatal(err)
	}
	return file.Bytes()
}

// Response returns the answer of a record as a response of package net/http.
func ExampleRecord_Response() {
	r := warc.NewReader(bytes.NewReader(archive()))
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		if rec.Type != warc.Response {
			continue
		}
		resp, err := rec.Response()
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		fmt.Printf("%s %s %q %v\n", rec.TargetURI(), resp.Status, body, err)
	}
	// Output: http://a.example/ 200 OK "hello" <nil>
}

// Fields returns the fields in the block of a warcinfo or metadata record.
func ExampleRecord_Fields() {
	rec, err := warc.ReadAt(bytes.NewReader(archive()), 0)
	if err != nil {
		log.Fatal(err)
	}
	fields, err := rec.Fields()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range fields {
		fmt.Println(f.Name, f.Value)
	}
	fmt.Println(rec.Header.Get("Content-Type"), rec.Header.Values("WARC-Protocol"))
	// Output:
	// software example/1.0
	// format WARC File Format 1.1
	// conformsTo http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/
	// application/warc-fields []
}

// Placed returns the data of a record that an index needs.
func ExampleRecord_Placed() {
	r := warc.NewReader(bytes.NewReader(archive()))
	for range 2 {
		rec, err := r.Next()
		if err != nil {
			log.Fatal(err)
		}
		placed, err := rec.Placed()
		if err != nil {
			log.Fatal(err)
		}
		length, err := rec.Close() // length as stored; Close also checks the checksum
		fmt.Println(placed.Type, placed.URL, placed.Status, rec.Head(), placed.Length == length, err)
	}
	// Output:
	// warcinfo  0 false true <nil>
	// response http://a.example/ 200 false true <nil>
}

// Skip continues after a damaged record. Reset lets a Reader start at any record of a file.
func ExampleReader_Skip() {
	file := append([]byte("damaged"), archive()...)
	r := warc.NewReader(bytes.NewReader(file))
	_, err := r.Next()
	var damaged *warc.Error
	if !errors.As(err, &damaged) {
		log.Fatal(err)
	}
	n, err := r.Skip()
	fmt.Println("damaged at", damaged.Offset, "skipped", n, err)
	rec, err := r.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.Type, rec.Offset)
	r.Reset(bytes.NewReader(file[n:]), n)
	rec, err = r.Next()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rec.Type, rec.Offset)
	// Output:
	// damaged at 0 skipped 7 <nil>
	// warcinfo 7
	// warcinfo 7
}

// If two records have the same payload digest, the second one can be a revisit of the first.
func ExamplePayloadDigest() {
	a := &warc.HTTP{StartLine: warc.StatusLine(200), Body: []byte("hello")}
	b := &warc.HTTP{StartLine: warc.StatusLine(404), Body: []byte("hello")}
	fmt.Println(warc.PayloadDigest(a) == warc.PayloadDigest(b))
	// Output: true
}

// Fill replaces a record without moving the records after it.
func ExamplePurged_Fill() {
	file := archive()
	r := warc.NewReader(bytes.NewReader(file))
	if _, err := r.Next(); err != nil {
		log.Fatal(err)
	}
	rec, err := r.Next()
	if err != nil {
		log.Fatal(err)
	}
	length, err := rec.Close()
	if err != nil {
		log.Fatal(err)
	}
	var gone bytes.Buffer
	p := warc.Purged{ID: rec.ID, Date: time.Date(2030, 2, 1, 0, 0, 0, 0, time.UTC), Was: "a response"}
	if err := p.Fill(&gone, length); err != nil {
		log.Fatal(err)
	}
	copy(file[rec.Offset:], gone.Bytes())
	fmt.Println(int64(gone.Len()) == length, bytes.Contains(file, []byte("hello")))
	// Output: true false
}
