//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// oddFiles returns functions, by name, that make something odd in place of a file. good is
// the content of the file, or what it would be.
func oddFiles(good string) map[string]func(path string) error {
	text := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
	}
	return map[string]func(path string) error{
		"empty": text(""), "cut": text(good[:len(good)/2]), "binary": text("\x00\xff\xfe\x1f\x8b\x00\x01"), "other JSON": text("[1, 2]\n"),
		"a directory":       func(path string) error { return os.Mkdir(path, 0o755) },
		"a pipe":            func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a link to nothing": func(path string) error { return os.Symlink("nowhere", path) },
		"of another crawl":  text(strings.Replace(good, "a.example", "other.example", 1)),
	}
}

// Each command that reads ends if a file is not what a crawl writes, and names it if it
// needs the file: it neither panics nor waits.
func TestOddFilesOfACrawl(t *testing.T) {
	kept := keptLayouts(t)[0]
	atHome(t)
	unpack(t, kept)
	for name, good := range map[string]string{
		store.RunFile: `{"pid":4194305,"started":"2026-11-23T09:00:00Z"}` + "\n",
		"purge.jsonl": `{"time":"2026-11-23T09:00:00Z"}` + "\n" + `{"place":"a.example"}` + "\n" + `{"end":true}` + "\n",
	} {
		for odd, make := range oddFiles(good) {
			t.Run(name+" "+odd, func(t *testing.T) {
				dir := fmt.Sprintf("odd-%d.crawl", len(t.Name()))
				path := filepath.Join(dir, name)
				err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(endedCrawl)), os.RemoveAll(path), make(path))
				if err != nil {
					t.Fatal(err)
				}
				before := contents(t, dir)
				for _, args := range append(readersOf(dir), []string{"status", dir}, []string{"list", "--count", dir}) {
					if args[0] == "provenance" && len(args) == 2 || args[0] == "index" || args[0] == "optout" && args[2] == "--yes" {
						continue // they write
					}
					if args[0] == "provenance" && name == "purge.jsonl" {
						continue // it compares files with their digests, and nothing is purged yet
					}
					var out, said bytes.Buffer
					code := run(args, strings.NewReader(""), &out, &said)
					// An interrupted purge is finished first. run.json does not matter to a
					// reader, after the process that held the crawl has ended.
					if refused := name == "purge.jsonl" && odd != "a link to nothing"; refused != (code == exit.State || code == exit.Fatal) || refused && !strings.Contains(said.String()+out.String(), "purge") {
						t.Errorf("crawl %q: exit %d: %s%s", args, code, &out, &said)
					}
				}
				for file, is := range contents(t, dir) {
					if before[file] != is {
						t.Errorf("%s was changed, or made", file)
					}
				}
			})
		}
	}
}

// Seeds and facts of a snapshot that have been changed are named.
func TestOddFilesOfASnapshot(t *testing.T) {
	kept := keptLayouts(t)[0]
	atHome(t)
	unpack(t, kept)
	for _, name := range []string{series.SeedsFile, series.FactsFile} {
		for odd, make := range oddFiles("{\"seeds\": \"http://a.example/\"}") {
			if odd == "a link to nothing" && name == series.FactsFile {
				continue // a snapshot need not have any
			}
			dir := filepath.Join(t.TempDir(), "20260101T000000Z.crawl")
			snapshot := series.Snapshot{Dir: dir}
			facts := []byte("{}")
			err := os.CopyFS(dir, os.DirFS(killedCrawl))
			if name != series.FactsFile {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, series.FactsFile), facts, 0o644))
			}
			if err = errors.Join(err, make(filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
			seeds, err := snapshot.ReadSeeds()
			var damaged *store.DamagedError
			if !errors.As(err, &damaged) || len(seeds) > 0 {
				t.Errorf("%s, %s: %v, %v", name, odd, seeds, err)
			}
		}
	}
}
