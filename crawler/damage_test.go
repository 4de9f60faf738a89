package crawler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/warc"
	"go.etcd.io/bbolt"
)

// A crawlCopy holds the files of a crawl, and the same files from an earlier moment.
type crawlCopy struct {
	name         string
	files, older map[string][]byte
}

func readDir(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// crawlCopies returns two crawls in their second run: one that has ended, and one that was killed.
// They have several WARC files, and repeated answers.
func crawlCopies(t *testing.T) (copies []crawlCopy) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for i := range 3 {
			s := w.Site(fmt.Sprintf("http://h%d.example", i)).Robots("User-agent: *\nDisallow: /private/\n")
			for j := range 8 {
				s.Page(fmt.Sprintf("/%d", j), fmt.Sprintf(`<title>Page %d</title><a href=/%d>next</a><a href=/private/>no</a><a href="http://h%d.example/%d">other</a>`,
					j, j+1, (i+1)%3, j))
			}
			s.Page("/same1", strings.Repeat("the same ", 20)).Page("/same2", strings.Repeat("the same ", 20))
			s.Page("/", `<a href=/0>0</a><a href=/same1>1</a><a href=/same2>2</a>`)
		}
		dir := t.TempDir()
		run := func(limit int, h crawler.Handler) {
			c, err := crawler.New(crawler.Options{
				Identity: testIdentity, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{Limit: limit}, Keep: crawler.Keep{MaxArchive: 8 << 10, Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputLinks}},
				Seeds: []string{"http://h0.example/", "http://h1.example/", "http://h2.example/"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
		run(8, nil)
		first := readDir(t, dir)
		var n atomic.Int64
		var early map[string][]byte
		run(0, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			switch n.Add(1) {
			case 3:
				early = settled(t, dir)
			case 14:
				copies = append(copies, crawlCopy{"killed", settled(t, dir), early})
			}
			return nil
		}))
		copies = append(copies, crawlCopy{"ended", readDir(t, dir), first})
	})
	return copies
}

// settled returns the files of a running crawl after everything is committed, as a kill would leave
// them.
func settled(t *testing.T, dir string) map[string][]byte {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	return readDir(t, dir)
}

// A damage is a change of a file. If its function returns nil, the file is removed.
type damage struct {
	name string
	do   func(raw, older []byte, parts [][]byte) []byte
}

var damages = []damage{
	{"removed", func(raw, older []byte, parts [][]byte) []byte { return nil }},
	{"emptied", func(raw, older []byte, parts [][]byte) []byte { return []byte{} }},
	{"halved", func(raw, older []byte, parts [][]byte) []byte { return raw[:len(raw)/2] }},
	{"last record cut off", func(raw, older []byte, parts [][]byte) []byte { return slices.Concat(parts[:len(parts)-1]...) }},
	{"cut at a record", func(raw, older []byte, parts [][]byte) []byte { return slices.Concat(parts[:len(parts)/2]...) }},
	{"first record taken out", func(raw, older []byte, parts [][]byte) []byte { return slices.Concat(parts[1:]...) }},
	{"record taken out", func(raw, older []byte, parts [][]byte) []byte {
		return slices.Concat(slices.Delete(slices.Clone(parts), len(parts)/2, len(parts)/2+1)...)
	}},
	{"records exchanged", func(raw, older []byte, parts [][]byte) []byte {
		p := slices.Clone(parts)
		i := len(p) / 2
		p[i-1], p[i] = p[i], p[i-1]
		return slices.Concat(p...)
	}},
	{"record twice", func(raw, older []byte, parts [][]byte) []byte {
		return slices.Concat(append(slices.Clone(parts), parts[len(parts)/2])...)
	}},
	{"record doubled inside", func(raw, older []byte, parts [][]byte) []byte {
		i := len(parts) / 2
		return slices.Concat(slices.Insert(slices.Clone(parts), i, parts[i])...)
	}},
	{"byte in the middle", func(raw, older []byte, parts [][]byte) []byte {
		b := bytes.Clone(raw)
		b[len(b)/2] ^= 1
		return b
	}},
	{"first byte", func(raw, older []byte, parts [][]byte) []byte {
		b := bytes.Clone(raw)
		b[0] ^= 1
		return b
	}},
	{"last byte", func(raw, older []byte, parts [][]byte) []byte {
		b := bytes.Clone(raw)
		b[len(b)-1] ^= 1
		return b
	}},
	{"end of zeros", func(raw, older []byte, parts [][]byte) []byte {
		b := bytes.Clone(raw)
		clear(b[len(b)-len(b)/4:])
		return b
	}},
	{"older copy", func(raw, older []byte, parts [][]byte) []byte { return older }},
}

