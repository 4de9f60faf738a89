package corpus_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/export/corpus"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// described makes a crawl without pages.jsonl, and returns its directory. The archive has three
// pages, each with a metadata record. The owner of the second page refuses search. damage
// changes the metadata record of the second page.
func described(t *testing.T, damage func(record []byte) []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	e, err := warc.NewEncoder(warc.Options{Plain: true, Random: rand.NewChaCha8([32]byte{})})
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	for _, name := range []string{"a", "b", "c"} {
		fields := []warc.Field{{Name: "hopsFromSeed", Value: "L"}}
		if name == "b" {
			fields = append(fields, warc.Field{Name: "usage", Value: "search=n by X-Robots-Tag: noindex"})
		}
		var records bytes.Buffer
		_, err := e.WriteExchange(&records, &warc.Exchange{
			URL: "http://a.test/" + name, Date: start, Metadata: fields,
			Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<p>page " + name)},
		})
		if err != nil {
			t.Fatal(err)
		}
		text := records.Bytes()
		if name == "b" {
			i := bytes.Index(text, []byte("WARC/1.1\r\nWARC-Type: metadata"))
			text = append(bytes.Clone(text[:i]), damage(bytes.Clone(text[i:]))...)
		}
		archive.Write(text)
	}
	err = errors.Join(os.Mkdir(filepath.Join(dir, "warc"), 0o755), os.WriteFile(filepath.Join(dir, "warc", "a-00000.warc"), archive.Bytes(), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Without pages.jsonl, only the metadata record has the owner's statements. If it cannot be
// read, the page is not exported for a purpose. The other pages are.
func TestAPageWhoseStatementsAreDamagedHasNoContent(t *testing.T) {
	t.Parallel()
	docs, damages := documents(t, described(t, func(metadata []byte) []byte { // a damaged record comes before the metadata record
		return append([]byte("WARC/1.1\r\nWARC-Type: request\r\nWARC-Date: none\r\nContent-Length: 0\r\n\r\n\r\n\r\n"), metadata...)
	}), corpus.Options{Purpose: robots.PurposeArchive, Declared: []robots.Purpose{robots.PurposeArchive}})
	if b := docs["http://a.test/b"]; damages != 1 || len(docs) != 3 || b == nil || b.Text != "page b" {
		t.Errorf("a damaged request: %d damages, %+v", damages, b)
	}
	replace := func(from, to string) func([]byte) []byte {
		return func(record []byte) []byte { return bytes.Replace(record, []byte(from), []byte(to), 1) }
	}
	for _, c := range []struct {
		name    string
		damage  func([]byte) []byte
		damaged bool
	}{
		{"whole", func(record []byte) []byte { return record }, false},
		{"no header", replace("WARC/1.1", "\x00\x00\x00\x00\x00\x00\x00\x00"), true},
		{"no type", replace("WARC-Type", "WARC_Type"), true},
		{"cut", func(record []byte) []byte { return record[:len(record)/2] }, true},
		{"no field", replace("usage: search=n by X-Robots-Tag: noindex", "usage  search=n by X-Robots-Tag  noindex"), true},
	} {
		docs, damages := documents(t, described(t, c.damage), corpus.Options{Purpose: robots.PurposeSearch, Declared: []robots.Purpose{robots.PurposeSearch}})
		b := docs["http://a.test/b"]
		if !c.damaged {
			if damages != 0 || b != nil || len(docs) != 2 {
				t.Errorf("%s: %d damages, %d documents, %+v", c.name, damages, len(docs), b)
			}
			continue
		}
		if damages == 0 || b == nil || b.Text != "" || !strings.Contains(b.Error, "statements of its owner cannot be read") {
			t.Errorf("%s: %d damages, %+v", c.name, damages, b)
		}
		if a := docs["http://a.test/a"]; a == nil || a.Text != "page a" || a.Error != "" {
			t.Errorf("%s: the page before it is %+v", c.name, a)
		}
		if cc := docs["http://a.test/c"]; c.name != "cut" && (cc == nil || cc.Text != "page c") {
			t.Errorf("%s: the page after it is %+v", c.name, cc)
		}
		docs, _ = documents(t, described(t, c.damage), corpus.Options{})
		if b := docs["http://a.test/b"]; b == nil || b.Text != "page b" {
			t.Errorf("%s: without a purpose: %+v", c.name, b)
		}
	}
}

// A page with a refusal is left out, even if pages.jsonl does not have the owner's statement.
func TestARefusalWithoutAStatement(t *testing.T) {
	t.Parallel()
	dir, _ := crawlOf(t, seq(htmlPage("http://a.test/a", "<p>a")))
	path := filepath.Join(dir, "pages.jsonl")
	line, err := os.ReadFile(path)
	if err == nil {
		line = bytes.Replace(line, []byte("{"), []byte(`{"usage":[{"use":"search","granted":false,"by":""}],`), 1)
		err = os.WriteFile(path, line, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	docs, _ := documents(t, dir, corpus.Options{
		Purpose: robots.PurposeSearch, Declared: []robots.Purpose{robots.PurposeSearch},
		Refused: func(r *corpus.Refusal) error { said = append(said, r.Refused); return nil },
	})
	if len(docs) != 0 || len(said) != 1 || said[0] != "search=n" {
		t.Errorf("%v, refused by %q", docs, said)
	}
}
