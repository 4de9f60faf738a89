package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// broad makes a state file so large that its buckets have branch pages, and returns its path.
func broad(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	db, err := start(dir, Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		var links []frontier.Entry
		for k := range 2000 {
			links = append(links, entry(t, fmt.Sprintf("http://h%d-%d.example/%d", i, k%400, k)))
		}
		if err := db.Submit(frontier.Completion{Links: links}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// useIt opens the crawl in dir, and reads and writes it as a run does.
func useIt(dir string) error {
	db, err := start(dir, Options{Gather: -1})
	if err != nil {
		return err
	}
	err = pairErrors(db.Sites())
	for i := range 20 {
		u, perr := frontier.ParseURL(fmt.Sprintf("http://h1-%d.example/%d", 13*i, 13*i))
		if perr != nil {
			return perr
		}
		_, _, ferr := fateFor(db, u)
		_, rerr := db.Read(u.Site(), time.Now(), make([]frontier.Entry, 3))
		serr := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}})
		err = errors.Join(err, ferr, rerr, serr)
	}
	return errors.Join(err, db.Close())
}

// A bit flips in a page that refers to other pages. A run then reports the damage or continues,
// but the process neither ends nor hangs.
func TestABrokenStateFileEndsNoProcess(t *testing.T) {
	dir := broad(t)
	path := filepath.Join(dir, File)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	var heads, leads []int // offsets of the headers of all pages, and of the references in branch pages and free lists
	for at := 0; at+page <= len(whole); at += page {
		flags := binary.NativeEndian.Uint16(whole[at+8:])
		if id := binary.NativeEndian.Uint64(whole[at:]); id != uint64(at/page) {
			continue
		}
		heads = append(heads, at)
		if flags == branchPage || flags == freelistPage {
			leads = append(leads, at)
		}
	}
	if len(leads) < 4 {
		t.Fatalf("%d branches and free lists", len(leads))
	}
	r := rand.New(rand.NewPCG(3, 4))
	var steps atomic.Int64
	done := make(chan struct{})
	bad := 0
	// The goroutine ends after the last flip. If a flip hangs, it ends with the test.
	go func() {
		defer close(done)
		for i := range 60 {
			b := bytes.Clone(whole)
			at := heads[r.IntN(len(heads))] + r.IntN(pageHeader)
			if i%3 > 0 {
				at = leads[r.IntN(len(leads))] + r.IntN(200)
			}
			b[at] ^= 1 << r.IntN(8)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Error(err)
				return
			}
			os.Remove(filepath.Join(dir, RunFile))
			err := useIt(dir)
			var damaged *DamagedError
			if err != nil && !errors.As(err, &damaged) {
				t.Errorf("bit of byte %d of page %d: %v, want a *DamagedError", at%page, at/page, err)
			}
			if err != nil {
				bad++
			}
			steps.Add(1)
		}
	}()
	<-done
	t.Logf("%d of 60 are noticed", bad)
	if bad < 10 {
		t.Errorf("%d of 60 are noticed", bad)
	}
}