// parts splits a file into its records, memory pages, or lines, depending on its kind.
func parts(t *testing.T, name string, raw []byte) (all [][]byte) {
	switch {
	case strings.HasPrefix(name, store.ArchiveDir):
		r := warc.NewReader(bytes.NewReader(raw))
		for at := 0; at < len(raw); {
			rec, err := r.Next()
			if err != nil {
				t.Fatal(name, err)
			}
			n, err := rec.Close()
			if err != nil {
				t.Fatal(name, err)
			}
			all = append(all, raw[at:at+int(n)])
			at += int(n)
		}
		return all
	case name == store.StateFile:
		return slices.Collect(slices.Chunk(raw, os.Getpagesize()))
	}
	return slices.Collect(bytes.Lines(raw))
}

// harmless returns the reason why a damage need not be reported, or "" if it must be reported.
func harmless(state, file, what string) string {
	switch {
	case file == store.RunFile && what != "removed":
		return "it says who held the crawl, for people"
	case file == store.IndexFile && state == "killed":
		return "it is that of an earlier run, and the next one makes it anew"
	case file == store.LogFile && state == "killed" && what == "record twice":
		return "it also has requests after the last commit"
	case state == "killed" && what == "record twice" && !finishedWARC(file):
		return "nothing counts behind what was committed: the next run cuts it"
	}
	return ""
}

func finishedWARC(file string) bool { return strings.HasSuffix(file, ".warc.gz") }

// rows returns all rows of a state file as text for a comparison, or "" if the file cannot be read.
func rows(t *testing.T, path string) (said string) {
	t.Helper()
	defer func() { recover() }()
	db, err := bbolt.Open(path, 0o444, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return ""
	}
	defer db.Close()
	var b strings.Builder
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			return bucket.ForEach(func(key, value []byte) error {
				fmt.Fprintf(&b, "%q %q %q\n", name, key, value)
				return nil
			})
		})
	})
	if err != nil {
		return ""
	}
	return b.String()
}

// A damagedCrawl is a directory in which one file after the other is damaged.
type damagedCrawl struct {
	crawlCopy
	base string // directory with the undamaged files
}

func damagedCrawls(t *testing.T) (all []damagedCrawl) {
	for _, c := range crawlCopies(t) {
		dir := filepath.Join(t.TempDir(), "base")
		for name, raw := range c.files {
			write(t, filepath.Join(dir, name), raw)
		}
		if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("%s: nothing happened, and %v", c.name, err) }); err != nil {
			t.Fatal(c.name, err)
		}
		all = append(all, damagedCrawl{c, dir})
	}
	return all
}

// verify replaces the file name by is, or removes it if is is nil. It checks that Verify reports
// the damage, unless it is harmless.
func (c *damagedCrawl) verify(t *testing.T, name, what string, is []byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "crawl")
	defer os.RemoveAll(dir)
	for n := range c.files {
		if n != name {
			link(t, filepath.Join(c.base, n), filepath.Join(dir, n))
		}
	}
	if is != nil {
		write(t, filepath.Join(dir, name), is)
	}
	var found []error
	if _, err := store.Verify(t.Context(), dir, func(err error) { found = append(found, err) }); err != nil {
		found = append(found, err)
	}
	why := harmless(c.name, name, what)
	if len(found) == 0 && name == store.StateFile && rows(t, filepath.Join(dir, name)) == rows(t, filepath.Join(c.base, name)) {
		why = "no row of it was touched: those are pages that are not in use"
	}
	named := slices.ContainsFunc(found, func(err error) bool { return strings.Contains(err.Error(), strings.TrimSuffix(name, ".open")) })
	switch {
	case why == "" && !named:
		t.Errorf("%s: %s: %s: not named in %v", c.name, name, what, found)
	case why != "" && len(found) > 0:
		t.Errorf("%s: %s: %s: is harmless, and %v", c.name, name, what, found)
	}
}

