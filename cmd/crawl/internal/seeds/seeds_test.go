package seeds

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// A file that is not a list of URLs is refused, with what it looks like, in a few lines.
func TestFilesThatAreNoSeedLists(t *testing.T) {
	t.Parallel()
	random := make([]byte, 3<<20)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(random); err != nil {
		t.Fatal(err)
	}
	wide := func(text string, mark bool) string {
		var b strings.Builder
		units := utf16.Encode([]rune(text))
		if mark {
			units = append([]uint16{0xfeff}, units...)
		}
		for _, u := range units {
			b.Write([]byte{byte(u), byte(u >> 8)})
		}
		return b.String()
	}
	urls := strings.Repeat("https://example.org/\n", 50)
	for name, c := range map[string]struct {
		text, want string
		seeds      int
	}{
		"good":                 {urls, "", 50},
		"a mark":               {"\ufeff" + urls, "", 50},
		"one line":             {"https://example.org/a,b;c", "", 1},
		"commas in paths":      {"https://example.org/a,b\nhttps://example.org/\nhttps://example.org/a,b\n", "", 3},
		"ten bad lines":        {strings.Repeat("no seed\n", 10) + urls, "", 50},
		"eleven bad lines":     {strings.Repeat("no seed\n", 11) + urls, "1 more lines are not URLs", 0},
		"random bytes":         {string(random), "file is a binary file", 0},
		"UTF-16":               {wide(urls, true), "file is UTF-16", 0},
		"UTF-16, no mark":      {wide(urls, false), "file is UTF-16", 0},
		"gzip":                 {"\x1f\x8b\x08" + urls, "file is compressed by gzip", 0},
		"CSV":                  {"https://example.org/,news\nhttps://example.com/,shop\n", "file looks like CSV: write one URL on each line, or name the column that has them, such as --column 1", 0},
		"CSV, other way":       {"name;url\nnews;https://example.org/\n", "such as --column 1", 0},
		"CSV with bad lines":   {strings.Repeat("a name,https://example.org/\n", 30), "20 more lines are not URLs: is it a list of URLs? Write one URL on each line, or name the column", 0},
		"a Latin-1 comment":    {"# caf\xe9\nhttps://example.org/\n", "", 1},
		"a letter that is cut": {"# " + strings.Repeat("é", 3000) + "\nhttps://example.org/\n", "", 1},
	} {
		var said bytes.Buffer
		seeds, err := Reader{Note: noteTo(&said)}.file(strings.NewReader(c.text), "file", "")
		if c.want == "" && (err != nil || len(seeds) != c.seeds) || c.want != "" && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d seeds, %v", name, len(seeds), err)
		}
		if n := strings.Count(said.String(), "\n"); n > maxBadSeeds {
			t.Errorf("%s: %d lines are said", name, n)
		}
	}
}

// --column takes the seeds from a column of a table, by its name or number.
func TestSeedsOfATable(t *testing.T) {
	t.Parallel()
	const two = "id,url,name\n1,http://a.example/,A\n2,\"http://b.example/?q=1,2\",\"B \"\"b\"\"\"\n"
	for name, c := range map[string]struct{ text, column, seeds, said, err string }{
		"by name":            {two, "url", "http://a.example/ http://b.example/?q=1,2", "", ""},
		"by number":          {two, "2", "http://a.example/ http://b.example/?q=1,2", "", ""},
		"other case":         {two, "URL", "http://a.example/ http://b.example/?q=1,2", "", ""},
		"a mark":             {"\ufeffurl,x\r\nhttp://a.example/,\r\n", "url", "http://a.example/", "", ""},
		"a quoted header":    {"\ufeff\"url\",x\nhttp://a.example/,\n", "url", "http://a.example/", "", ""},
		"tabs":               {"url\tname\nhttp://a.example/\tA, or B\n", "url", "http://a.example/", "", ""},
		"semicolons":         {"name;url\nA;http://a.example/\n", "url", "http://a.example/", "", ""},
		"no header":          {"http://a.example/,1\nb.example,2\n", "1", "http://a.example/ b.example", "", ""},
		"an empty value":     {"url,x\n,1\nhttp://a.example/,2\n", "url", "http://a.example/", "", ""},
		"a short line":       {"x,url\n1\n2,http://a.example/\n", "url", "http://a.example/", "file:2: it has 1 column, and no column 2; this line is left out", ""},
		"no URL":             {"x,url\n1,not a url\n2,http://a.example/\n", "url", "http://a.example/", "file:2: ", ""},
		"a tab in a value":   {"x,url\n1,\"http://a.example/\ttag\"\n", "url", "", "file:2: there is a tab", ""},
		"lines in a value":   {"x,url\n\"a\nb\",http://a.example/\n1,bad url\n", "url", "http://a.example/", "file:4: ", ""},
		"no such name":       {two, "link", "", "", `--column: file:1 has no column "link": it has id, url, name; a number counts from 1 on`},
		"a name like it":     {two, "ulr", "", "", "did you mean url?"},
		"no such number":     {two, "4", "", "", "--column: file:1 has no column 4: it has 3 columns"},
		"the number 0":       {two, "0", "", "", "--column: file:1 has no column 0"},
		"a quotation mark":   {"x,url\n1,\"http://a.example/\n", "url", "", "", "file:2:22:"},
		"one in the middle":  {"x,url\n1,http://a.example/\"b\n", "url", "", "", "file:2:20: bare \" in non-quoted-field: correct the line"},
		"the wrong column":   {"url,x\n" + strings.Repeat("http://a.example/,no url\n", 12), "x", "", "file:2: ", "file: column x has no URL in 2 more lines: is it the right one?"},
		"UTF-16":             {"\xff\xfeu\x00", "url", "", "", "file is UTF-16"},
		"nothing but a line": {"url\n", "url", "", "", ""},
	} {
		var said bytes.Buffer
		seeds, err := Reader{Note: noteTo(&said)}.file(strings.NewReader(c.text), "file", c.column)
		if c.err == "" && err != nil || c.err != "" && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if strings.Join(seeds, " ") != c.seeds || !strings.Contains(said.String(), c.said) || c.said == "" && said.Len() > 0 {
			t.Errorf("%s: %q, said %q", name, seeds, &said)
		}
	}
}

// noteTo returns a function that writes lines to w.
func noteTo(w io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
}
