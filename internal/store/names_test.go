package store

import (
	"os"
	"path/filepath"
	"testing"
)

// The name of a directory may contain characters of a glob pattern, such as "[".
func TestNamesOfDirectoriesAreNoPatterns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*?.crawl")
	archive := filepath.Join(dir, ArchiveDir)
	if err := os.MkdirAll(archive, 0o755); err != nil {
		t.Skip(err) // not every system allows the name
	}
	whole := filepath.Join(archive, "x-00000"+archiveFile)
	if err := os.WriteFile(whole, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if is := Remains(dir); is != whole {
		t.Errorf("%q remains", is)
	}
	if err := os.Remove(whole); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, Options{Archive: &Archive{}, Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	visitOf(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if all, err := ArchiveFiles(dir); err != nil || len(all) != 1 {
		t.Errorf("archive: %v, %v", all, err)
	}
	begun := filepath.Join(archive, "x-00001"+archiveFile+openSuffix)
	if err := os.WriteFile(begun, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(begun); err == nil {
		t.Error("a file without committed bytes is still there")
	}
}
