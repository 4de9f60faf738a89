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
	return readPages(dir, lines.NewPageReader, f)
}

func readPages(dir string, reader func(io.Reader) *lines.Reader, f func(*PageRecord) error) (other int64, err error) {
	return readLines(filepath.Join(dir, PagesFile), reader, func(line []byte) (bool, error) {
		var p PageRecord
		if json.Unmarshal(line, &p) != nil || p.URL == "" {
			return false, nil
		}
		return true, f(&p)
	})
}

// ReadBodies is like ReadPages, but the records have the bodies of the pages if the crawl keeps
// them in pages.jsonl. It needs memory for the longest line; a line of more than 128 MiB is
// counted in other.
func ReadBodies(dir string, f func(*PageRecord) error) (other int64, err error) {
	return readPages(dir, lines.NewBodyReader, f)
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
