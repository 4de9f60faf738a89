package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// digest returns the digest of all files below a directory.
func digest(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		fmt.Fprintf(h, "%s %d %s\n", path, len(b), b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func mutate(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	var o, e bytes.Buffer
	code, err := run(context.Background(), args, &o, &e)
	if err != nil {
		fmt.Fprintf(&e, "mutate: %v\n", err)
	}
	return code, o.String(), e.String()
}

// All mutants of the toy: some are killed, some survive, one does not end, some do not compile,
// one is equivalent. Nothing is written into its tree.
func TestToy(t *testing.T) {
	list := filepath.Join(t.TempDir(), "equivalent.tsv")
	same := "toy.go\tClamp\tif n < low {\t< to <=\tboth branches return the same\n"
	if err := os.WriteFile(list, []byte(same+
		"toy.go\tSum\tsum += n\tremove: sum += n\tnot true\n"+
		"toy.go\tSum\tgone\t1 + 1\tno more\n"+
		"other.go\tSum\tgone\t1 + 1\tanother package\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := digest(t, "testdata/toy")
	args := []string{"-C", "testdata/toy", "-equivalent", list, "-timeout", "3s", "-j", "2"}
	code, out, talk := mutate(t, append(args, "-n", "0", "-min", "99", ".")...)
	if code != 3 {
		t.Errorf("exit %d: %s", code, talk)
	}
	for _, want := range []string{
		"survived toy.go:26\n\ttoy.go\tCheck\tif s == \"\" {\t== to !=\n",
		"is listed as equivalent, and was killed: toy.go:17: remove: sum += n\n",
		"is listed as equivalent, and is no mutant: toy.go: gone: 1 + 1\n",
		"., seed 1: 16 of 17 mutants: 7 killed, 6 survived, 1 equivalent, 2 late: 53.8 % killed\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "other.go") || strings.Contains(out, "survived toy.go:8") {
		t.Error(out)
	}
	if !strings.Contains(talk, "toy.go:18: remove: n--: not ended in time\n") || !strings.Contains(talk, "at least 99.0 % are wanted") {
		t.Error(talk)
	}
	if digest(t, "testdata/toy") != before {
		t.Error("the tree was written to")
	}
}

// The same seed draws the same mutants, and another seed draws others.
func TestDraw(t *testing.T) {
	draw := func(seed, n string) string {
		code, out, talk := mutate(t, "-C", "testdata/toy", "-list", "-n", n, "-seed", seed, ".")
		if code != 0 {
			t.Fatal(talk)
		}
		return out
	}
	all := draw("1", "0")
	if draw("1", "0") != all || draw("2", "0") == all || !strings.HasPrefix(all, draw("1", "3")) || strings.Count(draw("1", "3"), "\n") != 3 {
		t.Error(all)
	}
	code, out, talk := mutate(t, "-C", "testdata/toy", "-list", "-match", "Clamp\t.*negate", ".")
	if code != 0 || out != "toy.go\tClamp\tif n < low {\tnegate: n < low\n" {
		t.Error(code, out, talk)
	}
}

// Errors have a message.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{2, "give one package", nil},
		{2, "give one package", []string{"-n", "-1", "."}},
		{2, "flag provided but not defined", []string{"-frobnicate", "."}},
		{2, "-match: ", []string{"-match", "(", "."}},
		{1, "go list", []string{"-C", "testdata/toy", "./nowhere"}},
		{1, "equivalent.tsv:1: ", []string{"-C", "testdata/toy", "-equivalent", "testdata/bad/equivalent.tsv", "."}},
		{1, "the tests fail without any change", []string{"-C", "testdata/toy", "-tests", "./nowhere", "."}},
	} {
		if code, out, talk := mutate(t, c.args...); code != c.code || !strings.Contains(talk, c.says) || out != "" {
			t.Errorf("%q: exit %d, %s%s", c.args, code, out, talk)
		}
	}
}
