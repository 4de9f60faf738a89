package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

func bytesLines(raw []byte) iter.Seq[[]byte] { return bytes.Lines(raw) }

func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db := open(t, dir)
	var links []frontier.Entry
	for _, raw := range []string{"http://a.example/", "http://a.example/1", "https://b.example/"} {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, frontier.Entry{URL: u, Tag: "t"})
		if err := db.PutPage(&PageRecord{URL: raw, Status: 200}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Submit(frontier.Completion{Links: links}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDamageIsNamedAndNothingOverwritten(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"not a database": func(b []byte) []byte { return []byte(strings.Repeat("hello ", 2000)) },
		"cut short":      func(b []byte) []byte { return b[:5*4096] },
		"no head":        func(b []byte) []byte { clear(b[:8192]); return b },
		"flipped leaf": func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("//a.example"), []byte("//a.exbmple"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			path := filepath.Join(dir, StateFile)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b = damage(b)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			pages, err := os.ReadFile(filepath.Join(dir, PagesFile))
			if err != nil {
				t.Fatal(err)
			}
			db, err := Open(dir, Options{})
			if err == nil {
				err = pairErrors(db.Sites())
				db.Close()
			} else if after, rerr := os.ReadFile(path); rerr != nil || !bytes.Equal(after, b) {
				t.Errorf("the damaged file was changed: %v", rerr)
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.Path != path {
				t.Errorf("got %v, want a *DamagedError of %s", err, path)
			}
			if after, err := os.ReadFile(filepath.Join(dir, PagesFile)); err != nil || !bytes.Equal(after, pages) {
				t.Errorf("pages.jsonl was changed: %v", err)
			}
		})
	}
}

func TestAnOutputThatLostItsEndIsNamed(t *testing.T) {
	dir := filled(t)
	path := filepath.Join(dir, PagesFile)
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	_, err := Open(dir, Options{})
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.Path != path {
		t.Errorf("got %v, want a *DamagedError of %s", err, path)
	}
}

func TestAnEmptyStateFileIsANewCrawl(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, StateFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
}

// The JSON names of the fields are documented, so they never change.
func TestPageRecordFields(t *testing.T) {
	raw, err := json.Marshal(PageRecord{
		URL: "u", Status: 200, Type: "t", Charset: "c", Size: 1, Digest: "d", Truncated: "length", Title: "T", Location: "l",
		Links: 1, Depth: 1, Hops: "L", Via: "v", Tag: "g", Robots: time.Unix(0, 0).UTC(), Rule: "r", NoIndex: true, NoArchive: true,
		Usage: []UsageRecord{{"s", true, "b"}, {Use: "a"}}, License: []string{"n"}, TDMPolicy: []string{"p"}, Refused: "f",
		Body: Text("<&>"), Base64: []byte("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"url":"u","time":"0001-01-01T00:00:00Z","status":200,"type":"t","charset":"c","size":1,"digest":"d",` +
		`"truncated":"length","title":"T","location":"l","links":1,"depth":1,"hops":"L","via":"v","tag":"g",` +
		`"robots":"1970-01-01T00:00:00Z","rule":"r","noindex":true,"noarchive":true,` +
		`"usage":[{"use":"s","granted":true,"by":"b"},{"use":"a","granted":false,"by":""}],"license":["n"],"tdmpolicy":["p"],"refused":"f","body":"\u003c\u0026\u003e","base64":"eA=="}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

// If the state file is missing, Open fails and does not truncate the outputs.
func TestOutputsWithoutTheirStateAreKept(t *testing.T) {
	for _, name := range []string{PagesFile, LinksFile, indexPart, "warc/x.warc.gz.open", "warc/x.warc.gz"} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("something"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, Options{Links: true, Archive: &Archive{}})
		var damaged *DamagedError
		if !errors.As(err, &damaged) || damaged.Path != path {
			t.Errorf("%s: %v", name, err)
		}
		if raw, err := os.ReadFile(path); err != nil || string(raw) != "something" {
			t.Errorf("%s is now %q, %v", name, raw, err)
		}
	}
}

// pairErrors reads all pairs and returns their errors, joined.
func pairErrors[T any](all iter.Seq2[T, error]) error {
	var errs []error
	for _, err := range all {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
