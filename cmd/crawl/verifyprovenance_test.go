package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

// withProvenance makes crawls of keptWeb a day apart, each with its provenance.
func withProvenance(t *testing.T, dirs ...string) {
	t.Helper()
	atHome(t)
	synctest.Test(t, func(t *testing.T) {
		w, _ := keptWeb(t)
		for _, dir := range dirs {
			if code, said := runKept(t, w, dir, "--exclude", "/news"); code != exit.Done {
				t.Fatalf("exit %d: %s", code, said)
			}
			time.Sleep(24 * time.Hour)
		}
	})
	for _, dir := range dirs {
		said(t, "provenance", dir)
	}
}

// verifiedHere returns the exit code and the output of crawl verify for a crawl.
func verifiedHere(t *testing.T, dir string) (code int, out string) {
	t.Helper()
	var said, errors bytes.Buffer
	code = run([]string{"verify", "--in-process", dir}, nil, &said, &errors)
	return code, said.String() + errors.String()
}

// Each damage of provenance.json, and of a file that is written with it, is named.
func TestVerifyNamesDamageOfTheProvenance(t *testing.T) {
	root := t.TempDir()
	whole, other := filepath.Join(root, "one"), filepath.Join(root, "other")
	withProvenance(t, whole, other)
	if code, out := verifiedHere(t, whole); code != exit.Done {
		t.Fatalf("exit %d: %s", code, out)
	}
	for _, file := range []string{provenance.File, provenance.AbsencesFile, provenance.RobotsFile} {
		raw, err := os.ReadFile(filepath.Join(whole, file))
		if err != nil {
			t.Fatal(err)
		}
		foreign, err := os.ReadFile(filepath.Join(other, file))
		if err != nil {
			t.Fatal(err)
		}
		flip := func(at int) []byte {
			b := bytes.Clone(raw)
			b[at] ^= 1
			return b
		}
		second := bytes.IndexByte(raw, '\n') + 1
		third := second + bytes.IndexByte(raw[second:], '\n') + 1
		digest := max(0, bytes.LastIndex(raw, []byte(`"sha256"`))+15) // in provenance.json
		for name, b := range map[string][]byte{
			"first bit": flip(0), "a digest or a line": flip(digest), "cut": raw[:len(raw)/2], "cut by a byte": raw[:len(raw)-1],
			"a line deleted": append(bytes.Clone(raw[:second]), raw[third:]...), "a line more": append(bytes.Clone(raw), "{}\n"...),
			"empty": {}, "removed": nil, "of another crawl": foreign,
		} {
			t.Run(file+" "+name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "copy")
				err := os.CopyFS(dir, os.DirFS(whole))
				if path := filepath.Join(dir, file); b == nil {
					err = errors.Join(err, os.Remove(path))
				} else {
					err = errors.Join(err, os.WriteFile(path, b, 0o644))
				}
				if err != nil {
					t.Fatal(err)
				}
				if code, out := verifiedHere(t, dir); code != exit.State || !strings.Contains(out, file) {
					t.Errorf("exit %d: %s", code, out)
				}
			})
		}
	}
}

// A kill before provenance.json gets its name is no damage of the files that have theirs.
func TestVerifyOfAProvenanceThatWasBrokenOff(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one")
	withProvenance(t, dir)
	path := filepath.Join(dir, provenance.File)
	f, err := outfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // the file stays, as after a kill
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if code, out := verifiedHere(t, dir); code != exit.Done {
		t.Errorf("exit %d: %s", code, out)
	}
}

// A state file that is shorter than it was is named, also if it has lost no page.
func TestVerifyNamesAStateThatWasCut(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "one")
	withProvenance(t, whole)
	info, err := os.Stat(filepath.Join(whole, store.StateFile))
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(8) {
		for _, size := range []int64{info.Size() * n / 8, info.Size() - 1 - 9*n*n} {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.Truncate(filepath.Join(dir, store.StateFile), size)); err != nil {
				t.Fatal(err)
			}
			if code, out := verifiedHere(t, dir); code != exit.State || !strings.Contains(out, store.StateFile) {
				t.Errorf("%d of %d bytes: exit %d: %s", size, info.Size(), code, out)
			}
		}
	}
}

// Files that people and other commands may change are no damage. If provenance.json is
// older than the last change, that is printed, and the files written with it are compared
// all the same.
func TestVerifyKnowsAProvenanceOfBefore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "one")
	withProvenance(t, dir)
	if err := os.WriteFile(filepath.Join(dir, provenance.DatasheetFile), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, out := verifiedHere(t, dir); code != exit.Done || strings.Contains(out, "from before") {
		t.Errorf("exit %d: %s", code, out)
	}
	// crawl index makes the same files again, and does not change the state.
	if err := os.Truncate(filepath.Join(dir, store.IndexFile), 9); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"index", dir}, {"provenance", "--verify", dir}} {
		var said bytes.Buffer
		if code := run(args, nil, &said, &said); code != exit.Done {
			t.Fatalf("%v: exit %d: %s", args, code, said.String())
		}
	}
	if code, out := verifiedHere(t, dir); code != exit.Done || strings.Contains(out, "from before") {
		t.Errorf("exit %d: %s", code, out)
	}
	db, err := store.Open(dir, store.Options{Archive: &store.Archive{}}) // as a run does
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out := verifiedHere(t, dir); code != exit.Done || !strings.Contains(out, "provenance.json is from before the last run, purge or crawl index") {
		t.Errorf("exit %d: %s", code, out)
	}
	if err := os.Truncate(filepath.Join(dir, provenance.RobotsFile), 9); err != nil {
		t.Fatal(err)
	}
	if code, out := verifiedHere(t, dir); code != exit.State || !strings.Contains(out, "robots.jsonl has 9 bytes") {
		t.Errorf("exit %d: %s", code, out)
	}
}
