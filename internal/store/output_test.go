package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// openOutput truncates a file to its committed length. It does not create a missing file that
// has committed bytes.
func TestAnOutputIsOpenedAsItWasCommitted(t *testing.T) {
	for _, c := range []struct {
		has    string // contents of the file; "-": the file is missing
		length int64
		want   string // contents after openOutput; "": openOutput returns a *DamagedError
	}{
		{"-", 0, "|"}, {"-", 1, ""}, {"", 1, ""}, {"abc", 4, ""}, {"abc", 3, "abc|"}, {"abc", 1, "a|"}, {"abc", 0, "|"},
	} {
		path := filepath.Join(t.TempDir(), "output")
		if c.has != "-" {
			if err := os.WriteFile(path, []byte(c.has), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		o, err := openOutput(path, state.Mark{Length: c.length}, disk.Disk{})
		if c.want == "" {
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.Path != path {
				t.Errorf("%q of %d bytes: %v", c.has, c.length, err)
			}
			if raw, err := os.ReadFile(path); c.has == "-" && !errors.Is(err, fs.ErrNotExist) || c.has != "-" && string(raw) != c.has {
				t.Errorf("%q of %d bytes is now %q, %v", c.has, c.length, raw, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q of %d bytes: %v", c.has, c.length, err)
			continue
		}
		at, err := o.append([]byte("|"))
		raw, rerr := os.ReadFile(path)
		if err := errors.Join(err, rerr); err != nil || at != c.length || string(raw)+"|" != c.want {
			t.Errorf("%q of %d bytes before a flush: %q, at %d, %v", c.has, c.length, raw, at, err)
		}
		err = o.flush()
		raw, rerr = os.ReadFile(path)
		if err := errors.Join(err, rerr, o.file.Close()); err != nil || string(raw) != c.want {
			t.Errorf("%q of %d bytes: %q, want %q, %v", c.has, c.length, raw, c.want, err)
		}
	}
	dir := t.TempDir()
	var damaged *DamagedError
	for _, length := range []int64{0, 1} {
		if _, err := openOutput(dir, state.Mark{Length: length}, disk.Disk{}); err == nil || errors.As(err, &damaged) {
			t.Errorf("a directory with %d committed bytes: %v", length, err)
		}
	}
}

// The committed part of a file must end with a newline, because a run appends lines to it.
func TestALineThatIsNotWholeIsDamage(t *testing.T) {
	for _, c := range []struct {
		has    string // contents of the file; "-": the file is missing
		length int64
		want   string
	}{
		{"-", 0, ""}, {"-", 2, "no such file"}, {"a\nb\n", 4, ""}, {"a\nb\n", 2, ""}, {"a\nb\n", 3, "no line ends at byte 3, where"},
		{"a\nb\n", 1, "no line ends at byte 1"}, {"a\nb\n", 5, "shorter than the 5 bytes that"}, {"a\nb", 0, ""},
	} {
		path := filepath.Join(t.TempDir(), "output")
		if c.has != "-" {
			if err := os.WriteFile(path, []byte(c.has), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		err := wholeLine(path, state.Mark{Length: c.length})
		var damaged *DamagedError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &damaged) || damaged.Path != path || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q of %d bytes: %v, want %q", c.has, c.length, err, c.want)
		}
	}
}

// A marking counts the bytes that were read or written before an error.
func TestAMarkIsOfWhatHasPassed(t *testing.T) {
	broken := errors.New("broken")
	whole := state.Mark{}.Plus([]byte("abc"))
	in := &marking{r: io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken))}
	if raw, err := io.ReadAll(in); string(raw) != "abc" || err != broken || !in.Same(whole) {
		t.Errorf("%q, %v, %+v", raw, err, in.Mark)
	}
	var b bytes.Buffer
	out := &marking{w: &b}
	if n, err := io.WriteString(out, "abc"); n != 3 || err != nil || !out.Same(whole) || b.String() != "abc" {
		t.Errorf("%d bytes, %v, %+v", n, err, out.Mark)
	}
	out.w = failing{broken}
	if n, err := io.WriteString(out, "abc"); n != 0 || err != broken || !out.Same(whole) {
		t.Errorf("%d bytes, %v, %+v", n, err, out.Mark)
	}
}

// failing is a writer that always fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// cutTail truncates an output that this run does not write.
func TestATailIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "output")
	broken := errors.New("no sync")
	failing := disk.Disk{Before: func(string) error { return broken }}
	if err := cutTail(path, 3, failing); err != nil {
		t.Errorf("a file that is missing: %v", err)
	}
	for length, want := range map[int64]string{0: "", 2: "ab", 3: "abc", 4: "abc"} {
		for _, d := range []disk.Disk{{}, failing} {
			if err := os.WriteFile(path, []byte("abc"), 0o644); err != nil {
				t.Fatal(err)
			}
			err := cutTail(path, length, d)
			if cut := length < 3 && d.Before != nil; (err != nil) != cut || cut && !errors.Is(err, broken) {
				t.Errorf("cut to %d bytes: %v", length, err)
			}
			if raw, err := os.ReadFile(path); string(raw) != want || err != nil {
				t.Errorf("cut to %d bytes: %q, %v", length, raw, err)
			}
		}
	}
	if err := cutTail(filepath.Join(path, "x"), 0, disk.Disk{}); err == nil {
		t.Error("a file below a file is cut")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cutTail(dir, 0, disk.Disk{}); err == nil {
		t.Error("a directory is cut")
	}
}

// If an output cannot be opened, Open returns an error with its path and closes the other
// files.
func TestAnOutputThatCannotBeOpenedRefusesTheCrawl(t *testing.T) {
	all := Options{Gather: -1, Archive: &Archive{}, Links: true}
	whole, err := Open(t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	visitOf(t, whole, 1)
	if err := whole.Submit(frontier.Completion{Links: visited(t, 1)}); err != nil {
		t.Fatal(err)
	}
	settle(t, whole, 1)
	killed := crash(t, whole.Dir())
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{whole.Dir(), killed} {
		for _, name := range []string{PagesFile, LinksFile, indexPart, LogFile, ArchiveDir} {
			for what, spoil := range map[string]func(path string) error{
				"a directory": func(path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o755) },
				"a loop":      func(path string) error { return os.Symlink(filepath.Base(path), path) },
				"a file":      func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) },
			} {
				if name == ArchiveDir && what == "a directory" || name != ArchiveDir && what == "a file" {
					continue
				}
				dir := crash(t, from)
				path := filepath.Join(dir, name)
				if err := errors.Join(os.RemoveAll(path), spoil(path)); err != nil {
					t.Skip("no loop can be made here: ", err)
				}
				db, err := Open(dir, all)
				if err == nil {
					db.Close()
				}
				if err == nil && (name != indexPart || what == "a directory") {
					t.Errorf("%s is %s, unclean %v: opened all the same", name, what, from == killed)
				} else if err != nil && !strings.Contains(err.Error(), name) {
					t.Errorf("%s is %s: %v", name, what, err)
				}
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				var held *InUseError
				if db, err := Open(dir, all); err == nil {
					db.Close()
				} else if errors.As(err, &held) {
					t.Errorf("%s was %s: %v", name, what, err)
				}
			}
		}
	}
}

