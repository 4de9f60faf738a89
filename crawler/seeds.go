package crawler

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// A SeedError says which line of a seed file is no seed.
type SeedError struct {
	File string
	Line int
	Err  error
}

func (e *SeedError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

func (e *SeedError) Unwrap() error { return e.Err }

// ReadSeeds reads a seed file: a URL on each line, with a tag behind a tab if
// wanted; blank lines and lines that start with # count for nothing. A host
// without a scheme is asked by https. Lines that are no seeds are left out and
// reported; err is that of r. name is the file's, for the reports.
func ReadSeeds(r io.Reader, name string) (seeds []string, bad []*SeedError, err error) {
	in := bufio.NewReaderSize(r, maxLine+1) // and the line feed
	for n := 1; ; n++ {
		line, long, err := readLine(in)
		if err == io.EOF {
			return seeds, bad, nil
		}
		if err != nil {
			return seeds, bad, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		if _, err = parseSeed(line); long {
			err = errLongLine
		}
		if err != nil {
			bad = append(bad, &SeedError{name, n, err})
			continue
		}
		seeds = append(seeds, line)
	}
}

// readLine reads a line; of a long one it returns the beginning.
func readLine(in *bufio.Reader) (line string, long bool, err error) {
	raw, long, err := in.ReadLine()
	line = string(raw)
	for rest := long; rest && err == nil; {
		_, rest, err = in.ReadLine()
	}
	if long && err == io.EOF {
		err = nil // of the next line
	}
	return line, long, err
}

// maxLine is how long a line of a seed file may be: many times a URL and a tag.
const maxLine = 64 << 10

var errLongLine = fmt.Errorf("longer than %d bytes: is this a seed file?", maxLine)

var errBlank = errors.New("has blanks: write one URL on each line, a tag behind a tab, a blank inside a URL as %20")

// parseSeed reads one seed: a URL, or a bare host, and a tag.
func parseSeed(line string) (frontier.Entry, error) {
	raw, tag, _ := strings.Cut(line, "\t")
	raw, _, _ = strings.Cut(raw, " #")
	raw, tag = strings.TrimSpace(raw), strings.TrimSpace(tag)
	if strings.ContainsAny(raw, " \r\v\f") {
		return frontier.Entry{}, &frontier.URLError{Raw: line, Err: errBlank}
	}
	if raw == "" {
		return frontier.Entry{}, &frontier.URLError{Raw: line, Err: frontier.ErrRelative}
	}
	u, err := frontier.ParseURL(raw)
	if err != nil && !strings.Contains(raw, "://") && looksLikeHost(raw) {
		u, err = frontier.ParseURL("https://" + raw)
	}
	return frontier.Entry{URL: u, Tag: tag}, err
}

// looksLikeHost reports whether the first part of raw has a dot, or a port, or
// is localhost: words are no seeds.
func looksLikeHost(raw string) bool {
	host, _, _ := strings.Cut(raw, "/")
	name, port, _ := strings.Cut(host, ":")
	if strings.ContainsAny(host, " \t<>\"@") || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return name == "localhost" || strings.Contains(strings.Trim(name, "."), ".")
}
