package provenance_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

// If a file cannot be opened or read, the error equals the golden file. The golden file also
// says whether Write has written anything.
func TestGoldenErrors(t *testing.T) {
	whole := crawled(t)
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	write(t, whole, provenance.Options{Key: key})
	archive, err := filepath.Glob(filepath.Join(whole, "warc", "*.gz"))
	if err != nil || len(archive) == 0 {
		t.Fatal(archive, err)
	}
	loop := func(path string) error { return os.Symlink(path, path) }
	folder := func(path string) error { return os.Mkdir(path, 0o755) }
	parent := t.TempDir()
	names := []string{
		store.StateFile, store.LogFile, store.PagesFile, store.LinksFile, store.IndexFile, "warc", "warc/" + filepath.Base(archive[0]), "job.yaml",
		provenance.File, provenance.SignatureFile, provenance.AbsencesFile, provenance.RobotsFile, provenance.DatasheetFile, provenance.SeedsFile,
	}
	texts := make([]strings.Builder, len(names))
	of := func(t *testing.T, i int, name string) {
		t.Parallel() // in parallel, because the tests wait for the disk
		is := &texts[i]
		for manner, change := range []func(path string) error{loop, folder, nil} {
			fmt.Fprintf(is, "%s %s\n", name, []string{"leads to itself", "is a directory", "is gone"}[manner])
			for step, of := range []func(dir string) (any, error){
				func(dir string) (any, error) {
					v, err := provenance.Verify(t.Context(), dir, provenance.Check{Key: key.Public().(ed25519.PublicKey)})
					if err != nil {
						return v != nil, err
					}
					return fmt.Sprintf("%d files, signed %v, %v", v.Files, v.Signed, v.Differences), nil
				},
				func(dir string) (any, error) {
					all, err := provenance.Restore(t.Context(), dir, []provenance.Difference{{File: name}, {File: provenance.AbsencesFile}}, provenance.Options{})
					names := []string{}
					for _, r := range all {
						names = append(names, r.Name+": "+r.How)
					}
					return names, err
				},
				func(dir string) (any, error) {
					before := len(directoryNames(t, dir))
					res, err := provenance.Write(t.Context(), dir, provenance.Options{Key: key, NoAudit: true, Now: settle, Temp: t.TempDir()})
					if err == nil {
						return fmt.Sprintf("%d outputs, %d lines, %d pages, %s", len(res.Outputs), res.Figures.LogLines, res.Figures.Pages, res.Sheet.Why), nil
					}
					return fmt.Sprintf("%d files more", len(directoryNames(t, dir))-before), err
				},
				func(dir string) (any, error) { return provenance.Current(dir, true), nil },
			} {
				dir := filepath.Join(parent, fmt.Sprint(i, manner, step), "paper.crawl")
				linked(t, whole, dir)
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				if change != nil {
					if err := change(path); err != nil {
						t.Fatal(err)
					}
				}
				reported, err := of(dir)
				fmt.Fprintf(is, "\t%s: %v, %s\n", []string{"verify", "restore", "write", "current"}[step], reported, strings.ReplaceAll(fmt.Sprint(err), dir, "DIR"))
			}
		}
	}
	t.Run("of", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) { of(t, i, name) })
		}
	})
	var is strings.Builder
	for i := range texts {
		is.WriteString(texts[i].String())
	}
	got := strings.ReplaceAll(is.String(), filepath.Base(archive[0]), "ARCHIVE")
	goldenText(t, "errors.txt", regexp.MustCompile(`\d{3,}`).ReplaceAllString(got, "N"))
}

