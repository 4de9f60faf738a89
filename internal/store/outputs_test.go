package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// visitOf writes a visit of the n-th page of a site, with two links and a line of crawl.log.
func visitOf(t testing.TB, db *DB, n int) {
	t.Helper()
	now, url := time.Now().UTC().Truncate(time.Millisecond), fmt.Sprintf("http://a.example/%d", n)
	if err := db.Log().Write(&crawllog.Line{Time: now, Start: now, Status: 200, URL: url}); err != nil {
		t.Error(err)
	}
	x := &warc.Exchange{URL: url, Date: now, Response: &warc.HTTP{
		StartLine: warc.StatusLine(200), Header: http.Header{}, Coding: warc.Unchunked, Body: fmt.Appendf(nil, "%0500d", n),
	}}
	v := &Visit{
		Exchanges: []*warc.Exchange{x}, Answer: x, Page: &PageRecord{URL: url, Time: now, Status: 200},
		Links: []LinkRecord{{From: url, To: url + "/1"}, {From: url, To: url + "/2"}},
	}
	if refused, err := db.PutVisit(v); err != nil || len(refused) > 0 {
		t.Error(err, refused)
	}
}

// fits checks that the committed parts of the outputs in dir do not contradict each other.
// known has their marks; a WARC file without a mark is read to its end. fits returns the URLs
// of the pages.
func fits(t testing.TB, dir string, known state.Marks) (pages []string) {
	t.Helper()
	read := func(name string) []byte {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || int64(len(raw)) < known[name].Length {
			t.Errorf("%s: %d bytes, want at least %d, %v", name, len(raw), known[name].Length, err)
			return nil
		}
		return raw[:known[name].Length]
	}
	var from []string
	for line := range bytes.Lines(read(LinksFile)) {
		var l LinkRecord
		if err := json.Unmarshal(line, &l); err != nil {
			t.Error(err)
		}
		from = append(from, l.From)
	}
	index := read(indexPart)
	for line := range bytes.Lines(read(PagesFile)) {
		var p PageRecord
		if err := json.Unmarshal(line, &p); err != nil {
			t.Error(err)
		}
		m, growing := known[archiveKey(p.WARC)]
		end := m.Length
		if !growing {
			whole, err := filepath.Glob(filepath.Join(dir, archiveKey(p.WARC)+"*"))
			if err != nil || len(whole) != 1 {
				t.Errorf("%s: %v, %v", p.WARC, whole, err)
				continue
			}
			info, err := os.Stat(whole[0])
			if err != nil {
				t.Error(err)
				continue
			}
			end = info.Size()
		}
		if p.Offset+p.Length > end {
			t.Errorf("%s is at %d+%d of %s, which has %d committed bytes", p.URL, p.Offset, p.Length, p.WARC, end)
		}
		if !bytes.Contains(index, []byte(p.URL+`"`)) {
			t.Errorf("%s is not in the index", p.URL)
		}
		for range 2 {
			if len(from) == 0 || from[0] != p.URL {
				t.Errorf("%s: its edges are not the next ones", p.URL)
				continue
			}
			from = from[1:]
		}
		pages = append(pages, p.URL)
	}
	if len(from) > 0 {
		t.Errorf("edges of %s, which is no page", from[0])
	}
	return pages
}

