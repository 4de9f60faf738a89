package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A command that is interrupted while it reads a crawl changes nothing, says so and exits with 130.
func TestAnInterruptedCommandChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.crawl")
	db, err := store.Open(dir, store.Options{Archive: &store.Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, store.ArchiveDir), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, command := range map[string]func(p *program) error{
		"index":            func(p *program) error { return p.index(ctx, dir) },
		"repair":           func(p *program) error { return p.repair(ctx, dir, repairFlags{yes: true}) },
		"purge":            func(p *program) error { return p.optOutPurge(ctx, dir, []string{"out.test"}, purgeFlags{yes: true}) },
		"purge, a dry run": func(p *program) error { return p.optOutPurge(ctx, dir, []string{"out.test"}, purgeFlags{dryRun: true}) },
	} {
		was := listed(t, dir)
		var out, said bytes.Buffer
		err := command(&program{out: &out, err: &said})
		if exit.Code(err) != exit.Forced || !strings.Contains(err.Error(), "interrupted: nothing was changed") || out.Len() > 0 {
			t.Errorf("%s: exit %d, %v, printed %q", name, exit.Code(err), err, out.String())
		}
		if is := listed(t, dir); is != was {
			t.Errorf("%s: the directory has\n%s, before\n%s", name, is, was)
		}
	}
}

// listed returns the names of the files below a directory, with their contents.
func listed(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all.WriteString(path + " " + string(raw) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
