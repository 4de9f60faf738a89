package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"go.etcd.io/bbolt"
)

// hostileCrawl has a URL, and a tag, that would control a terminal.
func hostileCrawl(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
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

// Names from pages do not control the terminal, and each URL has a line.
func TestAListSteersNoTerminal(t *testing.T) {
	dir := hostileCrawl(t)
	for _, args := range [][]string{{"list", dir}, {"list", "--json", dir}, {"list", "--count", dir}} {
		var out, said bytes.Buffer
		code := run(args, nil, &out, &said)
		if code != exit.Done || strings.IndexFunc(out.String(), say.Steers) >= 0 || said.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, %s", args, code, &out, &said)
		}
	}
}

// Each fate can be listed, and has its words, in the documents, too.
func TestEachFateHasItsWords(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "explain.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(frontier.Fates(), linkFates()) {
		text := c.Words()
		if slices.Contains(linkFates(), c) {
			text = words.Link(c)
		}
		if line := fmt.Sprintf("\n| `%s` | %s |\n", c, text); !strings.Contains(string(raw), line) {
			t.Errorf("docs/reference/explain.md lacks the line %s", line)
		}
		if err := (&listQuery{Fates: []string{strings.ToUpper(c.String())}}).check(); err != nil {
			t.Error(err)
		}
	}
}

// Each command that reads a crawl reports a full disk, or a closed pipe, of its output.
func TestAnAccountThatCannotBeWrittenIsSaid(t *testing.T) {
	hostile, kept := hostileCrawl(t), keptAt(t)
	const known = "http://a.test/\x1b[31m\u009b31m\u202e?x=\n\x07"
	for _, args := range [][]string{
		{"list", hostile}, {"list", "--json", hostile}, {"list", "--count", hostile}, {"list", "--count", "--json", hostile},
		{"explain", "--dir", hostile, known, "http://b.test/"}, {"explain", "--dir", hostile, "--json", known, "http://b.test/"},
		{"robots", "show", kept, "http://a.test"}, {"robots", "show", kept, "http://a.test", "--json"}, {"robots", "show", kept, "http://a.test", "--raw"},
	} {
		failed := 0
		for after := 0; ; after++ {
			var said bytes.Buffer
			out := &full{after}
			code := run(args, nil, out, &said)
			if out.lines >= 0 { // nothing failed
				break
			}
			if failed++; code != exit.Fatal || !strings.Contains(said.String(), errFull.Error()) {
				t.Errorf("crawl %q after %d lines: exit %d\n%s", args, after, code, &said)
			}
		}
		if failed == 0 {
			t.Errorf("crawl %q writes nothing", args)
		}
	}
}

// A state file of a later layout is an error, and is not read.
func TestAStateOfALaterLayoutIsNotRead(t *testing.T) {
	dir := hostileCrawl(t)
	db, err := bbolt.Open(filepath.Join(dir, store.StateFile), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("version"), []byte{0, 0, 0, 0, 0, 0, 0, 99})
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"list", dir}, {"explain", "--dir", dir, "http://a.test/"}, {"robots", "show", dir, "a.test"}} {
		var out, said bytes.Buffer
		if code := run(args, nil, &out, &said); code != exit.Layout || !strings.Contains(said.String(), "99") || out.Len() > 0 {
			t.Errorf("crawl %q: exit code %d, %s%s", args, code, &out, &said)
		}
	}
}
