package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
	"go.etcd.io/bbolt"
)

// unbegun returns functions, by name, that make the directories that a run leaves if it is
// killed, or finds the disk full, before it begins.
func unbegun(t *testing.T) map[string]func(dir string) {
	state := func(size int64) func(string) {
		return func(dir string) {
			path := filepath.Join(dir, store.StateFile)
			b, err := bbolt.Open(path, 0o644, nil)
			if err == nil {
				err = b.Close()
			}
			if err == nil {
				err = os.Truncate(path, size)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	page := int64(os.Getpagesize())
	all := map[string]func(string){
		"an empty state": state(0), "a byte of a state": state(1), "three pages and a half": state(3*page + page/2),
		"a state without buckets": state(4 * page), "a state that has grown": state(64 * page),
	}
	for name, make := range map[string]func(string){"empty outputs": state(4 * page)} {
		all[name] = func(dir string) {
			make(dir)
			for _, file := range []string{store.LogFile, store.PagesFile, store.LinksFile, "index.part"} {
				if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := os.WriteFile(filepath.Join(dir, store.RunFile), []byte(`{"pid":1,"started":"2026-11-23T09:00:00Z"}`), 0o600)
			if err == nil {
				err = os.Mkdir(filepath.Join(dir, store.ArchiveDir), 0o755)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// Every command reports a crawl that has not begun in the same words, and changes nothing.
func TestACrawlThatHasNotBegun(t *testing.T) {
	for name, make := range unbegun(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			dir := filepath.Join(root, "a.crawl")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			make(dir)
			before := contents(t, root)
			for _, args := range readersOf(dir) {
				var out, errOut bytes.Buffer
				code := run(args, strings.NewReader(""), &out, &errOut)
				if code != exit.Usage || !strings.Contains(errOut.String(), "has not begun") || strings.Contains(errOut.String(), "damaged") {
					t.Errorf("crawl %s: exit code %d, %s%s", strings.Join(args, " "), code, out.Bytes(), errOut.Bytes())
				}
			}
			var out, errOut bytes.Buffer
			if code := run([]string{"status", dir}, nil, &out, &errOut); code != exit.Done || !strings.Contains(out.String(), "has not begun") {
				t.Errorf("crawl status: exit code %d, %s%s", code, out.Bytes(), errOut.Bytes())
			}
			out.Reset()
			var s crawler.Status
			if code := run([]string{"status", "--json", dir}, nil, &out, &errOut); code != exit.Done || json.Unmarshal(out.Bytes(), &s) != nil || s.State != crawler.StateNotBegun {
				t.Errorf("crawl status --json: exit code %d, %s%s", code, out.Bytes(), errOut.Bytes())
			}
			for file, is := range contents(t, root) {
				if before[file] != is {
					t.Errorf("%s was changed, or made", file)
				}
			}
		})
	}
}

// readersOf returns commands that read the crawl in dir, or change it.
func readersOf(dir string) [][]string {
	return [][]string{
		{"list", dir}, {"explain", "--dir", dir, "http://a.example/"}, {"diff", dir, dir}, {"report", "--out", dir + ".html", dir},
		{"audit", "--out", "none", dir}, {"provenance", dir}, {"provenance", "--verify", dir}, {"verify", "--in-process", dir},
		{"export", "--format", "csv", "--output", dir + ".csv", dir}, {"export", "--format", "cdxj", "--output", dir + ".cdxj", dir},
		{"index", dir}, {"optout", "purge", "--yes", dir, "a.example"}, {"optout", "purge", "--dry-run", dir, "a.example"},
	}
}

var contentsSeed = maphash.MakeSeed()

// contents returns the modes, sizes and checksums of the files below a directory, by their
// paths.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if all[name] = info.Mode().String(); info.Mode().IsRegular() {
			raw, err := os.ReadFile(path)
			all[name] += fmt.Sprint(" ", len(raw), " ", maphash.Bytes(contentsSeed, raw))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
