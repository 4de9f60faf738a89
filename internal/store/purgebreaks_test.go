package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/permesso-crawler/permesso/internal/disk"
)

// killedPurge checks a copy of a crawl whose purge was killed: Verify reports only the
// interrupted purge, Open fails, and a second Run finishes the purge.
func killedPurge(t *testing.T, dir string, before map[string][]string) {
	t.Helper()
	broken, err := UnfinishedPurge(dir)
	if err != nil {
		t.Fatal(err)
	}
	var told []error
	if _, err := Verify(t.Context(), dir, func(err error) { told = append(told, err) }); err != nil {
		t.Fatal(err)
	}
	var is *PurgeError
	if broken == nil && len(told) > 0 || broken != nil && (len(told) != 1 || !errors.As(told[0], &is)) {
		t.Fatalf("purging %v, and Verify says %v", broken, told)
	}
	p := purgeOf(disk.Disk{})
	if broken != nil {
		if db, err := Open(dir, Options{}); !errors.As(err, &is) {
			t.Fatal(db, err)
		}
		if _, err := MakeIndex(t.Context(), dir, nil); !errors.As(err, &is) {
			t.Fatal(err)
		}
		if _, err := p.Plan(t.Context(), dir); !errors.As(err, &is) {
			t.Fatal(err)
		}
		if _, err := OpenReader(dir); !errors.As(err, &is) {
			t.Fatal(err)
		}
		other := *p
		other.Places = nil
		if _, err := other.Run(t.Context(), dir); !errors.As(err, &is) {
			t.Fatal(err)
		}
		if p.Places = broken.Places; !broken.Time.Equal(p.Time) {
			t.Errorf("it began at %v", broken.Time)
		}
	}
	if _, err := p.Run(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	verified(t, dir)
	purged(t, dir, before)
	if again, err := UnfinishedPurge(dir); again != nil || err != nil {
		t.Error(again, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*"+newSuffix)); len(left) > 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A purge is killed, or power is cut, between any two steps or in the middle of a record. The
// next Run finishes the purge.
func TestAPurgeIsFinishedWhateverBreaksItOff(t *testing.T) {
	d := &forgetful{t: t, names: map[string]map[string]fs.FileInfo{}}
	c := mixedCrawl(t, 1, 10, disk.Disk{Before: d.before}, false)
	before := holds(t, c.dir)
	var copies []string
	steps := 0
	p := purgeOf(disk.Disk{Before: func(path string) error {
		copies = append(copies, crash(t, c.dir))
		if err := d.before(path); err != nil {
			return err
		}
		copies = append(copies, crash(t, c.dir))
		if d.names[c.dir] != nil {
			copies = append(copies, d.cut(c.dir))
		}
		return nil
	}})
	p.step = func() {
		if steps++; steps%5 == 0 {
			copies = append(copies, crash(t, c.dir), d.cut(c.dir))
		}
	}
	done, err := p.Run(t.Context(), c.dir)
	if err != nil || done.Records == 0 {
		t.Fatal(done, err)
	}
	unfinished := 0
	for _, dir := range append(copies, c.dir) {
		if broken, _ := UnfinishedPurge(dir); broken != nil {
			if unfinished++; unfinished%2 == 0 {
				tearRecords(t, dir)
			}
		}
		killedPurge(t, dir, before)
	}
	if len(copies) < 20 || unfinished < 15 {
		t.Errorf("%d copies, %d of them with a purge that was broken off", len(copies), unfinished)
	}
}

// tearRecords overwrites half of each record that a purge is changing, as a power cut may do to
// unsynced writes.
func tearRecords(t *testing.T, dir string) {
	t.Helper()
	if _, _, err := readPurge(dir, func(r *purgeRecord) error {
		f, err := os.OpenFile(filepath.Join(dir, ArchiveDir, r.File), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(bytes.Repeat([]byte{0xaa}, int(r.Length/2)), r.Offset)
		return errors.Join(err, f.Close())
	}); err != nil {
		t.Fatal(err)
	}
}

// Verify still reports damage that was there before a purge. A purge removes nothing that it
// cannot read.
func TestAPurgeDoesNotHideDamage(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir string){
		PagesFile: func(t *testing.T, dir string) {
			patch(t, filepath.Join(dir, PagesFile), []byte(`{"url":"http://a.example/`), []byte(`{"url" "http://a.example/`))
		},
		LinksFile: func(t *testing.T, dir string) {
			patch(t, filepath.Join(dir, LinksFile), []byte(`a text on http://a`), []byte(`b text on http://a`))
		},
		"warc": func(t *testing.T, dir string) {
			files, err := ArchiveFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range files {
				raw, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				raw[len(raw)-6] ^= 1
				if err := os.WriteFile(path, raw, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := mixedCrawl(t, 1, 12, disk.Disk{}, false)
			damage(t, c.dir)
			problems := func() (n int) {
				if _, err := Verify(t.Context(), c.dir, func(error) { n++ }); err != nil {
					t.Fatal(err)
				}
				return n
			}
			if problems() == 0 {
				t.Fatal("this is no damage")
			}
			told := 0
			p := purgeOf(disk.Disk{})
			p.Problem = func(error) { told++ }
			done, err := p.Run(t.Context(), c.dir)
			if err != nil || done.Problems != told || (told == 0) != (name == LinksFile) {
				t.Errorf("%+v, %d problems were reported, %v", done, told, err)
			}
			if problems() == 0 {
				t.Error("the damage is hidden")
			}
		})
	}
}

// patch replaces the first occurrence of was in the file at path by is, which has the same
// length.
func patch(t *testing.T, path string, was, is []byte) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(raw, was) || len(was) != len(is) {
		t.Fatalf("%s: %v", path, err)
	}
	if err := os.WriteFile(path, bytes.Replace(raw, was, is, 1), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Purge.Run returns an *InUseError while a process runs or reads the crawl.
func TestNothingIsPurgedUnderARun(t *testing.T) {
	c := mixedCrawl(t, 1, 4, disk.Disk{}, false)
	db, err := Open(c.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if _, err := purgeOf(disk.Disk{}).Plan(t.Context(), c.dir); !errors.As(err, &inUse) {
		t.Errorf("Plan: %v", err)
	}
	if _, err := purgeOf(disk.Disk{}).Run(t.Context(), c.dir); !errors.As(err, &inUse) {
		t.Errorf("Run: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
