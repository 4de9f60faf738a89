package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/permesso-crawler/permesso/internal/disk"
)

// findFlip finds each single flipped bit by the mark of the file. It finds no bit if the file
// has other damage.
func TestAFlippedBitIsFoundByTheMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := bytes.Repeat([]byte("a line of a file\n"), 5)
	want := marking{w: &bytes.Buffer{}}
	if _, err := want.Write(text); err != nil {
		t.Fatal(err)
	}
	for at := range text {
		for bit := range 8 {
			is := bytes.Clone(text)
			is[at] ^= 1 << bit
			if err := os.WriteFile(path, is, 0o644); err != nil {
				t.Fatal(err)
			}
			found, ok, err := findFlip(t.Context(), path, want.Mark, 0, int64(len(text)))
			if err != nil || !ok || found != (aFlip{int64(at), 1 << bit}) {
				t.Fatalf("byte %d, bit %d: %+v, %v, %v", at, bit, found, ok, err)
			}
			if _, ok, _ := findFlip(t.Context(), path, want.Mark, int64(at)+1, int64(len(text))); ok {
				t.Fatalf("byte %d: found out of bounds", at)
			}
		}
	}
	is := bytes.Clone(text)
	is[3], is[40] = is[3]^1, is[40]^4
	if err := os.WriteFile(path, is, 0o644); err != nil {
		t.Fatal(err)
	}
	if found, ok, err := findFlip(t.Context(), path, want.Mark, 0, int64(len(text))); ok || err != nil {
		t.Errorf("two bits: %+v, %v", found, err)
	}
}

// spoiltCrawl makes a crawl with a record that cannot be read, and returns its directory.
func spoiltCrawl(t *testing.T) string {
	t.Helper()
	c := mixedCrawl(t, 4, 10, disk.Disk{}, false)
	files, err := ArchiveFiles(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	clear(raw[len(raw)/2 : len(raw)/2+40])
	if err := os.WriteFile(files[0], raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return c.dir
}

// A Repair removes bytes that were inserted between records, and restores the file. But if
// another record is damaged, too, it replaces the inserted bytes and the record after them by
// one record, because the bytes alone are too few for a record.
func TestBytesBetweenRecordsAreTakenOut(t *testing.T) {
	for name, spoilt := range map[string]bool{"alone": false, "and a record": true} {
		t.Run(name, func(t *testing.T) {
			c := mixedCrawl(t, 4, 10, disk.Disk{}, false)
			files, err := ArchiveFiles(c.dir)
			if err != nil {
				t.Fatal(err)
			}
			was, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			second := bytes.Index(was[1:], []byte{0x1f, 0x8b, 8}) + 1
			is := slices.Concat(was[:second], bytes.Repeat([]byte("x"), 60), was[second:])
			if spoilt {
				clear(is[len(is)*3/4 : len(is)*3/4+40])
			}
			if err := os.WriteFile(files[0], is, 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := NewRepair(t.Context(), c.dir, RepairOptions{})
			if err != nil || len(r.Left) > 0 || (len(r.Lost) > 0) != spoilt {
				t.Fatal(r, err)
			}
			if err := r.Commit(); err != nil {
				t.Fatal(err)
			}
			verified(t, c.dir)
			if now, err := os.ReadFile(files[0]); err != nil || bytes.Equal(now, was) == spoilt {
				t.Errorf("%d bytes, %d were written, %v", len(now), len(was), err)
			}
		})
	}
}

// A repair is killed between any two renames. No function then uses the crawl, and the next
// repair finishes the work: the files are the same as without the kill.
func TestARepairIsFinishedWhateverBreaksItOff(t *testing.T) {
	dir := spoiltCrawl(t)
	r, err := NewRepair(t.Context(), dir, RepairOptions{Beside: []string{LogFile + ".no"}})
	if err != nil || len(r.Changed) < 2 || len(r.Left) > 0 {
		t.Fatal(r, err)
	}
	if copied := crash(t, dir); true { // before the stage is ready, nothing has changed
		var damaged bool
		if _, err := Verify(t.Context(), copied, func(error) { damaged = true }); err != nil || !damaged {
			t.Error(damaged, err)
		}
		again, err := NewRepair(t.Context(), copied, RepairOptions{})
		if err != nil || len(again.Changed) != len(r.Changed) {
			t.Fatal(again, err)
		}
		if err := again.Discard(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(copied, repairStage)); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	// Kill after each step of swap.
	stage := crash(t, dir)
	if err := r.Commit(); err != nil {
		t.Fatal(err)
	}
	verified(t, dir)
	plan := repairSwap{Aside: filepath.Base(r.Aside), Files: r.Changed}
	for n := range 2*len(plan.Files) + 1 {
		killed := crash(t, stage)
		text := []byte(`{"aside":"` + plan.Aside + `","files":["` + joinNames(plan.Files) + `"]}`)
		ready := filepath.Join(killed, repairReady)
		err := errors.Join(os.Rename(filepath.Join(killed, repairStage), ready), os.WriteFile(filepath.Join(ready, repairPlan), text, 0o644),
			os.MkdirAll(filepath.Join(killed, plan.Aside, ArchiveDir), 0o755))
		for i := range n {
			name := plan.Files[i/2]
			if i%2 == 0 {
				if rerr := os.Rename(filepath.Join(killed, name), filepath.Join(killed, plan.Aside, name)); !errors.Is(rerr, fs.ErrNotExist) {
					err = errors.Join(err, rerr)
				}
			} else {
				err = errors.Join(err, os.Rename(filepath.Join(ready, name), filepath.Join(killed, name)))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		var open *RepairError
		if _, err := OpenReader(killed); !errors.As(err, &open) {
			t.Errorf("step %d: %v", n, err)
		}
		if _, err := Open(killed, Options{}); !errors.As(err, &open) {
			t.Errorf("step %d: %v", n, err)
		}
		if aside, err := FinishRepair(killed); err != nil || filepath.Base(aside) != plan.Aside {
			t.Fatalf("step %d: %s, %v", n, aside, err)
		}
		verified(t, killed)
		if again, err := FinishRepair(killed); again != "" || err != nil {
			t.Error(again, err)
		}
		// Kill while the directory is removed: its plan is gone, but some files are left.
		if err := errors.Join(os.Mkdir(ready, 0o755), os.WriteFile(filepath.Join(ready, StateFile), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		sound, err := NewRepair(t.Context(), killed, RepairOptions{})
		if err != nil || !sound.Sound {
			t.Fatal(sound, err)
		}
		if _, err := os.Lstat(ready); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("step %d: files that a kill has left are still there", n)
		}
		if err := sound.Discard(); err != nil {
			t.Error(err)
		}
	}
}

func joinNames(names []string) string {
	var b bytes.Buffer
	for i, name := range names {
		if i > 0 {
			b.WriteString(`","`)
		}
		b.WriteString(name)
	}
	return b.String()
}
