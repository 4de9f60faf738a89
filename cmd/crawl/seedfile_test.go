package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
)

// A file that is no list of URLs is refused with what it looks like, in a few lines.
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
		"eleven bad lines":     {strings.Repeat("no seed\n", 11) + urls, "1 lines more are no URLs", 0},
		"random bytes":         {string(random), "file is a binary file", 0},
		"UTF-16":               {wide(urls, true), "file is UTF-16", 0},
		"UTF-16, no mark":      {wide(urls, false), "file is UTF-16", 0},
		"gzip":                 {"\x1f\x8b\x08" + urls, "file is compressed by gzip", 0},
		"CSV":                  {"https://example.org/,news\nhttps://example.com/,shop\n", "file looks like CSV: write one URL on each line, such as cut -d','", 0},
		"CSV, other way":       {"name;url\nnews;https://example.org/\n", "cut -d';'", 0},
		"CSV with bad lines":   {strings.Repeat("a name,https://example.org/\n", 30), "20 lines more are no URLs: is it a list of them? Write one URL on each line, such as cut", 0},
		"a Latin-1 comment":    {"# caf\xe9\nhttps://example.org/\n", "", 1},
		"a letter that is cut": {"# " + strings.Repeat("é", 3000) + "\nhttps://example.org/\n", "", 1},
	} {
		var said bytes.Buffer
		seeds, err := (&program{err: &said}).readSeeds(strings.NewReader(c.text), "file")
		if c.want == "" && (err != nil || len(seeds) != c.seeds) || c.want != "" && (exitCode(err) != exitUsage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d seeds, %v", name, len(seeds), err)
		}
		if n := strings.Count(said.String(), "\n"); n > maxBadSeeds {
			t.Errorf("%s: %d lines are said", name, n)
		}
	}
}
