package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// everyFile returns the contents of all files in a directory, by path.
func everyFile(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// If Open refuses a crawl, no byte of the crawl has changed. The test has each fault of each
// file, after a clean and after an unclean end.
func TestARefusedOpenChangesNothing(t *testing.T) {
	all := Options{Gather: -1, Archive: &Archive{}, Links: true}
	whole, err := Open(t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		visitOf(t, whole, n+1)
		if err := whole.Submit(frontier.Completion{Links: visited(t, n+1)}); err != nil {
			t.Fatal(err)
		}
		settle(t, whole, 1)
	}
	killed := crash(t, whole.Dir())
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	change := func(how func([]byte) []byte) func(string) error {
		return func(path string) error {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, how(raw), 0o644)
		}
	}
	faults := map[string]func(path string) error{
		"missing":          os.Remove,
		"cut":              change(func(b []byte) []byte { return b[:len(b)-1] }),
		"a line twice":     change(func(b []byte) []byte { return append(bytes.SplitAfter(b, []byte("\n"))[0:1:1][0], b...) }),
		"bytes at its end": change(func(b []byte) []byte { return append(b, "{}\n"...) }),
		"a directory": func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		},
	}
	refused := errors.New("refused")
	for from, clean := range map[string]bool{whole.Dir(): true, killed: false} {
		for _, name := range []string{PagesFile, LinksFile, LogFile, indexPart, "warc", "admit"} {
			for fault, spoil := range faults {
				dir := crash(t, from)
				opts := all
				path := filepath.Join(dir, name)
				switch name {
				case "admit": // Options.Admit refuses the crawl, whose files are undamaged
					opts.Admit = func(Values) error { return refused }
				case "warc":
					files, err := filepath.Glob(filepath.Join(dir, ArchiveDir, "*"))
					if err != nil || len(files) != 1 {
						t.Fatalf("%v, %v", files, err)
					}
					path = files[0]
					fallthrough
				default:
					if err := spoil(path); err != nil {
						t.Fatal(err)
					}
				}
				before := everyFile(t, dir)
				db, err := Open(dir, opts)
				if err == nil {
					db.Close()
					added := fault == "a line twice" || fault == "bytes at its end"
					if name == "admit" || clean && added && (name == PagesFile || name == LinksFile) || fault == "missing" && (name == PagesFile || name == LinksFile) {
						t.Errorf("%s: %s, clean %v: opened all the same", name, fault, clean)
					}
					continue
				}
				after := everyFile(t, dir)
				for file, is := range after {
					if was, known := before[file]; !known || was != is {
						t.Errorf("%s: %s, clean %v: %s was changed by a run that was refused: %v", name, fault, clean, file, err)
					}
				}
				if len(after) != len(before) {
					t.Errorf("%s: %s, clean %v: %d files, there were %d", name, fault, clean, len(after), len(before))
				}
			}
		}
	}
}

// If Options.Admit refuses a new crawl, no directory is made.
func TestARefusedBeginMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	refused := errors.New("refused")
	if _, err := Open(dir, Options{Admit: func(Values) error { return refused }}); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
}
