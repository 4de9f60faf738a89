package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// warcPrefix keeps letters, digits and characters that need no quoting in a shell.
func TestNamesOfArchives(t *testing.T) {
	for dir, want := range map[string]string{
		"azAZ09-._.crawl": "azAZ09-._", "a`{@[/:b": "_b", "a b`{@[:é": "a_b______", "x.crawl.crawl": "x.crawl",
	} {
		a, err := newArchive(filepath.Join(t.TempDir(), dir), Archive{}, disk.Disk{}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(a.prefix, "-19700101000000"); !strings.HasSuffix(got, want) || strings.ContainsAny(got, "/`{@[: ") {
			t.Errorf("%s is named %s, want %s", dir, got, want)
		}
	}
}

// warcPrefix cuts a long name in the middle, because the time at its end must stay.
func TestLongNamesOfArchives(t *testing.T) {
	a, b, end := strings.Repeat("a", 120), strings.Repeat("b", 120), "-19700101000000"
	for name, want := range map[string]string{
		a + b[:65]: a + b[:65] + end,       // 200 bytes: not cut
		a + b[:66]: a[:119] + b[:66] + end, // 201 bytes: cut
		a + b:      a[:100] + b[:85] + end,
	} {
		is, err := newArchive(filepath.Join(t.TempDir(), name), Archive{}, disk.Disk{}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		if is.prefix != want || is.opts.MaxSize != 1<<30 {
			t.Errorf("%s, of %d bytes, want %s", is.prefix, is.opts.MaxSize, want)
		}
	}
}

// LostLog counts the missing bytes of a log that was committed. Bytes after the committed
// length do not count.
func TestOnlyCommittedLinesAreLost(t *testing.T) {
	for name, damage := range map[string]func(path string, raw []byte) error{
		"whole":   func(string, []byte) error { return nil },
		"longer":  func(path string, raw []byte) error { return os.WriteFile(path, append(raw, raw...), 0o644) },
		"shorter": func(path string, raw []byte) error { return os.WriteFile(path, raw[:len(raw)/2], 0o644) },
		"gone":    func(path string, _ []byte) error { return os.Remove(path) },
	} {
		dir := t.TempDir()
		db := open(t, dir)
		for range 2 {
			if err := db.Log().Write(&crawllog.Line{Time: time.Unix(1893456000, 0), URL: "http://a.example/", Size: -1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, LogFile)
		raw, err := os.ReadFile(path)
		if err == nil {
			err = damage(path, bytes.Clone(raw))
		}
		if err != nil {
			t.Fatal(err)
		}
		db = open(t, dir)
		want := map[string]int{"shorter": len(raw) / 2, "gone": len(raw)}[name]
		if lost := db.LostLog(); lost != int64(want) {
			t.Errorf("%s: %d bytes of %d are lost, want %d", name, lost, len(raw), want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The second answer with the same payload becomes a revisit record, unless the payload is
// small, truncated, or belongs to an answer that is a revisit already.
func TestAPayloadThatIsKnownIsNotArchivedAgain(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Second)
	earlier := &warc.RevisitOf{Profile: warc.ServerNotModified, URL: "http://a.example/earlier", Date: at}
	for name, c := range map[string]struct {
		x     warc.Exchange
		again bool
	}{
		"small":            {warc.Exchange{Response: &warc.HTTP{Body: bytes.Repeat([]byte("s"), smallPayload-1)}}, false},
		"large":            {warc.Exchange{Response: &warc.HTTP{Body: bytes.Repeat([]byte("l"), smallPayload)}}, true},
		"cut":              {warc.Exchange{Response: &warc.HTTP{Body: bytes.Repeat([]byte("c"), smallPayload)}, Truncated: "length"}, false},
		"a revisit":        {warc.Exchange{Response: &warc.HTTP{Body: bytes.Repeat([]byte("r"), smallPayload)}, Revisit: earlier}, false},
		"another's digest": {warc.Exchange{Response: &warc.HTTP{Body: bytes.Repeat([]byte("d"), smallPayload)}, PayloadDigest: "sha1:" + strings.Repeat("A", 32)}, true},
	} {
		for i := range 2 {
			x := c.x
			response := *x.Response
			response.StartLine, response.Coding = warc.StatusLine(200), warc.Unchunked
			x.URL, x.Date, x.Response = fmt.Sprintf("http://a.example/%d/%s", i, name[:1]), at.Add(time.Duration(i)*time.Second), &response
			if refused, err := db.PutVisit(&Visit{Exchanges: []*warc.Exchange{&x}}); err != nil || len(refused) > 0 {
				t.Fatal(name, refused, err)
			}
			first := "http://a.example/0/" + name[:1]
			switch {
			case c.x.Revisit != nil:
				if x.Revisit != earlier || x.PayloadDigest != "" {
					t.Errorf("%s: %+v, %s", name, x.Revisit, x.PayloadDigest)
				}
			case i == 1 && c.again:
				r := x.Revisit
				if r == nil || r.Profile != warc.IdenticalPayloadDigest || r.URL != first || !r.Date.Equal(at) || r.PayloadDigest != x.PayloadDigest || x.PayloadDigest == "" {
					t.Errorf("%s: %+v, %s", name, r, x.PayloadDigest)
				}
			case x.Revisit != nil:
				t.Errorf("%s, time %d: %+v", name, i, x.Revisit)
			}
			if given := c.x.PayloadDigest; given != "" && x.PayloadDigest != given {
				t.Errorf("%s: the digest is now %s", name, x.PayloadDigest)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A kill leaves an unfinished archive file. Open truncates and renames the file, or refuses the
// crawl if the file is damaged.
func TestAnArchiveThatAKillHasLeft(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	visitOf(t, db, 1)
	if err := db.Submit(frontier.Completion{Links: visited(t, 1)}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	name := filepath.Base(db.outputs.archive.files[0].name)
	path := func(dir string) string { return filepath.Join(dir, ArchiveDir, name) }
	add := func(path, text string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}
	for what, c := range map[string]struct {
		spoil func(dir string) error
		want  string // part of the error of Open; "" if Open succeeds
	}{
		"nothing":          {func(string) error { return nil }, ""},
		"more than counts": {func(dir string) error { return add(path(dir)+openSuffix, "more") }, ""},
		"named already":    {func(dir string) error { return os.Rename(path(dir)+openSuffix, path(dir)) }, ""},
		"named, and longer": {func(dir string) error {
			return errors.Join(os.Rename(path(dir)+openSuffix, path(dir)), add(path(dir), "more"))
		}, name + " is damaged: it is missing or not"},
		"gone":       {func(dir string) error { return os.Remove(path(dir) + openSuffix) }, name + " is damaged: it is missing or not"},
		"shorter":    {func(dir string) error { return os.Truncate(path(dir)+openSuffix, 10) }, "10 bytes long where"},
		"in the way": {func(dir string) error { return os.MkdirAll(filepath.Join(path(dir), "x"), 0o755) }, "rename "},
		"begun":      {func(dir string) error { return os.WriteFile(path(dir)+"-2.warc.gz"+openSuffix, []byte("x"), 0o644) }, ""},
		"begun, and not to be removed": {func(dir string) error {
			return os.MkdirAll(filepath.Join(path(dir)+"-2.warc.gz"+openSuffix, "x"), 0o755)
		}, "remove "},
		"a directory": {func(dir string) error {
			return errors.Join(os.Remove(path(dir)+openSuffix), os.Mkdir(path(dir)+openSuffix, 0o755))
		}, name},
	} {
		for _, opts := range []Options{{Gather: -1}, {Gather: -1, Archive: &Archive{}}} {
			dir := crash(t, db.Dir())
			if err := c.spoil(dir); err != nil {
				t.Fatal(what, err)
			}
			again, err := Open(dir, opts)
			if c.want != "" {
				if err == nil {
					again.Close()
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want %q", what, err, c.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if err := again.Close(); err != nil {
				t.Error(what, err)
			}
			if v := verified(t, dir); v.Records != 2 {
				t.Errorf("%s: %+v", what, v)
			}
			if left, err := filepath.Glob(filepath.Join(dir, ArchiveDir, "*")); err != nil || len(left) != 1 || left[0] != path(dir) {
				t.Errorf("%s: left over: %q, %v", what, left, err)
			}
		}
	}
}

// Open syncs the files that a killed run has left. If any of these syncs fails, Open fails.
func TestASyncThatFailsRefusesWhatAKillHasLeft(t *testing.T) {
	db, err := Open(t.TempDir(), Options{Gather: -1, Archive: &Archive{}, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	visitOf(t, db, 1)
	if err := db.Submit(frontier.Completion{Links: visited(t, 1)}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	broken := errors.New("no sync")
	for _, opts := range []Options{{Gather: -1, Archive: &Archive{}, Links: true}, {Gather: -1, NoPages: true}} {
		told := map[string]bool{}
		for k := 0; ; k++ {
			dir := crash(t, db.Dir())
			for _, name := range []string{PagesFile, LinksFile, indexPart} {
				raw, err := os.ReadFile(filepath.Join(dir, name))
				if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), append(raw, "more"...), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			n, at := 0, ""
			opts := opts
			opts.disk.Before = func(path string) error {
				if n++; n == k+1 {
					at = path
					return broken
				}
				return nil
			}
			again, err := Open(dir, opts)
			if at == "" {
				if err != nil {
					t.Fatal(err)
				}
				again.Close() // the sync that fails is one of Close, so ignore its error
				break
			}
			told[filepath.Base(at)] = true
			if !errors.Is(err, broken) {
				t.Errorf("sync %d, of %s: %v", k, at, err)
			}
			if err == nil {
				again.Close()
			}
			reopened(t, dir, Options{Gather: -1, Archive: &Archive{}, Links: true})
			if v := verified(t, dir); v.Pages != 1 || v.Records != 2 {
				t.Errorf("sync %d, of %s: %+v", k, at, v)
			}
		}
		want := []string{ArchiveDir}
		if opts.NoPages {
			want = append(want, PagesFile, LinksFile, indexPart)
		}
		for _, name := range want {
			if !told[name] {
				t.Errorf("%s is not synced, but %v", name, told)
			}
		}
	}
}
