package store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

func urlOf(raw string) frontier.URL {
	u, _ := frontier.ParseURL(raw)
	return u
}

// dbMethods has calls of each method of a DB that may fail. Some arguments are invalid.
var dbMethods = map[string]func(db *DB) error{
	"Put":                  func(db *DB) error { return db.Put("x", 1) },
	"Put, no JSON":         func(db *DB) error { return db.Put("x", make(chan int)) },
	"Put, no key":          func(db *DB) error { return db.Put("", 1) },
	"Put, a huge key":      func(db *DB) error { return db.Put(strings.Repeat("x", 1<<16), 1) },
	"PutPrevious":          func(db *DB) error { return db.PutPrevious("\x00") },
	"PutSnapshot":          func(db *DB) error { return db.PutSnapshot("http://a.example", &robots.Snapshot{}) },
	"PutSnapshot, no site": func(db *DB) error { return db.PutSnapshot("", &robots.Snapshot{}) },
	"PutLicense":           func(db *DB) error { return db.PutLicense(urlOf("http://a.example/l"), &robots.Snapshot{}) },
	"PutLicense, no URL":   func(db *DB) error { return db.PutLicense(frontier.URL{}, &robots.Snapshot{}) },
	"PutVisit, zero":       func(db *DB) error { _, err := db.PutVisit(&Visit{}); return err },
	"Submit, zero":         func(db *DB) error { return db.Submit(frontier.Completion{}) },
	"Submit, a link": func(db *DB) error {
		return db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: urlOf("http://a.example/2")}}})
	},
	"Read": func(db *DB) error {
		_, err := db.Read("http://a.example", time.Time{}, make([]frontier.Entry, 3))
		return err
	},
	"Read, nil":      func(db *DB) error { _, err := db.Read("no site", time.Time{}, nil); return err },
	"ReadRequisites": func(db *DB) error { _, _, err := db.ReadRequisites("", time.Time{}, nil); return err },
	"Requeue":        func(db *DB) error { _, err := db.Requeue(func(frontier.Entry) bool { return false }); return err },
	"Capture, zero": func(db *DB) error {
		_, err := db.Capture(frontier.URL{}, frontier.Place{}, frontier.Place{})
		return err
	},
	"Capture, odd": func(db *DB) error {
		_, err := db.Capture(urlOf("http://a.example/"), frontier.Place{File: "../../etc/passwd", Offset: -1}, frontier.Place{File: "\x00"})
		return err
	},
	"License":  func(db *DB) error { _, err := db.License(frontier.URL{}); return err },
	"Get":      func(db *DB) error { _, err := db.Get("x", new(int)); return err },
	"Get, nil": func(db *DB) error { _, err := db.Get("never put", nil); return err },
	"Keys":     func(db *DB) error { return pairErrors(db.Keys("")) },
	"State":    func(db *DB) error { _, err := db.State("no site"); return err },
	"Sites":    func(db *DB) error { return pairErrors(db.Sites()) },
	"Common":   func(db *DB) error { return pairErrors(db.Common()) },
	"Entry":    func(db *DB) error { _, _, err := db.Entry(frontier.URL{}); return err },
	"Fate":     func(db *DB) error { _, _, err := db.Fate(frontier.URL{}); return err },
	"Snapshot": func(db *DB) error { _, err := db.Snapshot(""); return err },
	"Snapshots": func(db *DB) (failed error) {
		for _, err := range db.Snapshots("no site") {
			failed = errors.Join(failed, err)
		}
		return failed
	},
	"Queued, left": func(db *DB) error {
		for _, err := range db.Queued("http://a.example") {
			return err
		}
		return nil
	},
	"Entries, left": func(db *DB) error {
		for _, err := range db.Entries("http://a.example") {
			return err
		}
		return nil
	},
	"Names, left": func(db *DB) error {
		for _, err := range db.Names() {
			return err
		}
		return nil
	},
	"no errors": func(db *DB) error {
		db.Hasten()
		db.Hasten()
		_, _, _, _ = db.Grown(), db.Cluster(), db.LostLog(), db.Restarted()
		_, _, _ = db.Dir(), db.LastCommit(), db.Unclean()
		return nil
	},
}

