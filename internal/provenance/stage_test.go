package provenance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// If a directory has the name of a file that must be written, Write fails and renames no file.
func TestWhatCannotBeRemovedIsAnError(t *testing.T) {
	for _, name := range []string{SignatureFile, File, SeedsFile} {
		dir := t.TempDir()
		w := &writer{Provenance: &Provenance{}, dir: dir, into: dir}
		for _, name := range []string{RobotsFile, File} {
			if err := w.stageWhole(name, []byte("new")); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := w.publish(); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, RobotsFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s has its name: %v", name, RobotsFile, err)
		}
		if err := w.discard(); err != nil {
			t.Error(err)
		}
	}
}

// If a file cannot be created or written, Write fails.
func TestWhatCannotBeStagedIsAnError(t *testing.T) {
	w := newWriter(context.Background(), t.TempDir(), nil, Options{Now: time.Unix(0, 0)})
	w.into = filepath.Join(w.dir, "missing")
	for name, step := range map[string]func() error{"lists": w.writeLists, "datasheet": w.writeSheet, "provenance": w.writeFile} {
		if err := step(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.into = w.dir
	s, err := w.stage(File)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(make([]byte, 256<<10-1)); err != nil {
		t.Errorf("what waits for more: %v", err)
	}
	if n, err := s.Write([]byte("x")); n != 1 || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a write to a file that is closed: %d, %v", n, err)
	}
	if s.buf = append(s.buf, "x"...); s.n != 0 {
		t.Errorf("%d bytes are counted that are not there", s.n)
	}
	if err := s.finish(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the end of a file that is closed: %v", err)
	}
}

func TestListsThatCannotBeMadeAgainAreAnError(t *testing.T) {
	dir := t.TempDir()
	differ := []Difference{{File: AbsencesFile}}
	if _, err := Restore(context.Background(), dir, differ, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a provenance: %v", err)
	}
	for text, want := range map[string]bool{"{": false, `{"outputs":[{"name":"other"}]}`: true, `{"outputs":[{"name":"absences.jsonl","bytes":67108865}]}`: true, `{"outputs":[{"name":"absences.jsonl","bytes":67108864}]}`: false} {
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if all, err := Restore(context.Background(), dir, differ, Options{}); (err == nil) != want || all != nil {
			t.Errorf("%s: %v, %v", text, all, err)
		}
	}
}