// A cycle of pages is reported as damage. bbolt itself would recurse until the process ends.
func TestACircleOfPagesIsDamage(t *testing.T) {
	dir := broad(t)
	path := filepath.Join(dir, File)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, found := os.Getpagesize(), false
	for at := 2 * page; at+page <= len(b); at += page {
		id := binary.NativeEndian.Uint64(b[at:])
		if id == uint64(at/page) && binary.NativeEndian.Uint16(b[at+8:]) == branchPage {
			binary.NativeEndian.PutUint64(b[at+pageHeader+8:], id)
			found = true
		}
	}
	if !found {
		t.Fatal("there is no branch")
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if err := useIt(dir); !errors.As(err, &damaged) || damaged.Path != path {
		t.Errorf("%v, want a *DamagedError of %s", err, path)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, b) {
		t.Errorf("the damaged file was changed: %v", err)
	}
}

// A transaction has panicked while bbolt's own lock was held. Close still returns, and other
// processes can open the file.
func TestCloseAfterAPanicInACommit(t *testing.T) {
	dir := filled(t)
	var db *DB
	var armed atomic.Bool
	opened, err := start(dir, Options{Gather: -1, Fault: func(err error) error {
		if armed.Load() {
			if _, err := db.file.bolt.Begin(true); err != nil {
				t.Error(err)
			}
			panic("a page is not what bbolt wrote")
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	db = opened
	armed.Store(true)
	if err := db.Submit(frontier.Completion{}); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if g := <-db.Grown(); !errors.As(g.Err, &damaged) {
		t.Errorf("%+v, want a *DamagedError", g)
	}
	done := make(chan struct{})
	// The goroutine ends with Close.
	go func() {
		defer close(done)
		if err := db.Close(); !errors.As(err, &damaged) {
			t.Errorf("Close: %v", err)
		}
	}()
	<-done
	if _, _, err := fateFor(db, entry(t, "http://a.example/").URL); !errors.Is(err, ErrClosed) {
		t.Errorf("Fate after Close: %v", err)
	}
	again := open(t, dir)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	checked(t, dir)
}

// StartAgain truncates a state file that was never written completely, and no other file.
func TestWhatWasNeverWholeIsEmptied(t *testing.T) {
	whole := firstPages * os.Getpagesize()
	for size, want := range map[int]int64{0: 0, 1: 0, whole - 1: 0, whole: int64(whole), whole + 1: int64(whole + 1)} {
		dir := t.TempDir()
		path := filepath.Join(dir, File)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		if is := Unwritten(dir); is != (size < whole) {
			t.Errorf("%d bytes are unwritten: %v", size, is)
		}
		if err := StartAgain(dir); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != want {
			t.Errorf("%d bytes are now %v, %v", size, info, err)
		}
	}
	dir := t.TempDir()
	if err := StartAgain(dir); err != nil || Unwritten(dir) {
		t.Errorf("no file: %v", err)
	}
	path := filepath.Join(dir, File)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() >= int64(whole) {
		t.Skip("a directory is as large as a state here")
	}
	if err := StartAgain(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a directory: %v", err)
	}
}

// StartAgain does not truncate a short file of another program. It truncates a file that has
// only the beginning of a bbolt file.
func TestShortFilesOfOtherProgramsStay(t *testing.T) {
	whole := filepath.Join(broad(t), File)
	begin, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for text, ours := range map[string]bool{
		"": true, "\x00": true, strings.Repeat("\x00", 5000): true, string(begin[:1]): true, string(begin[:9]): true, string(begin[:19]): true, string(begin[:20]): true, string(begin[:9000]): true,
		"SQLite format 3\x00" + strings.Repeat("\x00", 8000): false, "x": false, "notes\n": false, string(begin[:16]) + "\x01": false, strings.Repeat("\x00", 19) + "\x01": false,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, File)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if Unwritten(dir) != ours {
			t.Errorf("%.30q: %v", text, !ours)
		}
		if err := StartAgain(dir); err != nil {
			t.Errorf("%.30q: %v", text, err)
		}
		if now, err := os.ReadFile(path); err != nil || (string(now) == text) == (ours && text != "") {
			t.Errorf("%.30q is %.30q now, %v", text, now, err)
		}
		if ours {
			continue
		}
		var damage *DamagedError
		if _, err := Open(dir, Options{}); !errors.As(err, &damage) {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

// The leaves of large buckets are checked by checkTree, but not when a run opens the file.
func TestLeavesAreLookedAtWhereAllIs(t *testing.T) {
	path := filepath.Join(broad(t), File)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	leaves := 0
	for at := 0; at < len(whole); at += os.Getpagesize() {
		if binary.NativeEndian.Uint16(whole[at+8:]) != leafPage || binary.NativeEndian.Uint64(whole[at:]) != uint64(at/os.Getpagesize()) {
			continue
		}
		raw := bytes.Clone(whole)
		binary.NativeEndian.PutUint16(raw[at+10:], 0xffff) // set the number of elements of the page
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		opened, all := preflight(path), checkTree(path)
		if opened != nil && all == nil {
			t.Errorf("page %d: only opening reports %v", at/os.Getpagesize(), opened)
		}
		if opened == nil && all != nil {
			leaves++
		}
	}
	if leaves < 10 {
		t.Errorf("%d leaves are checked only by a full check", leaves)
	}
}
