package storage

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/lines"
)

// ReadPages calls f with each record in pages.jsonl of the crawl in dir, which may be running.
// The record is passed without the page's body, and is valid until f returns. other is the
// number of lines that are not records: damaged lines, and an incomplete last line. If f
// returns an error, ReadPages stops and returns this error. If the crawl writes no pages, the
// error is fs.ErrNotExist.
func ReadPages(dir string, f func(*PageRecord) error) (other int64, err error) {
	return readLines(filepath.Join(dir, PagesFile), lines.NewPageReader, func(line []byte) (bool, error) {
		var p PageRecord
		if json.Unmarshal(line, &p) != nil || p.URL == "" {
			return false, nil
		}
		return true, f(&p)
	})
}

// ReadLinks is like ReadPages, for links.jsonl.
func ReadLinks(dir string, f func(*LinkRecord) error) (other int64, err error) {
	return readLines(filepath.Join(dir, LinksFile), lines.NewReader, func(line []byte) (bool, error) {
		var l LinkRecord
		if json.Unmarshal(line, &l) != nil || l.To == "" {
			return false, nil
		}
		return true, f(&l)
	})
}

// readLines calls f with each line of a file. other is the number of lines for which f returns
// ok false, or that are too long.
func readLines(path string, reader func(io.Reader) *lines.Reader, f func(line []byte) (ok bool, err error)) (other int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	in := reader(file)
	for {
		line, err := in.Next()
		if err == io.EOF {
			return other, nil
		}
		ok := false
		if err == nil {
			ok, err = f(line)
		}
		if err != nil && !errors.Is(err, lines.ErrLong) {
			return other, err
		}
		if !ok {
			other++
		}
	}
}
