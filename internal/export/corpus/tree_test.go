package corpus_test

import (
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/permesso-crawler/permesso/internal/export/corpus"
)

// WriteTree replaces a tree, and no directory to which a user has added files or a repository.
// If the new tree cannot be renamed, the old one gets its name back.
func TestATreeReplacesOnlyATree(t *testing.T) {
	t.Parallel()
	var none iter.Seq2[*corpus.Document, error] = func(func(*corpus.Document, error) bool) {}
	dir := filepath.Join(t.TempDir(), "tree")
	write := func(path string) error {
		_, end, err := corpus.WriteTree(path, true, io.Discard, none)
		if err != nil {
			return err
		}
		return end(true)
	}
	for range 2 {
		if err := write(dir); err != nil || !corpus.IsTree(dir) {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "a.test"), 0o755); err != nil { // looks like the directory of a host
		t.Fatal(err)
	}
	for name, add := range map[string]func(path string) error{
		".git":      func(path string) error { return os.Mkdir(path, 0o755) },
		"notes.txt": func(path string) error { return os.WriteFile(path, nil, 0o644) },
	} {
		path := filepath.Join(dir, name)
		if err := add(path); err != nil {
			t.Fatal(err)
		}
		if err := write(dir); !errors.Is(err, fs.ErrExist) {
			t.Fatalf("a tree with %s is replaced: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	if link := dir + ".link"; os.Symlink(dir, link) == nil {
		if err := write(link + string(filepath.Separator)); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a link is replaced: %v", err)
		}
		if err := os.Remove(link); err != nil {
			t.Error(err)
		}
	}

	_, end, err := corpus.WriteTree(dir, true, io.Discard, none)
	if err != nil {
		t.Fatal(err)
	}
	temps, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".tree.*"))
	if err != nil || len(temps) != 1 {
		t.Fatal(temps, err)
	}
	if err := os.RemoveAll(filepath.Join(temps[0], "tree")); err != nil {
		t.Fatal(err)
	}
	if err := end(true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a tree that is gone gets its name: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.test")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}