// Verify reports any damage to a file of a crawl, except harmless ones.
func TestDamageIsNamed(t *testing.T) {
	for _, c := range damagedCrawls(t) {
		for name, raw := range c.files {
			for _, d := range damages {
				all := parts(t, name, raw)
				if len(all) < 2 && strings.Contains(d.name, "record") {
					continue
				}
				is := d.do(raw, c.older[name], all)
				if bytes.Equal(is, raw) && is != nil || is == nil && d.name == "older copy" {
					continue
				}
				c.verify(t, name, d.name, is)
			}
		}
	}
}

// An incomplete index is rebuilt at the end of a run, with any outputs. It never
// makes a run fail.
func TestALostIndexIsMadeAgain(t *testing.T) {
	c := crawlCopies(t)[0]
	for _, d := range damages {
		if !slices.Contains([]string{"removed", "emptied", "halved", "byte in the middle", "last byte", "record taken out"}, d.name) {
			continue
		}
		for i, options := range []store.Options{{Links: true}, {Links: true, Archive: &store.Archive{}}, {Links: true}} {
			dir := t.TempDir()
			for name, raw := range c.files {
				if strings.HasPrefix(name, "index.") {
					raw = d.do(raw, nil, parts(t, name, raw))
				}
				if raw != nil {
					write(t, filepath.Join(dir, name), raw)
				}
			}
			if i == 2 { // or by an explicit call, before a run continues
				if _, err := store.MakeIndex(t.Context(), dir, func(err error) { t.Error(d.name, err) }); err != nil {
					t.Fatal(d.name, err)
				}
				if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("%s: %v", d.name, err) }); err != nil {
					t.Error(d.name, err)
				}
			}
			db, err := store.Open(dir, options)
			if err != nil {
				t.Fatal(d.name, err)
			}
			if !db.Unclean() {
				t.Errorf("%s: the kill is forgotten", d.name)
			}
			if err := db.Close(); err != nil {
				t.Fatal(d.name, err)
			}
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("%s: %v", d.name, err) }); err != nil {
				t.Error(d.name, err)
			}
		}
	}
}

// If a file that grows does not end with a complete line, a run does not begin, and changes
// nothing.
func TestFilesWithoutALastLineAreNotAppendedTo(t *testing.T) {
	c := crawlCopies(t)[1]
	for _, name := range []string{store.PagesFile, store.LinksFile} {
		dir := t.TempDir()
		for n, raw := range c.files {
			if n == name {
				raw = append(bytes.Clone(raw[:len(raw)-100]), make([]byte, 100)...)
			}
			write(t, filepath.Join(dir, n), raw)
		}
		was := readDir(t, dir)
		var damaged *store.DamagedError
		if _, err := store.Open(dir, store.Options{Links: true}); !errors.As(err, &damaged) || filepath.Base(damaged.Path) != name {
			t.Errorf("%s: %v", name, err)
		}
		for n, is := range readDir(t, dir) {
			if n != store.StateFile && !bytes.Equal(is, was[n]) {
				t.Errorf("%s: %s was changed", name, n)
			}
		}
	}
}

// Bits are flipped and files are cut at random places. Each damage is reported or harmless, and
// nothing hangs. $PERMESSO_FLIPS is the number of damages, $PERMESSO_SEED the seed of the random
// places.
func TestFlips(t *testing.T) {
	flips, err := strconv.Atoi(os.Getenv("PERMESSO_FLIPS"))
	if err != nil {
		flips = 50
	}
	seed, err := strconv.ParseUint(os.Getenv("PERMESSO_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	random := rand.New(rand.NewPCG(seed, 8))
	crawls := damagedCrawls(t)
	for range flips {
		c := crawls[random.IntN(len(crawls))]
		name := slices.Sorted(maps.Keys(c.files))[random.IntN(len(c.files))]
		raw := bytes.Clone(c.files[name])
		at := random.IntN(len(raw))
		if random.IntN(5) == 0 {
			c.verify(t, name, fmt.Sprintf("cut at %d", at), raw[:at])
			continue
		}
		raw[at] ^= 1 << random.IntN(8)
		c.verify(t, name, fmt.Sprintf("flipped at %d", at), raw)
	}
}

func write(t *testing.T, path string, raw []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}
