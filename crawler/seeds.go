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
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	n := 0
	for s.Scan() {
		n++
		line := strings.TrimSpace(strings.TrimPrefix(s.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		if _, perr := parseSeed(line); perr != nil {
			bad = append(bad, &SeedError{name, n, perr})
			continue
		}
		seeds = append(seeds, line)
	}
	if err := s.Err(); err != nil {
		return seeds, bad, fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return seeds, bad, nil
}

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