// Each method of a DB is called with odd arguments, before and after Close. It returns an error
// or does what its comment says, and never hangs. Verify then finds no damage.
func TestEachMethodOfADB(t *testing.T) {
	for name, call := range dbMethods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				db := open(t, dir)
				if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: urlOf("http://a.example/1")}}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				first, second := call(db), call(db)
				if (first == nil) != (second == nil) {
					t.Errorf("%v, then %v", first, second)
				}
				if err := db.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				late := call(db)
				if _, writes := map[string]bool{"Put": true, "PutSnapshot": true, "PutLicense": true, "Submit, a link": true, "PutPrevious": true}[name]; writes && late == nil {
					t.Error("after Close: no error")
				}
				if err := db.Close(); !errors.Is(err, ErrClosed) {
					t.Errorf("Close again: %v", err)
				}
			})
			verified(t, dir)
			again := open(t, dir)
			if st, err := again.State("http://a.example"); err != nil || st.Queued < 1 {
				t.Errorf("%+v, %v", st, err)
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Methods of a Reader may be called after Close, and Close twice.
func TestAReaderAfterClose(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{nil, ErrClosed, ErrClosed} {
		if err := r.Close(); !errors.Is(err, want) {
			t.Errorf("Close: %v", err)
		}
	}
	for name, err := range map[string]error{
		"Get":     second(r.Get("x", new(int))),
		"Keys":    pairErrors(r.Keys("")),
		"State":   second(r.State("http://a.example")),
		"Sites":   pairErrors(r.Sites()),
		"Written": second(r.Written()),
		"Aside":   second(r.Aside()),
	} {
		if err == nil && name != "Written" && name != "Aside" {
			t.Errorf("%s after Close: no error", name)
		}
	}
	r.LogMark()
	for range r.Names() {
	}
	for range r.Queued("http://a.example") {
	}
}

func second[T any](_ T, err error) error { return err }

// Each function returns an error for a directory that is missing or has no crawl, and changes
// nothing.
func TestFunctionsWithoutACrawl(t *testing.T) {
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(dir string) error{
		"OpenReader": func(dir string) error { _, err := OpenReader(dir); return err },
		"OpenPast":   func(dir string) error { _, err := OpenPast(dir); return err },
		"Verify":     func(dir string) error { _, err := Verify(t.Context(), dir, nil); return err },
		"MakeIndex":  func(dir string) error { _, err := MakeIndex(t.Context(), dir, nil); return err },
		"NewRepair":  func(dir string) error { _, err := NewRepair(t.Context(), dir, RepairOptions{}); return err },
		"Purge.Plan": func(dir string) error { _, err := (&Purge{}).Plan(t.Context(), dir); return err },
		"Purge.Run":  func(dir string) error { _, err := (&Purge{}).Run(t.Context(), dir); return err },
		"ReadPages":  func(dir string) error { return pairErrors(ReadPages(context.Background(), dir)) },
		"ReadLinks":  func(dir string) error { return pairErrors(ReadLinks(context.Background(), dir)) },
		"others": func(dir string) error {
			_, _, _, _ = Behind(dir), Previous(dir), Remains(dir), second(ArchiveFiles(dir))
			_, _ = Holder(dir)
			_, _ = ReadRun(dir)
			_, _ = UnfinishedPurge(dir)
			_, _ = FinishRepair(dir)
			_ = NotBegun(dir) // NotBegun returns nil for a missing directory
			_, _ = LocatePrevious(dir, dir)
			return errors.New("any")
		},
	} {
		for where, dir := range map[string]string{"nothing": filepath.Join(empty, "none"), "empty": empty, "a file": file, "below a file": filepath.Join(file, "x"), "a device": os.DevNull, "a NUL": "\x00"} {
			func() {
				defer func() {
					if v := recover(); v != nil {
						t.Errorf("%s of %s panics: %v", name, where, v)
					}
				}()
				if err := f(dir); err == nil {
					t.Errorf("%s of %s: no error", name, where)
				}
			}()
		}
	}
	if left, _ := os.ReadDir(empty); len(left) > 0 {
		t.Errorf("%d files in the empty directory", len(left))
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "x" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// The methods of zero values return zero values or errors.
func TestZeroValuesOfTheStorage(t *testing.T) {
	for _, err := range []error{&IndexError{}, &MissingAnswerError{}, &NotBegunError{}, &PurgeError{}, &RepairError{}, &DamagedError{}, &InUseError{}} {
		func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("%T panics: %v", err, v)
				}
			}()
			if err.Error() == "" {
				t.Errorf("%T has no text", err)
			}
			errors.Is(err, io.EOF)
		}()
	}
	if !new(Purged).None() {
		t.Error("the zero Purged has taken something")
	}
	_ = UsageRecord{}.String()
	for _, text := range []string{"", "\x00", strings.Repeat("x", 1<<16), "a=b;c", ";;;"} {
		ParseUsage(text)
		new(Text).UnmarshalText([]byte(text))
		OutputName(text)
	}
	UpdatedHeader(nil, nil)
	UpdatedHeader(http.Header{}, nil)
	PurgedAnswer(&warc.Record{})
	RepeatedAnswer(&warc.Record{})
	if DiskFull(nil) || DiskFull(io.EOF) {
		t.Error("no error is a full disk")
	}
	PurgedFate(frontier.Fate{})
}
