package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// names returns the names of the files in a directory.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(raw)
}

// A file keeps its text and its permissions until the new file is complete.
func TestAFileIsWholeOrAsItWas(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		for _, how := range []string{"commit", "commit new", "discard"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "out")
			if before {
				write(t, path, "old")
			}
			f, err := Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString("new"); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(path); before && read(t, path) != "old" || !before && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is a file, or not the old one, before it is whole: %v", err)
			}
			want := "new"
			switch how {
			case "commit":
				err = f.Commit()
			case "commit new":
				if err = f.CommitNew(); before && errors.Is(err, fs.ErrExist) {
					err, want = nil, "old"
				}
			case "discard":
				if want = ""; before {
					want = "old"
				}
			}
			if err := errors.Join(err, f.Discard()); err != nil {
				t.Errorf("%s, one before %v: %v", how, before, err)
			}
			if left := names(t, dir); want == "" && len(left) > 0 || want != "" && (!slices.Equal(left, []string{"out"}) || read(t, path) != want) {
				t.Errorf("%s, one before %v: left %q, want %q", how, before, left, want)
			}
			if info, err := os.Stat(path); before && (err != nil || info.Mode().Perm() != 0o640) {
				t.Errorf("%s: mode %v, %v", how, info.Mode(), err)
			}
		}
	}
}

// A symbolic link stays. Its target is replaced, or created.
func TestASymbolicLinkStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		links  [][2]string // pairs of a name and the target of the link
		target string      // file that must be written; empty: an error is expected
		is     error
	}{
		"to a file":                 {[][2]string{{"X", "file"}}, "file", nil},
		"absolute":                  {[][2]string{{"X", "$/file"}}, "file", nil},
		"to a link to a file":       {[][2]string{{"X", "Y"}, {"Y", "file"}}, "file", nil},
		"dangling":                  {[][2]string{{"X", "new"}}, "new", nil},
		"dangling, in a directory":  {[][2]string{{"X", "sub/new"}}, "sub/new", nil},
		"through a directory":       {[][2]string{{"X", "dir/../file"}, {"dir", "sub/deep"}}, "sub/file", nil},
		"to a link of a directory":  {[][2]string{{"X", "dir/Y"}, {"dir", "sub"}, {"sub/Y", "../file"}}, "file", nil},
		"to a directory":            {[][2]string{{"X", "sub"}}, "", syscall.EISDIR},
		"into a directory not made": {[][2]string{{"X", "none/new"}}, "", fs.ErrNotExist},
		"to itself":                 {[][2]string{{"X", "X"}}, "", syscall.ELOOP},
	} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "file"), "old")
		for _, l := range c.links {
			if err := os.Symlink(strings.Replace(l[1], "$", dir, 1), filepath.Join(dir, l[0])); err != nil {
				t.Skip("no symbolic links here: ", err)
			}
		}
		err = Write(filepath.Join(dir, "X"), []byte("new"))
		if c.target == "" {
			if !errors.Is(err, c.is) {
				t.Errorf("%s: %v, want %v", name, err, c.is)
			}
			continue
		}
		info, lerr := os.Lstat(filepath.Join(dir, "X"))
		if err != nil || lerr != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s: %v, %v; X is %v now", name, err, lerr, info.Mode())
		}
		if got := read(t, filepath.Join(dir, c.target)); got != "new" {
			t.Errorf("%s: %s has %q", name, c.target, got)
		}
	}
}

// Create removes the temporary files that a killed process has left for the same output. It
// does not remove files of a running process, or files with other names.
func TestWhatAKillHasLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "out.csv")
	begin := func() *File {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	killed, lives := begin(), begin()
	others := []string{"." + "out.csv" + ".short.tmp", ".out.csvx" + strings.TrimPrefix(filepath.Base(killed.Name()), ".out.csv"), "out.csv.tmp"}
	for _, name := range others {
		write(t, filepath.Join(dir, name), "")
	}
	killed.Close() // as the system does when a process ends
	third := begin()
	want := append([]string{filepath.Base(lives.Name()), filepath.Base(third.Name())}, others...)
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if err := errors.Join(lives.Commit(), third.Commit()); err != nil {
		t.Error(err)
	}
}

// Create fails for a name that no file can have, and makes no file.
func TestNamesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		path string
		is   error
	}{
		{dir, syscall.EISDIR}, {dir + "/", syscall.EISDIR}, {dir + "/new/", syscall.EISDIR}, {dir + "/none/x", fs.ErrNotExist},
		{dir + "/none/..", fs.ErrNotExist}, {"", syscall.EISDIR},
	} {
		if f, err := Create(c.path); f != nil || err == nil || !errors.Is(err, c.is) && c.path != dir+"/none/.." {
			t.Errorf("%q: %v, want %v", c.path, err, c.is)
		}
	}
	if left := names(t, dir); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}
