package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// hostileCrawl has a URL that would steer a terminal, with a tag that would.
func hostileCrawl(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := storage.Open(dir, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := frontier.ParseURL("http://a.test/\x1b[31m\u009b31m\u202e?x=\n\x07")
	if err != nil {
		t.Fatal(err)
	}
	err = db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u, Tag: "\x1b]0;owned\x07\u202e"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Nothing that a page has named steers the terminal, and each URL has a line.
func TestAListSteersNoTerminal(t *testing.T) {
	dir := hostileCrawl(t)
	for _, args := range [][]string{{"list", dir}, {"list", "--json", dir}, {"list", "--count", dir}} {
		var out, said bytes.Buffer
		code := run(args, nil, &out, &said)
		if code != exitDone || strings.IndexFunc(out.String(), steers) >= 0 || said.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, %s", args, code, &out, &said)
		}
	}
}

// Each fate that there is can be asked for, and has its words, in the documents, too.
func TestEachFateHasItsWords(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "explain.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range fateWords {
		if line := fmt.Sprintf("\n| `%s` | %s |\n", w.fate, w.words); !strings.Contains(string(raw), line) {
			t.Errorf("docs/explain.md lacks the line %s", line)
		}
	}
	for i, s := range crawler.Standings() {
		if i >= len(fateWords) || fateWords[i].fate != s || fateWords[i].words == "" {
			t.Errorf("%s has no words at %d", s, i)
		}
		if err := (&listFlags{fates: []string{strings.ToUpper(string(s))}}).check(); err != nil {
			t.Error(err)
		}
	}
	if len(fateWords) != len(crawler.Standings()) {
		t.Errorf("%d words", len(fateWords))
	}
}
