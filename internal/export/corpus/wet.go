package corpus

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/permesso-crawler/permesso/storage/warc"
)

// A WET has the values for the first record of a WET file.
type WET struct {
	Name     string // name of the file
	Crawl    string // name of the crawl
	Software string
	Date     time.Time // when the file was made
}

// Write writes a WARC file with a conversion record for each document that has text, like the
// WET files of Common Crawl. Each record is compressed with gzip. A metadata record follows if
// more is known about a document: the owner's statements about use, the language, and the first
// page with nearly the same text. Write returns the number of conversion records.
func (f WET) Write(w io.Writer, docs iter.Seq2[*Document, error]) (int64, error) {
	out := bufio.NewWriterSize(w, bufferSize)
	enc, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		return 0, err
	}
	info, err := enc.WriteInfo(out, &warc.Info{
		Filename: filepath.Base(f.Name), Date: f.Date, Software: f.Software, IsPartOf: f.Crawl,
		More: []warc.Field{{Name: "description", Value: "text of pages, as WARC conversion records"}},
	})
	if err != nil {
		return 0, err
	}
	var n int64
	for d, err := range docs {
		if err != nil {
			return n, err
		}
		if d.Text == "" {
			continue
		}
		_, err := enc.WriteExchange(out, &warc.Exchange{
			URL: d.URL, Date: d.Time, InfoID: info.ID, Converted: d.WARCID,
			File: &warc.File{Type: "text/plain", Body: []byte(d.Text)}, Metadata: d.fields(),
		})
		if err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}

// fields returns the fields of the metadata record of a document, or nil if there are none.
// They have the same names as in the archive of a crawl.
func (d *Document) fields() (fields []warc.Field) {
	add := func(name string, values ...string) {
		for _, v := range values {
			if v = strings.Map(printable, v); v != "" {
				fields = append(fields, warc.Field{Name: name, Value: v})
			}
		}
	}
	add("usage", strings.Split(d.Usage, "; ")...)
	add("license", strings.Fields(d.License)...)
	add("tdmPolicy", strings.Fields(d.TDMPolicy)...)
	add("language", d.Language)
	add("nearDuplicateOf", d.Near)
	return fields
}

// printable returns r, or -1 if r is a control character, which a field of a WARC record cannot
// have.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// CheckWET reads a WET file and returns the number of its conversion records. It fails at the
// first invalid record.
func CheckWET(r io.Reader) (n int64, err error) {
	in := warc.NewReader(r)
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return n, nil
		}
		if err == nil {
			_, err = rec.Close()
		}
		if err != nil {
			return n, fmt.Errorf("record after %d conversions: %v", n, err)
		}
		if rec.Type == warc.Conversion {
			n++
		}
	}
}