// linked makes dir with links to the files of the directory of.
func linked(t *testing.T, of, dir string) {
	t.Helper()
	err := filepath.WalkDir(of, func(path string, d os.DirEntry, err error) error {
		name, _ := filepath.Rel(of, path)
		if err == nil && d.IsDir() {
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		} else if err == nil {
			err = os.Link(path, filepath.Join(dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// directoryNames returns the names of the files in a directory.
func directoryNames(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A full is a writer that accepts left bytes, and then fails as a full disk.
type full struct{ left int }

var errFull = errors.New("the disk is full")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// If a line cannot be written, or the state cannot be read, the lists fail.
func TestLinesThatCannotBeWrittenAreErrors(t *testing.T) {
	dir := crawled(t)
	var whole bytes.Buffer
	begun := func() error { return nil }
	if err := provenance.WriteLists(dir, &whole, begun); err != nil {
		t.Fatal(err)
	}
	left := whole.Len() - 1
	for _, line := range slices.Backward(bytes.SplitAfter(whole.Bytes(), []byte("\n"))) {
		if err := provenance.WriteLists(dir, &full{left}, begun); !errors.Is(err, errFull) {
			t.Errorf("%d of %d bytes: %v", left, whole.Len(), err)
		}
		left -= len(line)
	}
	var damaged *store.DamagedError
	for _, keep := range []int64{2 << 12} {
		path := filepath.Join(dir, store.StateFile)
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		err = provenance.WriteLists(dir, &whole, func() error {
			return os.WriteFile(path, slices.Concat(was[:keep], bytes.Repeat([]byte{0xff}, len(was)-int(keep))), 0o644)
		})
		if !errors.As(err, &damaged) {
			t.Errorf("a state cut to %d bytes: %v", keep, err)
		}
		if err := os.WriteFile(path, was, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A failingOrder counts its steps, and fails at the step with a given number.
type failingOrder struct {
	*crawllog.Order
	steps *failing
}

type failing struct{ n, fails, open int }

func (f *failing) step() error {
	if f.n++; f.n == f.fails {
		return errFull
	}
	return nil
}

func (f *failing) order(t *testing.T) *failingOrder {
	f.open++
	return &failingOrder{crawllog.NewOrder(t.TempDir()), f}
}

func (o *failingOrder) Add(key, line []byte) error {
	return cmp.Or(o.steps.step(), o.Order.Add(key, line))
}

func (o *failingOrder) Each(f func(key, line []byte) error) error {
	return cmp.Or(o.steps.step(), o.Order.Each(f))
}

func (o *failingOrder) Close() error {
	o.steps.open--
	return errors.Join(o.steps.step(), o.Order.Close())
}

// If a step of sorting fails, Write fails.
func TestWhatCannotBeSortedIsAnError(t *testing.T) {
	dir := crawled(t)
	for name, run := range map[string]func(f *failing) error{
		"lists": func(f *failing) error {
			err := provenance.ReadLists(dir, io.Discard, func() provenance.Order { return f.order(t) })
			if f.open != 0 {
				t.Errorf("%d orders are left open", f.open)
			}
			return err
		},
		"hosts": func(f *failing) error {
			_, err := provenance.SpillAt(1, f.order(t), "http://a.example", "http://b.example", "http://c.example")
			return err
		},
	} {
		for n := 1; ; n++ {
			f := &failing{fails: n}
			err := run(f)
			if f.n < n {
				if err != nil || n < 5 {
					t.Errorf("%s: %d steps, %v", name, f.n, err)
				}
				break
			}
			if !errors.Is(err, errFull) {
				t.Errorf("%s: step %d of %d: %v", name, n, f.n, err)
			}
		}
	}
}

// damage overwrites the state file of the crawl in dir. undo restores the file.
func damage(t *testing.T, dir string) (undo func()) {
	t.Helper()
	path := filepath.Join(dir, store.StateFile)
	was, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, slices.Concat(was[:2<<12], bytes.Repeat([]byte{0xff}, len(was)-2<<12)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(path, was, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A healingOrder calls heal when it is closed.
type healingOrder struct {
	*crawllog.Order
	heal func()
}

func (o *healingOrder) Close() error {
	o.heal()
	return o.Order.Close()
}

// If the state cannot be read while Write reads the log or the outputs, Write fails, even if
// the state can be read again later.
func TestAStateThatIsDamagedForAMomentIsAnError(t *testing.T) {
	t.Parallel()
	dir := crawled(t)
	var damaged *store.DamagedError
	n := 0
	err := provenance.ReadLists(dir, io.Discard, func() provenance.Order {
		heal := func() {}
		if n++; n == 1 {
			heal = damage(t, dir)
		}
		return &healingOrder{crawllog.NewOrder(t.TempDir()), heal}
	})
	if !errors.As(err, &damaged) {
		t.Errorf("the runs: %v", err)
	}
	var heal func()
	if err := provenance.ReadOutputs(dir, func() error { heal = damage(t, dir); return nil }); !errors.As(err, &damaged) {
		t.Errorf("the outputs: %v", err)
	}
	heal()
	if err := provenance.ReadOutputs(dir, func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// The state is damaged during one step only. Write fails, or writes the same files as without
// the damage.
func TestAStateThatIsDamagedForAStepChangesNothing(t *testing.T) {
	t.Parallel()
	_, later := snapshots(t)
	for _, dir := range []string{crawled(t), later} {
		steps, failed := 0, 0
		figures := func(at int) string {
			heal := func() {}
			steps = 0
			p, err := provenance.Steps(dir, t.TempDir(), settle, func() {
				switch steps++; steps {
				case at:
					heal = damage(t, dir)
				case at + 1:
					heal()
					heal = func() {}
				}
			})
			heal()
			var damaged *store.DamagedError
			if errors.As(err, &damaged) {
				failed++
				return ""
			}
			if err != nil {
				t.Errorf("%s, step %d: %v", dir, at, err)
				return ""
			}
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		want := figures(0)
		for n := range steps {
			if got := figures(n + 1); got != "" && got != want {
				t.Errorf("%s, step %d of %d:\n%s", dir, n+1, steps, gocmp.Diff(want, got))
			}
		}
		if failed < 3 || want == "" {
			t.Errorf("%s: %d errors in %d steps", dir, failed, steps)
		}
	}
}

// If the counts of sites cannot be written to temporary files, Write fails. It also fails if
// the seeds cannot be written.
func TestWhatCannotBePutAsideIsAnError(t *testing.T) {
	t.Parallel()
	dir := crawled(t)
	if err := provenance.CloseSeeds(dir); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the seeds: %v", err)
	}
	path := filepath.Join(dir, store.LogFile)
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var more []byte
	err = crawllog.Read(bytes.NewReader(log), func(l *crawllog.Line) error {
		if more == nil && !l.Start.IsZero() && l.URL != crawllog.RunURL {
			for i := range 4100 { // more than mostCounted, so that the counts go to temporary files
				l.URL = fmt.Sprintf("http://s%d.example/", i)
				more = l.Append(more)
			}
		}
		return nil
	})
	if err == nil {
		err = os.WriteFile(path, append(log, more...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := &failing{fails: 1}
	if err := provenance.ReadLists(dir, io.Discard, func() provenance.Order { return f.order(t) }); !errors.Is(err, errFull) || f.n > 2 {
		t.Errorf("the sites: %v, after %d steps", err, f.n)
	}
}

// If an unfinished file cannot be removed, the error is reported together with the error that
// has ended Write.
func TestPartsThatCannotBeRemovedAreTold(t *testing.T) {
	t.Parallel()
	dir := crawled(t)
	before := directoryNames(t, dir)
	ctx, cancel := context.WithCancelCause(t.Context())
	blocked := 0
	_, err := provenance.Write(ctx, dir, provenance.Options{NoAudit: true, OptOut: func(frontier.URL) string {
		for _, name := range directoryNames(t, dir) {
			if path := filepath.Join(dir, name); !slices.Contains(before, name) {
				if os.Remove(path) == nil {
					blocked++
				}
				if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o755); err != nil {
					t.Error(err)
				}
			}
		}
		cancel(errFull)
		return ""
	}})
	var path *fs.PathError
	if !errors.Is(err, errFull) || !errors.As(err, &path) || path.Op != "remove" || blocked == 0 {
		t.Errorf("%v, %d parts", err, blocked)
	}
}

func TestABitIsLookedForInShortFiles(t *testing.T) {
	if !provenance.Unflipped(16<<10) || provenance.Unflipped(16<<10+1) || !provenance.Unflipped(1) {
		t.Error("the bound is not 16 KiB")
	}
}

// A key file may have text around the key. It may be up to 64 KiB long.
func TestTheFileOfAKeyIsBounded(t *testing.T) {
	private, _ := keyFiles(t)
	key, err := os.ReadFile(private)
	if err != nil {
		t.Fatal(err)
	}
	for more, want := range []bool{true, false} {
		if err := os.WriteFile(private, append(bytes.Clone(key), bytes.Repeat([]byte("\n"), 64<<10-len(key)+more)...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := provenance.ReadKey(private); (err == nil) != want {
			t.Errorf("64 KiB and %d bytes: %v", more, err)
		}
	}
}

func TestAllFilesAreClosed(t *testing.T) {
	dir := crawled(t)
	private, public := keyFiles(t)
	for name, step := range map[string]func() error{
		"write": func() error {
			_, err := provenance.Write(t.Context(), dir, provenance.Options{Now: settle})
			return err
		},
		"verify":      func() error { _, err := provenance.Verify(t.Context(), dir, provenance.Check{}); return err },
		"private key": func() error { _, err := provenance.ReadKey(private); return err },
		"public key":  func() error { _, err := provenance.ReadPublicKey(public); return err },
		"restore": func() error {
			_, err := provenance.Restore(t.Context(), dir, []provenance.Difference{{File: provenance.AbsencesFile}}, provenance.Options{})
			return err
		},
	} {
		if name != "write" {
			if _, err := os.Stat(filepath.Join(dir, provenance.File)); err != nil {
				write(t, dir, provenance.Options{})
			}
		}
		runtime.GC() // close leaked files now, so that they are counted
		before := openFiles()
		if err := step(); err != nil || openFiles() > before {
			t.Errorf("%s: %d files are open, %d were: %v", name, openFiles(), before, err)
		}
	}
}

// openFiles returns how many files this process has open. It returns 0 if the system cannot
// say.
func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}
