package warc_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/storage/warc"
)

func Example() {
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	began := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	file, info, err := e.AppendInfo(nil, &warc.Info{Date: began, Software: "example/1.0", Robots: "RFC 9309"})
	if err != nil {
		fmt.Println(err)
		return
	}
	file, _, err = e.AppendExchange(file, &warc.Exchange{
		URL: "http://a.example/", Date: began, InfoID: info.ID,
		Request: &warc.HTTP{StartLine: warc.RequestLine("GET", "/"), Header: http.Header{"Host": {"a.example"}}},
		Response: &warc.HTTP{
			StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/plain"}},
			Body: []byte("hello"), Coding: warc.Decoded,
		},
		Metadata: []warc.Field{{Name: "hopsFromSeed", Value: "L"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	r := warc.NewReader(bytes.NewReader(file))
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rec.Type, rec.TargetURI(), rec.Verify())
	}
	// Output:
	// warcinfo  <nil>
	// response http://a.example/ <nil>
	// request http://a.example/ <nil>
	// metadata http://a.example/ <nil>
}

func ExampleReadAt() {
	e, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	file := []byte("what stood in the file before")
	before := int64(len(file))
	file, placed, err := e.AppendExchange(file, &warc.Exchange{
		URL: "ftp://a.example/read.me", Date: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		File: &warc.File{Type: "text/plain", Body: []byte("hello")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	rec, err := warc.ReadAt(bytes.NewReader(file), before+placed[0].Offset)
	if err != nil {
		fmt.Println(err)
		return
	}
	block, err := io.ReadAll(rec)
	fmt.Printf("%s %s %v\n", rec.TargetURI(), block, err)
	// Output: ftp://a.example/read.me hello <nil>
}
