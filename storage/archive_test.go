package storage

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/storage/crawllog"
	"github.com/permesso-crawler/permesso/storage/internal/disk"
)

// The name of a WARC file keeps letters and digits, and what needs no quoting.
func TestNamesOfArchives(t *testing.T) {
	for dir, want := range map[string]string{
		"azAZ09-._.crawl": "azAZ09-._", "a`{@[/:b": "_b", "a b`{@[:é": "a_b______", "x.crawl.crawl": "x.crawl",
	} {
		a, err := newArchive(filepath.Join(t.TempDir(), dir), Archive{}, disk.Disk{}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(a.prefix, "-19700101000000"); !strings.HasSuffix(got, want) || strings.ContainsAny(got, "/`{@[: ") {
			t.Errorf("%s is named %s, want %s", dir, got, want)
		}
	}
}

// Only what was committed can be lost of the log: what a kill left behind it stays.
func TestOnlyCommittedLinesAreLost(t *testing.T) {
	for name, damage := range map[string]func(path string, raw []byte) error{
		"whole":   func(string, []byte) error { return nil },
		"longer":  func(path string, raw []byte) error { return os.WriteFile(path, append(raw, raw...), 0o644) },
		"shorter": func(path string, raw []byte) error { return os.WriteFile(path, raw[:len(raw)/2], 0o644) },
		"gone":    func(path string, _ []byte) error { return os.Remove(path) },
	} {
		dir := t.TempDir()
		db := open(t, dir)
		for range 2 {
			if err := db.Log().Write(&crawllog.Line{Time: time.Unix(1893456000, 0), URL: "http://a.example/", Size: -1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, LogFile)
		raw, err := os.ReadFile(path)
		if err == nil {
			err = damage(path, bytes.Clone(raw))
		}
		if err != nil {
			t.Fatal(err)
		}
		db = open(t, dir)
		want := map[string]int{"shorter": len(raw) / 2, "gone": len(raw)}[name]
		if lost := db.LostLog(); lost != int64(want) {
			t.Errorf("%s: %d bytes of %d are lost, want %d", name, lost, len(raw), want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
