package provenance

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Write is killed while it renames its files. There is then no provenance.json that describes
// other files.
func TestAPublicationThatIsBrokenOff(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{File, RobotsFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := &writer{Provenance: &Provenance{}, dir: dir, into: dir}
	for _, name := range []string{RobotsFile, SeedsFile, File} {
		if err := w.stageWhole(name, []byte("new")); err != nil {
			t.Fatal(err)
		}
	}
	w.Seeds.File = SeedsFile
	if err := os.Remove(w.staged[1].file.Name()); err != nil {
		t.Fatal(err)
	}
	if err := w.publish(); err == nil {
		t.Fatal("a file that is gone has got its name")
	}
	if raw, err := os.ReadFile(filepath.Join(dir, RobotsFile)); err != nil || string(raw) != "new" {
		t.Errorf("%s: %q, %v", RobotsFile, raw, err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, File)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %q, %v", File, raw, err)
	}
	if !BrokenOff(dir) {
		t.Error("it is not said that it was broken off")
	}
	if err := w.discard(); err == nil || BrokenOff(dir) {
		t.Errorf("it is broken off without a file that is left; %v", err)
	}
}