// If a page or a link cannot be encoded, PutVisit writes no part of the visit.
func TestAPageThatCannotBeWrittenIsRefused(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	beyond := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) // RFC 3339 has four digits for the year
	v := &Visit{Page: &PageRecord{URL: "http://a.example/", Time: beyond}, Links: []LinkRecord{{From: "http://a.example/", To: "http://a.example/1"}}}
	if _, err := db.PutVisit(v); err == nil {
		t.Error("a page of the year 10000 is written")
	}
	if p, l := db.outputs.pages.mark(), db.outputs.links.mark(); p.Length > 0 || l.Length > 0 {
		t.Errorf("%d bytes of pages, %d of links", p.Length, l.Length)
	}
	visitOf(t, db, 1)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	verified(t, db.Dir())
}

// If an exchange cannot be encoded as WARC records, refused has an error with its URL, and the
// rest of the visit is written.
func TestAnExchangeThatCannotBeArchivedIsNamed(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	good := func() *warc.HTTP {
		return &warc.HTTP{StartLine: warc.StatusLine(200), Body: bytes.Repeat([]byte("x"), smallPayload-1)}
	}
	bad := &warc.HTTP{StartLine: "two\r\nlines"}
	archived := &warc.Exchange{URL: "http://a.example/1", Date: now, Response: good()}
	all := []*warc.Exchange{
		{URL: "http://a.example/none", Date: now, Request: bad},
		{URL: "http://a.example/bad", Date: now, Response: bad},
		{URL: "http://a.example/two\nlines", Date: now, Response: good()},
		{URL: "http://a.example/half", Date: now, Response: good(), Request: bad},
		archived,
	}
	v := &Visit{Exchanges: all, Answer: archived, Page: &PageRecord{URL: archived.URL, Time: now, Status: 200}}
	refused, err := db.PutVisit(v)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, r := range refused {
		url, bad, ok := strings.Cut(strings.TrimPrefix(r.Error(), "archive "), ": ")
		urls = append(urls, url)
		if !ok || errors.Unwrap(r) == nil || bad != errors.Unwrap(r).Error() {
			t.Errorf("%s: %v", url, r)
		}
	}
	if want := "http://a.example/none http://a.example/bad http://a.example/two\nlines"; strings.Join(urls, " ") != want {
		t.Errorf("refused are %q", urls)
	}
	if v.Place.File == "" || v.Place.File != v.Page.WARC || v.Place.Offset != v.Page.Offset || v.Page.Length == 0 {
		t.Errorf("%+v, page %+v", v.Place, v.Page)
	}
	// The same holds for a visit without a page.
	alone := &Visit{Exchanges: []*warc.Exchange{{URL: "http://a.example/2", Date: now, Response: good()}}}
	alone.Answer = alone.Exchanges[0]
	if refused, err := db.PutVisit(alone); err != nil || len(refused) > 0 || alone.Place.File != v.Place.File || alone.Place.Offset <= v.Place.Offset {
		t.Errorf("%+v, %v, %v", alone.Place, refused, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, db.Dir()); v.Records != 4 { // this includes the warcinfo record
		t.Errorf("%+v", v)
	}
}

// PutVisit returns an error after a failed commit, and after Close.
func TestAVisitThatComesTooLateIsRefused(t *testing.T) {
	broken := errors.New("no sync")
	var fail atomic.Bool
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}, disk: disk.Disk{Before: func(string) error {
		if fail.Load() {
			return broken
		}
		return nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	put := func() ([]error, error) {
		x := &warc.Exchange{URL: "http://a.example/", Date: time.Now(), Response: &warc.HTTP{StartLine: warc.StatusLine(200), Body: make([]byte, smallPayload)}}
		return db.PutVisit(&Visit{Exchanges: []*warc.Exchange{x}, Answer: x})
	}
	fail.Store(true)
	visitOf(t, db, 1)
	if err := db.Submit(frontier.Completion{}); err != nil && !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if g := <-db.Grown(); !errors.Is(g.Err, broken) {
		t.Errorf("%+v", g)
	}
	if refused, err := put(); !errors.Is(err, broken) || len(refused) > 0 {
		t.Errorf("after a commit that failed: %v, %v", refused, err)
	}
	if err := db.Close(); !errors.Is(err, broken) {
		t.Errorf("Close: %v", err)
	}
	if refused, err := put(); err == nil || len(refused) > 0 {
		t.Errorf("after Close: %v, %v", refused, err)
	}
}

// A new WARC file gets a name that no other file has, finished or not. If there is no free
// name, the error says so.
func TestAWARCFileIsBegunUnderAFreeName(t *testing.T) {
	now := time.Unix(0, 0)
	a, err := newArchive(filepath.Join(t.TempDir(), "c"), Archive{}, disk.Disk{}, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c-19700101000000-00000.warc.gz", "c-19700101000000-00001.warc.gz.open"} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, at, err := a.append([]byte("records"))
	if file != "c-19700101000000-00002.warc.gz" || at == 0 || err != nil {
		t.Errorf("%s, %d, %v", file, at, err)
	}
	if again, next, err := a.append([]byte("records")); again != file || next != at+int64(len("records")) || err != nil {
		t.Errorf("%s, %d, %v", again, next, err)
	}
	a.abandon()

	a.files, a.prefix = nil, strings.Repeat("x", 300) // longer than any file system allows
	if file, at, err := a.append(nil); err == nil || errors.Is(err, fs.ErrNotExist) || file != "" || at != 0 {
		t.Errorf("a name that is too long: %q, %d, %v", file, at, err)
	}
	a.prefix = "c"
	if err := os.RemoveAll(a.dir); err != nil {
		t.Fatal(err)
	}
	if file, at, err := a.append(nil); !errors.Is(err, fs.ErrNotExist) || file != "" || at != 0 {
		t.Errorf("no directory: %q, %d, %v", file, at, err)
	}
	s := &outputs{archive: a}
	r := &record{ofPage: true}
	if err := s.put([]*record{r}, &PageRecord{}, nil, nil, nil); !errors.Is(err, fs.ErrNotExist) || r.at.File != "" {
		t.Errorf("put: %+v, %v", r.at, err)
	}
}

// If a WARC file cannot be truncated or renamed, the error has its path.
func TestAWARCFileThatCannotGetItsNameIsTold(t *testing.T) {
	for what, spoil := range map[string]func(a *archive, path string) error{
		"":                nil,
		"closed":          func(a *archive, _ string) error { return a.files[0].file.Close() },
		"gone":            func(_ *archive, path string) error { return os.Remove(path + openSuffix) },
		"in the way":      func(_ *archive, path string) error { return os.MkdirAll(filepath.Join(path, "x"), 0o755) },
		"not to be found": func(a *archive, _ string) error { return os.Rename(a.dir, a.dir+".away") },
	} {
		for end, give := range map[string]func(a *archive) error{
			"finish": func(a *archive) error { return a.finish(a.files) },
			"close":  func(a *archive) error { return a.close(state.Marks{a.files[0].name: a.files[0].mark()}) },
			"empty":  func(a *archive) error { return a.close(nil) },
		} {
			a, err := newArchive(filepath.Join(t.TempDir(), "c"), Archive{}, disk.Disk{}, time.Unix(0, 0))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := a.append([]byte("x")); err != nil {
				t.Fatal(err)
			}
			o := a.files[0]
			if err := o.flush(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(a.dir, filepath.Base(o.name))
			if spoil != nil {
				if err := spoil(a, path); err != nil {
					t.Skip("a file that is open cannot be moved here: ", err)
				}
			}
			err = give(a)
			bad := spoil != nil && !(end == "empty" && what == "in the way")
			if (err != nil) != bad {
				t.Errorf("%q, %s: %v", what, end, err)
			}
			if _, err := os.Stat(path); what == "" && (err == nil) == (end == "empty") {
				t.Errorf("%s: the file: %v", end, err)
			}
			if _, err := os.Stat(path + openSuffix); what == "" && err == nil {
				t.Errorf("%s: the file has its old name, too", end)
			}
		}
	}
}
