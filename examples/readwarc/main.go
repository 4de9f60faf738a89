// Command readwarc prints status, URL and title of the pages in WARC files, of permesso or of
// any other crawler.
//
//	go run ./examples/readwarc example.crawl/warc/*.warc.gz
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// maxBody is the largest part of a body that is read, in bytes.
const maxBody = 16 << 20

func main() {
	for _, name := range os.Args[1:] {
		f, err := os.Open(name)
		if err != nil {
			log.Fatal(err)
		}
		err = read(f, os.Stdout)
		f.Close()
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
}

// read prints the pages of one file. A bad record does not affect the others.
func read(in io.Reader, out io.Writer) error {
	var wrong []error
	r := warc.NewReader(in)
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return errors.Join(wrong...)
		}
		if err != nil {
			return errors.Join(append(wrong, err)...)
		}
		if rec.Type != warc.Response {
			continue
		}
		p, err := page(rec)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", rec.TargetURI(), err))
			continue
		}
		if _, err := fmt.Fprintf(out, "%d %s %s\n", p.Status, p.URL, p.Title()); err != nil {
			return err
		}
	}
}

// page returns the page of a record, as a handler would have got it.
func page(rec *warc.Record) (*crawler.Page, error) {
	u, err := frontier.ParseURL(rec.TargetURI())
	if err != nil {
		return nil, err
	}
	resp, err := rec.Response()
	if err != nil {
		return nil, err
	}
	body, err := fetch.Decode(strings.Join(resp.Header["Content-Encoding"], ","), resp.Body)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	x := &fetch.Exchange{URL: u, Status: resp.StatusCode, Header: resp.Header, Truncated: rec.Header.Get(warc.FieldTruncated)}
	if x.Body, err = io.ReadAll(io.LimitReader(body, maxBody)); err != nil && x.Truncated == "" {
		return nil, err // a body that was cut when it was fetched is read up to the cut
	}
	return crawler.NewPage(frontier.Entry{URL: u}, x, ""), nil
}
