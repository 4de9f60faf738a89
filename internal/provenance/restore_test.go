package provenance_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Restore returns the original content of each file that can be restored, and says how it was
// found. It does not return other files.
func TestWhatIsMadeAgainIsAsItWas(t *testing.T) {
	whole := crawled(t)
	seeds := write(t, whole, provenance.Options{}).Seeds.List
	if err := os.WriteFile(filepath.Join(whole, "seeds.txt"), []byte(strings.Join(seeds, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, whole, provenance.Options{})
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:len(b)-n] } }
	flip := func(at, bit int) func([]byte) []byte {
		return func(b []byte) []byte { b = bytes.Clone(b); b[at] ^= 1 << bit; return b }
	}
	longer := func(b []byte) []byte { return append(bytes.Clone(b), "more"...) }
	other := func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) }
	const again = "it is made again of the state and the log"
	dirs, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	for i, c := range []struct {
		name   string
		change func([]byte) []byte // damages the content; nil: the file is removed
		beside bool                // a directory beside the crawl has the original file
		how    string              // expected Restored.How; empty: the file cannot be restored
	}{
		{store.PagesFile, longer, false, "4 bytes after its end are put aside"},
		{store.PagesFile, flip(0, 0), false, "one bit of byte 0 had flipped"},
		{store.PagesFile, flip(70, 7), true, "one bit of byte 70 had flipped"},
		{store.PagesFile, func(b []byte) []byte { return flip(70, 1)(flip(71, 1)(b)) }, false, ""},
		{store.PagesFile, cut(1), false, ""},
		{store.PagesFile, cut(1), true, "beside has the same"},
		{store.PagesFile, nil, true, "beside has the same"},
		{store.LogFile, other, false, ""},
		{provenance.AbsencesFile, cut(9), false, again},
		{provenance.AbsencesFile, nil, false, again},
		{provenance.RobotsFile, other, false, again},
		{"seeds.txt", cut(3), false, again},
		{"unknown", other, false, ""},
		{"../" + store.PagesFile, other, false, ""},
	} {
		parent := filepath.Join(dirs, fmt.Sprint(i))
		dir := filepath.Join(parent, "paper.crawl")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.name)
		was, _ := os.ReadFile(path)
		var err error
		if c.beside {
			if err := os.Mkdir(filepath.Join(parent, "beside"), 0o755); err != nil {
				t.Fatal(err)
			}
			err = os.WriteFile(filepath.Join(parent, "beside", c.name), was, 0o644)
		}
		if err == nil && c.change == nil {
			err = os.Remove(path)
		} else if err == nil && was != nil {
			err = os.WriteFile(path, c.change(was), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := provenance.Restore(t.Context(), dir, []provenance.Difference{{File: c.name}}, provenance.Options{OptOut: func(u frontier.URL) string {
			if strings.HasPrefix(u.Host(), "b.") {
				return "mail of 3 May"
			}
			return ""
		}})
		switch {
		case err != nil:
			t.Errorf("%d: %v", i, err)
		case c.how == "" && len(all) > 0, c.how != "" && len(all) != 1:
			t.Errorf("%d: %d files", i, len(all))
		case c.how != "" && (all[0].Name != c.name || all[0].How != c.how || !bytes.Equal(all[0].Text, was)):
			t.Errorf("%d: %s: %s: %d bytes of %d", i, all[0].Name, all[0].How, len(all[0].Text), len(was))
		}
	}
	if left := directoryNames(t, temp); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
}
