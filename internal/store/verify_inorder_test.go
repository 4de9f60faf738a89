package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/lines"
	"pgregory.net/rapid"
)

// manyFiles makes a crawl with several WARC files. It returns the directory, and the names of
// its files without the state file.
func manyFiles(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for range 3 { // each run creates a WARC file
		db, err := Open(dir, Options{Gather: -1, Archive: &Archive{MaxSize: 3000}, Links: true})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 6 {
			visitOf(t, db, n)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && name != StateFile {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 8 {
		t.Fatal(names, err)
	}
	return dir, names
}

// damageFiles damages some files of a crawl: it cuts, changes, removes and doubles files, and
// adds files that do not belong to the crawl.
func damageFiles(t *rapid.T, dir string, names []string) {
	for range rapid.IntRange(0, 4).Draw(t, "damages") {
		name := rapid.SampledFrom(names).Draw(t, "file")
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // an earlier step has removed the file
		}
		at := rapid.IntRange(0, max(0, len(raw)-1)).Draw(t, "at")
		switch rapid.IntRange(0, 6).Draw(t, "damage") {
		case 0:
			err = os.Remove(path)
		case 1:
			err = os.WriteFile(path, raw[:at], 0o644)
		case 2:
			if len(raw) > 0 {
				raw[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			}
			err = os.WriteFile(path, raw, 0o644)
		case 3:
			clear(raw[at:min(len(raw), at+600)])
			err = os.WriteFile(path, raw, 0o644)
		case 4:
			err = os.WriteFile(path, slices.Insert(raw, at, raw...), 0o644)
		case 5:
			err = os.WriteFile(filepath.Join(dir, ArchiveDir, fmt.Sprintf("foreign-%d.warc.gz", at)), raw, 0o644)
		case 6:
			all := slices.Collect(strings.Lines(string(raw)))
			slices.Reverse(all)
			err = os.WriteFile(path, []byte(strings.Join(all, "")), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Any number of workers reports the same problems as one worker, with the same words and in the
// same order, for any damage.
func TestManyWorkersFindWhatOneDoes(t *testing.T) {
	t.Parallel()
	whole, names := manyFiles(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			rt.Fatal(err)
		}
		damageFiles(rt, dir, names)
		verify := func(split lines.Split) (all []string) {
			check := Check{Problem: func(err error) { all = append(all, err.Error()) }, split: split}
			v, err := check.Verify(t.Context(), dir)
			return append(all, fmt.Sprintf("%+v, %v", v, err))
		}
		want := verify(lines.Split{Workers: 1})
		for range 3 {
			split := lines.Split{Workers: rapid.IntRange(2, 5).Draw(rt, "workers"), Block: rapid.IntRange(1, 2000).Draw(rt, "block")}
			if got := verify(split); !slices.Equal(got, want) {
				rt.Fatalf("%+v:\n%s\nwant\n%s", split, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			rt.Fatal(err)
		}
	})
}

// Verify returns soon after its context ends, at any moment, and leaves no goroutine.
func TestManyWorkersEndWithTheContext(t *testing.T) {
	t.Parallel()
	dir, _ := manyFiles(t)
	for after := 0; ; after += 4 {
		ctx := &endingContext{Context: t.Context(), after: after}
		_, err := Check{split: lines.Split{Workers: 1}}.Verify(ctx, dir)
		if err == nil {
			if after < 50 {
				t.Errorf("the context was asked only %d times", after)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d: %v", after, err)
		}
		if after%28 == 0 {
			ctx, cancel := context.WithCancel(t.Context())
			stop := Check{split: lines.Split{Workers: 3, Block: 100}, Problem: func(error) {}}
			go cancel()
			if _, err := stop.Verify(ctx, dir); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			cancel()
		}
	}
}

// An endingContext ends when its method Err has been called a given number of times.
type endingContext struct {
	context.Context
	after int
}

func (c *endingContext) Err() error {
	if c.after--; c.after < 0 {
		return context.Canceled
	}
	return nil
}
