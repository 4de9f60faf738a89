package cdxj_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// index is an index of two lines, which are sorted.
const index = `example,a)/ 20300102030405 {"url":"http://a.example/","mime":"text/html","status":"200","length":"500","offset":"0","filename":"a.warc.gz"}
example,a)/b 20300102030406 {"url":"http://a.example/b","mime":"text/html","status":"404","length":"300","offset":"500","filename":"a.warc.gz"}
`

// Find looks up a URL in an index of any size, without reading the whole index.
func ExampleFind() {
	for e, err := range cdxj.Find(strings.NewReader(index), int64(len(index)), "http://a.example/b") {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(e.Status, e.Filename, e.Offset, e.Length)
	}
	// Output: 404 a.warc.gz 500 300
}

// Index returns the entries for a WARC file, and errors for the records that cannot be read.
func ExampleIndex() {
	enc, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	file, _, err := enc.AppendExchange([]byte("damaged"), &warc.Exchange{
		URL: "http://a.example/", Date: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		Response: &warc.HTTP{Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"), Body: []byte("hello")},
	})
	if err != nil {
		log.Fatal(err)
	}
	sorter := cdxj.NewSorter("", 0)
	defer sorter.Close()
	for e, err := range cdxj.Index(context.Background(), bytes.NewReader(file), "a.warc.gz") {
		var damaged *warc.Error
		switch {
		case errors.As(err, &damaged):
			fmt.Println("damaged at", damaged.Offset) // the loop continues
			continue
		case err == nil:
			err = sorter.Add(e)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(sorter.Len(), "entries")
	// Output:
	// damaged at 0
	// 1 entries
}

// A program that writes WARC files can make the entry of each record without reading the record.
func ExampleEntryOf() {
	enc, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	file, placed, err := enc.AppendExchange(nil, &warc.Exchange{
		URL: "http://a.example/", Date: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		Request:  &warc.HTTP{StartLine: warc.RequestLine("GET", "/")},
		Response: &warc.HTTP{StartLine: warc.StatusLine(200), Body: []byte("hello")},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range placed {
		e, err := cdxj.EntryOf(&p, "a.warc.gz")
		fmt.Println(p.Type, e != nil, err) // e is nil, because an index does not list requests
	}
	rec, err := warc.ReadAt(bytes.NewReader(file), 0)
	if err != nil {
		log.Fatal(err)
	}
	e, err := cdxj.NewEntry(rec, "a.warc.gz") // the same entry, made by reading the record
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Key, e.Status)
	// Output:
	// response true <nil>
	// request false <nil>
	// example,a)/ 200
}

// Parse and Append read and write one line. AddLine adds a line that is already in this form.
func ExampleParse() {
	s := cdxj.NewSorter("", 0)
	defer s.Close()
	for line := range strings.Lines(index) {
		e, err := cdxj.Parse(line)
		if err != nil {
			log.Fatal(err)
		}
		e.Filename = "b.warc.gz"
		out, err := e.Append(nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := s.AddLine(out); err != nil {
			log.Fatal(err)
		}
	}
	n, err := s.WriteTo(io.Discard)
	fmt.Println(s.Len(), "lines,", n, "bytes", err)
	// Output: 2 lines, 284 bytes <nil>
}