// After a kill, Open also truncates outputs that the new run does not write.
func TestOutputsThatAreNotWrittenAnyMoreAreCut(t *testing.T) {
	all := Options{Archive: &Archive{}, Links: true}
	db, err := Open(t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	visitOf(t, db, 1)
	if err := db.Submit(frontier.Completion{Links: visited(t, 1)}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	for name, opts := range map[string]Options{
		"none": {NoPages: true}, "pages": {}, "links": {NoPages: true, Links: true}, "archive": {NoPages: true, Archive: &Archive{}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := crash(t, db.dir)
			for _, name := range []string{PagesFile, LinksFile, indexPart} {
				raw, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil || len(raw) == 0 {
					t.Fatal(name, len(raw), err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), append(raw, "what was not committed"...), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, opts := range []Options{opts, all} {
				next, err := Open(dir, opts)
				if err != nil {
					t.Fatal(err)
				}
				if err := next.Close(); err != nil {
					t.Fatal(err)
				}
				verified(t, dir)
			}
		})
	}
}

// The name of a crawl's directory may be as long as the system allows.
func TestLongNamesOfCrawls(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("a", 249)+".crawl")
	db, err := Open(dir, Options{Archive: &Archive{}, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	visitOf(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if pages := fits(t, dir, db.state.Marks()); len(pages) != 1 {
		t.Errorf("pages %v", pages)
	}
}

// If a WARC file cannot be created, no incomplete file is left.
func TestAnArchiveThatCannotBegin(t *testing.T) {
	a, err := newArchive(t.TempDir(), Archive{Info: warc.Info{Software: "a\nb"}}, disk.Disk{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.append(nil); err == nil {
		t.Error("a field of two lines is taken")
	}
	if left, err := os.ReadDir(a.dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// visited returns entries with the URLs of the first n pages that visitOf writes.
func visited(t testing.TB, n int) (all []frontier.Entry) {
	for i := range n {
		all = append(all, entry(t, fmt.Sprintf("http://a.example/%d", i+1)))
	}
	return all
}

// Visits are written between any two steps of a commit. The commit has all outputs of a visit
// or none.
func TestACommitHoldsWholeVisits(t *testing.T) {
	var db *DB
	var n, commits atomic.Int64
	known := visited(t, 120)
	opts := Options{Archive: &Archive{MaxSize: 5000}, Links: true, Gather: -1}
	opts.disk.Before = func(string) error {
		if db != nil && n.Load() < 100 {
			visitOf(t, db, int(n.Add(1)))
		}
		return nil
	}
	opts.fault = func(err error) error {
		commits.Add(1)
		fits(t, db.dir, db.state.Marks())
		return err
	}
	opened, err := Open(t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	db = opened
	for range 12 {
		visitOf(t, db, int(n.Add(1)))
		if err := db.Submit(frontier.Completion{Links: known}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if pages := fits(t, db.dir, db.state.Marks()); len(pages) < 30 || commits.Load() < 12 {
		t.Errorf("%d pages in %d commits", len(pages), commits.Load())
	}
	verified(t, db.dir)
}

// Many goroutines write visits. All outputs have the visits in the same order.
func TestOutputsHaveOneOrder(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Archive: &Archive{}, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 50 {
				visitOf(t, db, 100*w+i)
			}
		})
	}
	all.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if pages := fits(t, db.dir, db.state.Marks()); len(pages) != 400 {
		t.Errorf("%d pages", len(pages))
	}
}

// A forgetful disk is a disk that loses power: the names in a directory survive only if the
// directory was synced, and the contents of a file only if the file was.
type forgetful struct {
	t     *testing.T
	mu    sync.Mutex
	files []*syncedFile
	names map[string]map[string]fs.FileInfo // names and files of each directory as of its last sync, by path
	held  []fs.FileInfo                     // open files, so that the system does not reuse their inodes
}

// hold opens the file, so that the system does not reuse its inode for a new file after its
// name is removed. Windows never reuses them.
func (d *forgetful) hold(path string, info fs.FileInfo) error {
	if runtime.GOOS == "windows" || info.IsDir() || slices.ContainsFunc(d.held, func(h fs.FileInfo) bool { return os.SameFile(h, info) }) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	d.held = append(d.held, info)
	d.t.Cleanup(func() { f.Close() })
	return nil
}

// A syncedFile is the contents of a file at its last sync.
type syncedFile struct {
	info fs.FileInfo
	raw  []byte
}

func (d *forgetful) file(info fs.FileInfo) *syncedFile {
	for _, f := range d.files {
		if os.SameFile(f.info, info) {
			return f
		}
	}
	f := &syncedFile{info: info}
	d.files = append(d.files, f)
	return f
}

// before records what is on disk after a sync of the file or directory at path.
func (d *forgetful) before(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		d.file(info).raw, err = os.ReadFile(path)
		return errors.Join(err, d.hold(path, info))
	}
	list, err := os.ReadDir(path)
	names := map[string]fs.FileInfo{}
	for _, e := range list {
		info, ierr := e.Info()
		if err = errors.Join(err, ierr); err == nil {
			names[e.Name()] = info
			err = d.hold(filepath.Join(path, e.Name()), info)
		}
	}
	d.names[path] = names
	return err
}

// cut returns a copy of dir as it would be after a power cut. It assumes that everything that
// bbolt has synced is on disk.
func (d *forgetful) cut(dir string) string {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	to := d.t.TempDir()
	var restore func(path, to string)
	restore = func(path, to string) {
		for name, info := range d.names[path] {
			at := filepath.Join(path, name)
			if info.IsDir() {
				if err := os.Mkdir(filepath.Join(to, name), 0o755); err != nil {
					d.t.Fatal(err)
				}
				restore(at, filepath.Join(to, name))
				continue
			}
			raw := d.file(info).raw
			if name == StateFile {
				var err error
				if raw, err = os.ReadFile(at); err != nil {
					d.t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(to, name), raw, 0o644); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	restore(dir, to)
	return to
}

// Power is cut after any commit. Everything that the commit refers to is on disk, including the
// WARC records, and the next run reports that the last one was not closed.
func TestAPowerCutAfterAnyCommit(t *testing.T) {
	d := &forgetful{t: t, names: map[string]map[string]fs.FileInfo{}}
	dir := t.TempDir()
	var db *DB
	opts := Options{Archive: &Archive{MaxSize: 1500}, Links: true, Gather: -1, disk: disk.Disk{Before: d.before}}
	after := func() []string {
		t.Helper()
		again, err := Open(d.cut(dir), Options{Archive: &Archive{}, Links: true, Gather: -1})
		if err != nil {
			t.Errorf("after a power cut: %v", err)
			return nil
		}
		if !again.Unclean() || again.LostLog() != 0 {
			t.Errorf("after a power cut: unclean %v, %d bytes of %s lost", again.Unclean(), again.LostLog(), LogFile)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		pages := fits(t, again.dir, again.state.Marks())
		raw, err := os.ReadFile(filepath.Join(again.dir, LogFile))
		if err != nil {
			t.Error(err)
		}
		for _, url := range pages {
			if !bytes.Contains(raw, []byte(" "+url+" ")) {
				t.Errorf("%s is committed, and not in %s", url, LogFile)
			}
		}
		verified(t, again.dir)
		return pages
	}
	known := visited(t, 8)
	var safe atomic.Int64
	opts.fault = func(err error) error {
		if acknowledged := int(safe.Load()); db != nil && len(after()) < acknowledged {
			t.Errorf("%d pages were safe, and are not any more", acknowledged)
		}
		return err
	}
	opened, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	db = opened
	for n := range 8 {
		visitOf(t, db, n+1)
		if err := db.Submit(frontier.Completion{Links: known}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
		safe.Add(1)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cut := d.cut(dir)
	for _, name := range []string{IndexFile, PagesFile, LinksFile, LogFile} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		is, err2 := os.ReadFile(filepath.Join(cut, name))
		if err != nil || err2 != nil || !bytes.Equal(want, is) || len(is) == 0 {
			t.Errorf("%s after Close and a power cut: %d of %d bytes, %v, %v", name, len(is), len(want), err, err2)
		}
	}
	if _, err := ReadRun(cut); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s after Close and a power cut: %v", RunFile, err)
	}
	files, err := filepath.Glob(filepath.Join(cut, ArchiveDir, "*"+archiveFile))
	if slices.Sort(files); err != nil || len(files) < 2 {
		t.Errorf("files %v, %v", files, err)
	}
	verified(t, cut)
}

// If a file cannot be synced, no commit has a mark for what was written to it.
func TestNoLengthWithoutASync(t *testing.T) {
	broken := errors.New("no sync")
	for _, name := range []string{PagesFile, LinksFile, indexPart, LogFile, ArchiveDir, archiveFile + openSuffix} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Archive: &Archive{}, Links: true, Gather: -1}
			var armed atomic.Bool
			opts.disk.Before = func(path string) error {
				if armed.Load() && (filepath.Base(path) == name || len(name) > len(openSuffix) && bytes.HasSuffix([]byte(path), []byte(name))) {
					return broken
				}
				return nil
			}
			db, err := Open(t.TempDir(), opts)
			if err != nil {
				t.Fatal(err)
			}
			armed.Store(true)
			visitOf(t, db, 1)
			if err := db.Submit(frontier.Completion{}); err != nil && !errors.Is(err, broken) { // if Submit returns no error, a later call returns broken
				t.Fatal(err)
			}
			if g := <-db.Grown(); !errors.Is(g.Err, broken) {
				t.Errorf("%+v, want an error", g)
			}
			if err := db.Close(); !errors.Is(err, broken) {
				t.Errorf("Close: %v", err)
			}
			again := open(t, db.dir)
			for name, m := range again.state.Marks() {
				if m.Length > 0 {
					t.Errorf("%d bytes of %s count", m.Length, name)
				}
			}
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
