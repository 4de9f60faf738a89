package storage

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/storage/internal/lines"
)

// ReadPages calls f with each line of pages.jsonl in the directory of a crawl, which may
// run; what f is given has no body, and is valid until it returns. other is how many lines
// are none of a page: damaged ones, and a last one that is not whole. It stops at the first
// error of f. The error is fs.ErrNotExist where the crawl writes no pages.
func ReadPages(dir string, f func(*PageRecord) error) (other int64, err error) {
	return readLines(filepath.Join(dir, PagesFile), lines.NewPageReader, func(line []byte) (bool, error) {
		var p PageRecord
		if json.Unmarshal(line, &p) != nil || p.URL == "" {
			return false, nil
		}
		return true, f(&p)
	})
}

// ReadLinks is ReadPages of links.jsonl.
func ReadLinks(dir string, f func(*LinkRecord) error) (other int64, err error) {
	return readLines(filepath.Join(dir, LinksFile), lines.NewReader, func(line []byte) (bool, error) {
		var l LinkRecord
		if json.Unmarshal(line, &l) != nil || l.To == "" {
			return false, nil
		}
		return true, f(&l)
	})
}

// readLines calls f with each line of a file, and counts those that f says are none.
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
