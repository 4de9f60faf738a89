// Package seeds reads the seeds that a user names: URLs, hosts, lists and tables of URLs in
// files, and standard input. Its errors have the exit code of a mistake of the user, and say
// how to correct it.
package seeds

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// maxBadSeeds is how many lines of a seed file may be invalid. A file with more invalid lines
// is taken for another kind of file.
const maxBadSeeds = 10

// A Reader reads the seeds that arguments name.
type Reader struct {
	In   io.Reader                        // standard input
	Note func(format string, args ...any) // prints which lines are left out
}

// All reads the seeds that args name: files that exist, standard input, URLs and hosts.
// column is the value of --column.
func (s Reader) All(args []string, column string) ([]string, error) {
	if column != "" && !slices.ContainsFunc(args, func(arg string) bool { return arg == "-" || crawldir.Exists(arg) }) {
		return nil, exit.Usagef("--column names a column of seed files, and none is given: give a file, or leave --column out")
	}
	var seeds []string
	for _, arg := range args {
		some, err := s.Of(arg, column)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, some...)
	}
	if len(seeds) == 0 {
		return nil, exit.Usagef("no valid seed in %s: write one URL on each line, such as https://example.org/", strings.Join(args, ", "))
	}
	return seeds, nil
}

// Of reads the seeds that one argument names.
func (s Reader) Of(arg, column string) ([]string, error) {
	var r io.Reader
	name := arg
	switch info, err := os.Stat(arg); {
	case arg == "-":
		r, name = s.In, "standard input"
	case err == nil && !info.IsDir():
		file, err := os.Open(arg)
		if err != nil {
			return nil, exit.Usagef("%v", err)
		}
		defer file.Close()
		r = file
	case err != nil && !strings.Contains(arg, "/") && isFileName(arg):
		return nil, exit.Usagef("there is no file %s: a site of that name is written as https://%s/", arg, arg)
	case err == nil && crawldir.Exists(filepath.Join(arg, store.StateFile)):
		return nil, exit.Usagef("%s is a crawl: the command that began it goes on with it, or one with the same seeds: crawl run --dir %s URL|FILE", arg, arg)
	case err == nil && info.IsDir():
		return nil, exit.Usagef("%s is a directory: give a file with one URL per line, or a URL", arg)
	default:
		one, bad, err := crawler.ReadSeeds(strings.NewReader(arg), "argument")
		if err != nil || len(bad) > 0 || len(one) == 0 {
			return nil, exit.Usagef("%q is neither a file nor a URL: write a URL as https://example.org/", arg)
		}
		return one, nil
	}
	return s.file(r, name, column)
}

// isFileName reports whether the extension of name is that of a text file or table.
func isFileName(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".txt", ".csv", ".tsv", ".lst", ".list", ".seeds", ".urls", ".json", ".jsonl", ".yaml", ".yml", ".md":
		return true
	}
	return false
}

// file reads a seed file. It prints which lines are invalid, and leaves them out. If the file
// is not a list of URLs, the error says what the file looks like. If column is not empty, the
// file is a table.
func (s Reader) file(r io.Reader, name, column string) ([]string, error) {
	in := bufio.NewReaderSize(r, 4096)
	head, _ := in.Peek(4096) // if this is an error, the next read returns it again
	if what := notText(head); what != "" {
		return nil, exit.Usagef("%s is %s: write one URL on each line, as UTF-8", name, what)
	}
	if column != "" {
		return s.table(in, name, column)
	}
	lines, bad, err := crawler.ReadSeeds(in, name)
	if err != nil {
		return nil, exit.Usagef("%v", err)
	}
	for _, b := range bad[:min(len(bad), maxBadSeeds)] {
		s.Note("crawl: %v; this line is left out", b)
	}
	if len(bad) > maxBadSeeds {
		return nil, exit.Usagef("%s: %d more lines are not URLs: is it a list of URLs? Write one URL on each line%s", name, len(bad)-maxBadSeeds, columnsOf(head))
	}
	if table := columnsOf(head); table != "" && (len(lines) == 0 || commas(lines)) {
		return nil, exit.Usagef("%s looks like CSV: write one URL on each line%s", name, table)
	}
	return lines, nil
}

// notText returns what kind of file this is if it is not UTF-8 text. It returns "" if it may
// be text.
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

// columnsOf returns how to take the URLs out of CSV, if a file looks like CSV. A file looks like
// CSV if its first lines all have the same number of commas, or of semicolons.
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

// commas reports whether all of these seeds have a comma or a semicolon in their host or
// after a blank. Lines of CSV have that, but URLs of a list do not.
func commas(seeds []string) bool {
	for _, s := range seeds {
		rest := s[strings.Index(s, "://")+1:]
		if !strings.Contains(rest, ",") && !strings.Contains(rest, ";") {
			return false
		}
	}
	return len(seeds) > 0
}

// Dir returns the directory of a crawl that is named after its first seed: a file, a host, or
// standard input.
func Dir(seed string) string {
	if seed == "-" {
		return "stdin.crawl"
	}
	if _, err := os.Stat(seed); err == nil {
		base := filepath.Base(seed)
		return strings.TrimSuffix(base, filepath.Ext(base)) + ".crawl"
	}
	u, err := URL(seed)
	if err != nil {
		return "seeds.crawl"
	}
	return crawldir.Of(u)
}

// URL parses a seed. A seed without a scheme is an https URL.
func URL(seed string) (frontier.URL, error) {
	u, err := frontier.ParseURL(seed)
	if err != nil && !strings.Contains(seed, "://") {
		u, err = frontier.ParseURL("https://" + seed)
	}
	return u, err
}
