package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// indexed makes a crawl that has ended, with three answers in one WARC file, and returns its
// directory.
func indexed(t *testing.T) string {
	t.Helper()
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		visitOf(t, db, n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return db.Dir()
}

// indexes returns the text of index.cdxj, and the sorted lines of index.part.
func indexes(t *testing.T, dir string) (index, part string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, IndexFile))
	lines, err2 := os.ReadFile(filepath.Join(dir, indexPart))
	if err := errors.Join(err, err2); err != nil {
		t.Error(err)
	}
	all := strings.SplitAfter(string(lines), "\n")
	slices.Sort(all)
	return string(raw), strings.Join(all, "")
}

// passing returns the paths of the temporary files in dir that are left from making an index.
func passing(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, pattern := range []string{"index.*" + newSuffix, "*.tmp"} {
		names, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	return all
}

// reopened opens a crawl without changes and closes it.
func reopened(t *testing.T, dir string, opts Options) {
	t.Helper()
	db, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// An incomplete index is made again from the archive: by a run that adds answers, by a run that
// adds none, and by MakeIndex.
func TestAnIndexThatIsNotWholeIsMadeAgain(t *testing.T) {
	whole := indexed(t)
	wantIndex, wantPart := indexes(t, whole)
	if strings.Count(wantIndex, "\n") != 3 || wantIndex != wantPart {
		t.Fatalf("index %q, its lines as they came %q", wantIndex, wantPart)
	}
	gone := func(path string) error { return os.Remove(path) }
	cut := func(path string) error {
		info, err := os.Stat(path)
		return errors.Join(err, os.Truncate(path, info.Size()-1))
	}
	changed := func(path string) error {
		raw, err := os.ReadFile(path)
		raw[0]++
		return errors.Join(err, os.WriteFile(path, raw, 0o644))
	}
	for name, spoil := range map[string]map[string]func(string) error{
		"nothing":                 {},
		"no index":                {IndexFile: gone},
		"an index that is cut":    {IndexFile: cut},
		"no lines":                {indexPart: gone, IndexFile: gone},
		"lines that are cut":      {indexPart: cut, IndexFile: cut},
		"lines that were changed": {indexPart: changed, IndexFile: gone},
	} {
		for way, mend := range map[string]func(dir string){
			"a run with an archive": func(dir string) { reopened(t, dir, Options{Gather: -1, Archive: &Archive{}}) },
			"a run without one":     func(dir string) { reopened(t, dir, Options{Gather: -1}) },
			"by hand": func(dir string) {
				done, err := MakeIndex(t.Context(), dir, func(err error) { t.Errorf("%s: %v", name, err) })
				if err != nil || done.Lines != 3 || len(done.Moved) > 0 {
					t.Errorf("%s: %+v, %v", name, done, err)
				}
			},
		} {
			dir := crash(t, whole)
			for file, spoil := range spoil {
				if err := spoil(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := os.Stat(filepath.Join(dir, IndexFile))
			mend(dir)
			if index, part := indexes(t, dir); index != wantIndex || part != wantPart {
				t.Errorf("%s, %s: index %q, lines as they came %q", name, way, index, part)
			}
			if left := passing(t, dir); len(left) > 0 {
				t.Errorf("%s, %s: left are %q", name, way, left)
			}
			after, err := os.Stat(filepath.Join(dir, IndexFile))
			if err != nil || name == "nothing" && strings.HasPrefix(way, "a run") && !os.SameFile(before, after) {
				t.Errorf("%s, %s: an undamaged index was rebuilt, %v", name, way, err)
			}
			verified(t, dir)
		}
	}
}

// If index.part is undamaged, index.cdxj is made from its lines. The archive is not read, so
// changes in it have no effect.
func TestAnIndexIsSortedWithoutTheArchive(t *testing.T) {
	dir := indexed(t)
	before, _ := indexes(t, dir)
	files, err := ArchiveFiles(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("no WARC file"), 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, Options{Gather: -1, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	visitOf(t, db, 3)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	index, part := indexes(t, dir)
	if strings.Count(index, "\n") != 4 || index != part {
		t.Errorf("index %q, lines as they came %q", index, part)
	}
	for line := range strings.Lines(before) {
		if !strings.Contains(index, line) {
			t.Errorf("%q is gone from the index", line)
		}
	}
	if left := passing(t, dir); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// MakeIndex needs only the archive, and no state file.
func TestAnIndexIsMadeOfTheArchiveAlone(t *testing.T) {
	dir := indexed(t)
	want, _ := indexes(t, dir)
	if err := errors.Join(os.Remove(filepath.Join(dir, StateFile)), os.Remove(filepath.Join(dir, IndexFile))); err != nil {
		t.Fatal(err)
	}
	done, err := MakeIndex(t.Context(), dir, nil)
	if err != nil || done.Lines != 3 || len(done.Moved) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if index, part := indexes(t, dir); index != want || part != want {
		t.Errorf("index %q, lines as they came %q, want %q", index, part, want)
	}
	if left := passing(t, dir); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// An error while an index is made again, or sorted at the end of a run, is reported. The next
// run then makes the index.
func TestAnIndexThatCannotBeSyncedIsMadeByTheNextRun(t *testing.T) {
	whole := indexed(t)
	wantIndex, _ := indexes(t, whole)
	broken := errors.New("no sync")
	for _, lost := range []bool{true, false} {
		for k := 0; ; k++ {
			dir := crash(t, whole)
			if lost {
				if err := errors.Join(os.Remove(filepath.Join(dir, indexPart)), os.Remove(filepath.Join(dir, IndexFile))); err != nil {
					t.Fatal(err)
				}
			}
			n, at := 0, ""
			opts := Options{Gather: -1, Archive: &Archive{}, disk: disk.Disk{Before: func(path string) error {
				if n++; n == k+1 {
					at = path
					return broken
				}
				return nil
			}}}
			db, err := Open(dir, opts)
			if err == nil {
				if !lost { // otherwise the index was made before Close
					visitOf(t, db, 3)
				}
				err = db.Close()
			} else if left := passing(t, dir); len(left) > 0 {
				t.Errorf("sync %d, of %s: left are %q", k, at, left)
			}
			if at == "" {
				if err != nil {
					t.Errorf("all %d syncs: %v", k, err)
				}
				break
			}
			if !errors.Is(err, broken) {
				t.Errorf("sync %d, of %s: %v", k, at, err)
			}
			reopened(t, dir, Options{Gather: -1, Archive: &Archive{}})
			verified(t, dir)
			for line := range strings.Lines(wantIndex) {
				if index, part := indexes(t, dir); !strings.Contains(index, line) || !strings.Contains(part, line) {
					t.Errorf("sync %d, of %s: %q is not in the index", k, at, line)
				}
			}
		}
	}
}

// Verify reports an *IndexError, which MakeIndex repairs, if the index does not match its mark
// in the state, or if it was being made when the process was killed.
func TestAnIndexThatIsNotThatOfTheStateIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(known state.Marks, made *state.IndexMarks)
		remove []string
		want   []string
	}{
		"the same": {func(state.Marks, *state.IndexMarks) {}, nil, nil},
		"being made": {func(known state.Marks, _ *state.IndexMarks) { known[indexPart] = state.Mark{Lost: true} },
			[]string{indexPart, IndexFile}, []string{indexPart + " was being made again, and is not whole"}},
		"of less":  {func(_ state.Marks, made *state.IndexMarks) { made.Part.Length-- }, nil, []string{IndexFile + " does not cover everything that was archived"}},
		"of other": {func(_ state.Marks, made *state.IndexMarks) { made.Part.Sum++ }, nil, []string{IndexFile + " does not cover everything that was archived"}},
		"gone":     {func(state.Marks, *state.IndexMarks) {}, []string{IndexFile}, []string{IndexFile + " is missing"}},
	} {
		dir := indexed(t)
		done, err := state.Check{Problem: func(err error) { t.Error(err) }, Fate: func(frontier.URL, frontier.Fate) {}, Payload: func(state.Payload) {}}.Read(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		c.change(done.Growing, &done.Index)
		outline, err := state.OpenOutline(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(outline.PutMarks(done.Growing, done.Index), outline.Close()); err != nil {
			t.Fatal(err)
		}
		for _, file := range c.remove {
			if err := os.Remove(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		if _, err := Verify(t.Context(), dir, func(err error) {
			var index *IndexError
			if !errors.As(err, &index) {
				t.Errorf("%s: not of the index alone: %v", name, err)
			}
			got = append(got, strings.TrimPrefix(err.Error(), dir+string(filepath.Separator)))
		}); err != nil {
			t.Error(name, err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		reopened(t, dir, Options{Gather: -1, Archive: &Archive{}})
		verified(t, dir)
	}
}

// If the index cannot be made, the error says why, no incomplete file is left, and another
// process can open the crawl.
func TestWhatStandsInTheWayOfAnIndexIsTold(t *testing.T) {
	whole := indexed(t)
	files, err := ArchiveFiles(whole)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	archived := filepath.Join(ArchiveDir, filepath.Base(files[0]))
	directory := func(path string) error { return errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o755)) }
	full := func(path string) error {
		return errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Join(path, "x"), 0o755))
	}
	loop := func(path string) error {
		return errors.Join(os.RemoveAll(path), os.Symlink(filepath.Base(path), path))
	}
	for _, c := range []struct {
		name  string
		spoil func(path string) error
	}{
		{archived, directory}, {archived, loop},
		{ArchiveDir, func(path string) error { return errors.Join(os.RemoveAll(path), os.WriteFile(path, nil, 0o644)) }},
		{ArchiveDir, os.RemoveAll},
		{IndexFile, full}, {IndexFile, loop}, {indexPart, full}, {indexPart, loop},
		{IndexFile + newSuffix, full}, {indexPart + newSuffix, full},
	} {
		for _, alone := range []bool{false, true} {
			dir := crash(t, whole)
			if alone {
				if err := os.Remove(filepath.Join(dir, StateFile)); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.spoil(filepath.Join(dir, c.name)); err != nil {
				t.Skip("no loop can be made here: ", err)
			}
			_, err := MakeIndex(t.Context(), dir, func(error) {})
			if err == nil || !strings.Contains(err.Error(), c.name) {
				t.Errorf("%s has changed, alone %v: %v", c.name, alone, err)
			}
			left := slices.DeleteFunc(passing(t, dir), func(name string) bool { return name == c.name })
			if len(left) > 0 {
				t.Errorf("%s has changed, alone %v: left over: %q", c.name, alone, left)
			}
			if alone {
				continue
			}
			r, err := OpenReader(dir)
			if err != nil {
				t.Errorf("%s has changed: the state is still held: %v", c.name, err)
				continue
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAnIndexIsMadeOfACrawlThatIsThere(t *testing.T) {
	dir := t.TempDir()
	if _, err := MakeIndex(t.Context(), dir, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "there is no archive in "+dir) {
		t.Errorf("an empty directory: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := MakeIndex(t.Context(), file, nil); err == nil || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "there is no archive") {
		t.Errorf("no directory: %v", err)
	}
	db, err := Open(filepath.Join(dir, "held"), Options{Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	var held *InUseError
	if _, err := MakeIndex(t.Context(), db.Dir(), nil); !errors.As(err, &held) {
		t.Errorf("a crawl that runs: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// MakeIndex lists all records that can be read, and reports damage.
func TestAnIndexIsOfWhatCanBeRead(t *testing.T) {
	dir := indexed(t)
	files, err := ArchiveFiles(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	entries := entriesOf(t, dir)
	at := entries[0].Offset + 20
	for _, e := range entries {
		if e.Offset+20 > at {
			at = e.Offset + 20 // an offset in the last record
		}
	}
	raw[at] ^= 0xff
	if err := os.WriteFile(files[0], raw, 0o644); err != nil {
		t.Fatal(err)
	}
	var told []string
	done, err := MakeIndex(t.Context(), dir, func(err error) { told = append(told, err.Error()) })
	if err != nil || done.Lines != 2 || len(done.Moved) > 0 || len(told) != 1 || !strings.HasPrefix(told[0], files[0]+": ") {
		t.Errorf("%+v, %v, reported %q", done, err, told)
	}
	if got := entriesOf(t, dir); len(got) != 2 {
		t.Errorf("%d lines", len(got))
	}
	if done, err := MakeIndex(t.Context(), dir, nil); err != nil || done.Lines != 2 {
		t.Errorf("and this is not reported: %+v, %v", done, err)
	}
}

// entriesOf returns the entries of index.cdxj.
func entriesOf(t *testing.T, dir string) (all []*cdxj.Entry) {
	t.Helper()
	index, _ := indexes(t, dir)
	for line := range strings.Lines(index) {
		e, err := cdxj.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// Lines about missing WARC files are copied once each, even if both index files have them.
// Lines that cannot be parsed are not copied.
func TestLinesOfMovedFilesAreTakenOverOnce(t *testing.T) {
	dir := indexed(t)
	e := entriesOf(t, dir)[0]
	e.Filename = "moved.warc.gz"
	moved, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The longest line that an index may have, and a line that is one byte longer.
	e.Filename = "long.warc.gz"
	short, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.URL += strings.Repeat("x", cdxj.MaxLine-len(short))
	long, err := e.Append(nil)
	e.URL, e.Filename = e.URL+"x", "longer.warc.gz"
	longer, err2 := e.Append(nil)
	if err != nil || err2 != nil || len(long) != cdxj.MaxLine {
		t.Fatal(len(long), err, err2)
	}
	torn := strings.Replace(strings.TrimSuffix(string(moved), "\n"), "moved.", "torn.", 1)
	for name, more := range map[string]string{
		IndexFile: string(moved) + "no line\n" + string(long) + string(longer),
		indexPart: string(moved) + string(moved) + torn,
	} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(more)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	done, err := MakeIndex(t.Context(), dir, func(err error) { t.Error(err) })
	if err != nil || done.Lines != 5 || !slices.Equal(done.Moved, []string{"long.warc.gz", "moved.warc.gz"}) {
		t.Errorf("%+v, %v", done, err)
	}
	if index, part := indexes(t, dir); index != part || strings.Count(index, "moved.warc.gz") != 1 || strings.Count(index, "long.warc.gz") != 1 {
		t.Errorf("the index has %d bytes, its lines as they came %d", len(index), len(part))
	}
}

// MakeIndex lists only the committed records of an unfinished WARC file.
func TestAnIndexIsOfWhatWasCommitted(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	visitOf(t, db, 0)
	if err := db.Submit(frontier.Completion{Links: visited(t, 1)}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	dir := crash(t, db.Dir())
	grows, err := filepath.Glob(filepath.Join(dir, ArchiveDir, "*"+openSuffix))
	if err != nil || len(grows) != 1 {
		t.Fatal(grows, err)
	}
	raw, err := os.ReadFile(grows[0])
	if err != nil {
		t.Fatal(err)
	}
	// Append a copy of the records, which stands for uncommitted records.
	if err := os.WriteFile(grows[0], append(raw, raw...), 0o644); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, dir); v.Records != 2 || !v.Unclean {
		t.Errorf("%+v", v)
	}
	done, err := MakeIndex(t.Context(), dir, func(err error) { t.Error(err) })
	if err != nil || done.Lines != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	reopened(t, dir, Options{Gather: -1, Archive: &Archive{}})
	verified(t, dir)
	if all := entriesOf(t, dir); len(all) != 1 || time.Since(all[0].Time) > time.Hour {
		t.Errorf("%d lines", len(all))
	}
}
