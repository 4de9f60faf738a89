package main

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
)

// maxBadSeeds is how many lines of a seed file may be invalid before it is taken for
// another kind of file.
const maxBadSeeds = 10

// readSeeds reads a seed file. Invalid lines are named and left out. A file that is not a
// list of URLs is an error that says what it looks like. With column the file is a table.
func (p *program) readSeeds(r io.Reader, name, column string) ([]string, error) {
	in := bufio.NewReaderSize(r, 4096)
	head, _ := in.Peek(4096) // the next read returns an error of the file again
	if what := notText(head); what != "" {
		return nil, exit.Usagef("%s is %s: write one URL on each line, as UTF-8", name, what)
	}
	if column != "" {
		return p.readColumn(in, name, column)
	}
	lines, bad, err := crawler.ReadSeeds(in, name)
	if err != nil {
		return nil, exit.Usagef("%v", err)
	}
	for _, b := range bad[:min(len(bad), maxBadSeeds)] {
		p.note("crawl: %v; this line is left out", b)
	}
	if len(bad) > maxBadSeeds {
		return nil, exit.Usagef("%s: %d more lines are not URLs: is it a list of URLs? Write one URL on each line%s", name, len(bad)-maxBadSeeds, columnsOf(head))
	}
	if table := columnsOf(head); table != "" && (len(lines) == 0 || commas(lines)) {
		return nil, exit.Usagef("%s looks like CSV: write one URL on each line%s", name, table)
	}
	return lines, nil
}

// notText returns what kind of file it is if it is not UTF-8 text, or "" if it may be text.
func notText(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16"
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return "compressed by gzip"
	}
	if zero := bytes.IndexByte(head, 0); zero >= 0 {
		if text := bytes.ReplaceAll(head, []byte{0}, nil); len(text) <= len(head)/2+1 && utf8.Valid(text) {
			return "UTF-16"
		}
		return "a binary file"
	}
	whole := head
	for i := 0; i < utf8.UTFMax && len(whole) > 0 && !utf8.Valid(whole); i++ {
		whole = whole[:len(whole)-1] // the last letter may be cut
	}
	if !utf8.Valid(whole) && bytes.IndexByte(head, '\n') < 0 {
		return "a binary file"
	}
	return ""
}

// columnsOf returns how to take the URLs out of CSV, if a file looks like it: its first
// lines all have the same number of commas, or of semicolons.
func columnsOf(head []byte) string {
	lines := strings.Split(strings.TrimSpace(string(head)), "\n")
	for _, comma := range []string{",", ";"} {
		n := strings.Count(lines[0], comma)
		same := n > 0 && len(lines) > 1
		for _, line := range lines[:min(len(lines), 3)] {
			same = same && strings.Count(line, comma) == n
		}
		if same {
			return ", or name the column that has them, such as --column 1"
		}
	}
	return ""
}

// commas reports whether all of some seeds have commas or semicolons in their host or after
// a blank. Lines of CSV do; URLs of a list do not.
func commas(seeds []string) bool {
	for _, s := range seeds {
		rest := s[strings.Index(s, "://")+1:]
		if !strings.Contains(rest, ",") && !strings.Contains(rest, ";") {
			return false
		}
	}
	return len(seeds) > 0
}
