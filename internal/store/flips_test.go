package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
	"go.etcd.io/bbolt"
)

// everything makes a crawl whose state has rows of every kind in every bucket. Some of the rows
// are only in the journal, as after a kill. It returns the crawl's directory.
func everything(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	l := state.Usual
	l.MaxBlock = 8
	db, err := Open(dir, Options{Gather: -1, limits: &l, Archive: &Archive{}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	submit := func(c frontier.Completion) {
		t.Helper()
		if err := db.Submit(c); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	var links []frontier.Entry
	for i := range 24 {
		e := entry(t, fmt.Sprintf("http://h%d.example/%d", i%3, i))
		e.Depth, e.Via, e.Hops, e.Tag = i%5, "http://h0.example/0", "LLRL"[:i%5], "tag"
		links = append(links, e)
	}
	submit(frontier.Completion{Links: links})
	end := func(site frontier.Site, f frontier.Fate) frontier.Completion {
		var buf [1]frontier.Entry
		if n, err := db.Read(site, now, buf[:]); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		f.Time = now
		return frontier.Completion{
			Site: site, Entry: buf[0], Fate: f,
			Clocks: frontier.Clocks{Due: now.Add(time.Second), By: frontier.OwnClock, Ended: now, Gap: time.Second, GapBy: frontier.CrawlDelayClock},
			Common: []frontier.CommonClock{{Name: "ip 192.0.2.1", Due: now.Add(time.Second)}},
		}
	}
	page := archivedPage(now, 'x')
	visit := &Visit{Exchanges: []*warc.Exchange{page}, Answer: page}
	if _, err := db.PutVisit(visit); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		site := frontier.Site(fmt.Sprintf("http://h%d.example", i%3))
		f := frontier.Fate{Code: frontier.Fetched, Status: 200, Digest: "sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"}
		if i == 0 { // the URL of the archived page
			f.Answer = visit.Place
		}
		if i%2 == 1 {
			f = frontier.Fate{Code: frontier.Waiting, Until: now.Add(time.Hour)}
		}
		if i == 8 {
			f = frontier.Fate{Code: frontier.ScopeNarrowed, Detail: "filtered"}
		}
		submit(end(site, f))
	}
	if err := db.Put("key", "value"); err != nil {
		t.Fatal(err)
	}
	if err := db.PutSnapshot("http://h0.example", &robots.Snapshot{
		URL: "http://h0.example/robots.txt", Fetched: now, Status: 200, Body: []byte("User-agent: *\nDisallow: /x\n"),
	}); err != nil {
		t.Fatal(err)
	}
	submit(frontier.Completion{})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// These rows stay in the journal, because they are committed but not merged.
	l.SmallPending, l.SomeMerge = 0, 0
	copied := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		if db, err = Open(dir, Options{limits: &l, Archive: &Archive{}}); err != nil {
			t.Fatal(err)
		}
		c := end("http://h1.example", frontier.Fate{Code: frontier.Fetched, Status: 404})
		c.Links = []frontier.Entry{entry(t, "http://new.example/1"), entry(t, "http://h0.example/new")}
		if err := db.Submit(c); err != nil {
			t.Fatal(err)
		}
		page := archivedPage(now, 'y')
		if _, err := db.PutVisit(&Visit{Exchanges: []*warc.Exchange{page}, Answer: page}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Millisecond)
		synctest.Wait()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return copied
}

func archivedPage(at time.Time, text byte) *warc.Exchange {
	return &warc.Exchange{URL: "http://h0.example/0", Date: at, Response: &warc.HTTP{
		StartLine: warc.StatusLine(200), Body: bytes.Repeat([]byte{text}, 2*smallPayload),
	}}
}

// A row is a key and its value in a bucket of a state file.
type row struct {
	bucket     string
	kind       byte // the kind of an entry's row; 0 in other buckets
	key, value []byte
}

func rows(t *testing.T, dir string) []row {
	t.Helper()
	b, err := bbolt.Open(filepath.Join(dir, StateFile), 0o444, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var all []row
	if err := b.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
			n := len(all)
			err := b.ForEach(func(key, value []byte) error {
				r := row{bucket: string(name), key: bytes.Clone(key), value: bytes.Clone(value)}
				if r.bucket == "entries" {
					r.kind = key[4]
				}
				all = append(all, r)
				return nil
			})
			if n == len(all) {
				t.Errorf("bucket %s is empty", name)
			}
			return err
		})
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// answers opens the crawl in dir and returns the results of all methods that read it, by
// method. err is the first error.
func answers(t *testing.T, dir string) (said map[string]string, err error) {
	// In virtual time no merge runs between the reads.
	synctest.Test(t, func(*testing.T) { said, err = ask(dir) })
	return said, err
}

func ask(dir string) (said map[string]string, err error) {
	db, err := Open(dir, Options{NoPages: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	said = map[string]string{}
	check := func(e error) {
		if err == nil {
			err = e
		}
	}
	for st, serr := range db.Sites() {
		check(serr)
		said["site "+string(st.Site)] = fmt.Sprintf("%+v", st)
	}
	for c, cerr := range db.Common() {
		check(cerr)
		said["clock "+c.Name] = fmt.Sprint(c.Due)
	}
	for i := range 25 {
		raw := fmt.Sprintf("http://h%d.example/%d", i%3, i)
		if i == 24 {
			raw = "http://new.example/1"
		}
		u, perr := frontier.ParseURL(raw)
		check(perr)
		fate, ok, ferr := db.Fate(u)
		check(ferr)
		said["fate "+raw] = fmt.Sprintf("%+v %v", fate, ok)
	}
	s, serr := db.Snapshot("http://h0.example")
	check(serr)
	said["snapshot"] = fmt.Sprintf("%+v", s)
	for _, text := range []byte("xy") {
		page := archivedPage(time.Unix(0, 0), text)
		p, perr := db.state.Payload(warc.PayloadDigest(page.Response))
		check(perr)
		said["payload "+string(text)] = fmt.Sprintf("%+v", p)
	}
	var v string
	_, gerr := db.Get("key", &v)
	check(gerr)
	said["key"] = v
	buf := make([]frontier.Entry, 50)
	for i := range 3 {
		n, rerr := db.Read(frontier.Site(fmt.Sprintf("http://h%d.example", i)), time.Now().Add(100*365*24*time.Hour), buf)
		check(rerr)
		said[fmt.Sprint("read ", i)] = fmt.Sprintf("%+v", buf[:n])
	}
	return said, err
}

// One bit of the key or value of a row is flipped. Verify reports the damage, and each method
// that reads the row returns a correct result or an error.
func TestAFlippedBitIsNoticed(t *testing.T) {
	dir := everything(t)
	var problems []error
	if _, err := Verify(t.Context(), dir, func(err error) { problems = append(problems, err) }); err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	state, err := os.ReadFile(filepath.Join(dir, StateFile))
	if err != nil {
		t.Fatal(err)
	}
	all := rows(t, dir)
	// Copy the files that the state mentions, too: otherwise Verify would report that they are
	// missing.
	path := filepath.Join(crash(t, dir), StateFile)
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(state)
	verified(t, filepath.Dir(path))
	right, err := answers(t, filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 7))
	kinds, reads := map[byte]bool{}, map[string]int{}
	flip := func(row row, at int, what string) {
		t.Helper()
		// bbolt stores a key and its value next to each other. If unused pages have the same
		// bytes, a flip may hit them and do no harm.
		was := append(bytes.Clone(row.key), row.value...)
		is := bytes.Clone(was)
		is[at] ^= 1 << r.IntN(8)
		b := bytes.ReplaceAll(state, was, is)
		if bytes.Equal(b, state) {
			t.Fatalf("bucket %s, key %x is not in the file", row.bucket, row.key)
		}
		write(b)
		found := false
		if _, err := Verify(t.Context(), filepath.Dir(path), func(error) { found = true }); err == nil && !found {
			t.Errorf("bucket %s, key %x: Verify does not notice a flipped bit in its %s", row.bucket, row.key, what)
		}
		if what == "value" {
			reads[row.bucket+string(row.kind)]++
		}
		// If the key of a row has changed, a lookup cannot find the row.
		if what == "key" || reads[row.bucket+string(row.kind)] > 3 {
			return
		}
		got, err := answers(t, filepath.Dir(path))
		var damaged *DamagedError
		var version *VersionError
		if err != nil && !errors.As(err, &damaged) && !errors.As(err, &version) {
			t.Errorf("bucket %s, key %x: %v, want a *DamagedError", row.bucket, row.key, err)
		}
		if err == nil && !maps.Equal(got, right) && !bytes.Equal(row.key, []byte("seed")) {
			for k := range right {
				if got[k] != right[k] {
					t.Errorf("bucket %s, key %x: %s is %s, which was %s", row.bucket, row.key, k, got[k], right[k])
				}
			}
		}
	}
	for _, row := range all {
		kinds[row.kind] = true
		flip(row, r.IntN(len(row.key)), "key")
		at := r.IntN(len(row.value))
		if row.bucket == "bodies" && at > 3 && at < 10 {
			at = 0 // skip the time, level and system in a gzip header, because changes there have no effect
		}
		flip(row, len(row.key)+at, "value")
	}
	if len(kinds) != 5 {
		t.Errorf("%d kinds of rows, want 5", len(kinds))
	}
}

// If the newer of the two meta pages of the state file is damaged, Open returns the state of
// the commit before.
func TestATornHead(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	const n = 10
	for i := range n {
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, fmt.Sprintf("http://a.example/%d", i))}}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	before, err := os.ReadFile(filepath.Join(dir, StateFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/last")}}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	after, err := os.ReadFile(filepath.Join(dir, StateFile))
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	number := func(b []byte, at int) uint64 { return binary.NativeEndian.Uint64(b[at+16+48:]) }
	newest := 0
	if number(after, page) > number(after, 0) {
		newest = page
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tear := range map[string]func(head, old []byte){
		"whole":            func(head, old []byte) {},
		"half of it":       func(head, old []byte) { copy(head[66:], old[66:]) },
		"other half":       func(head, old []byte) { copy(head[:66], old[:66]) },
		"nothing but zero": func(head, old []byte) { clear(head) },
		"half zero":        func(head, old []byte) { clear(head[len(head)/128:]) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := bytes.Clone(after)
			tear(b[newest:newest+page], before[newest:newest+page])
			want := n
			if bytes.Equal(b, after) {
				want++
			}
			if err := os.WriteFile(filepath.Join(dir, StateFile), b, 0o644); err != nil {
				t.Fatal(err)
			}
			db, err := Open(dir, Options{NoPages: true})
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for i := range n {
				if _, ok, err := db.Fate(entry(t, fmt.Sprintf("http://a.example/%d", i)).URL); ok && err == nil {
					found++
				}
			}
			if _, ok, err := db.Fate(entry(t, "http://a.example/last").URL); ok && err == nil {
				found++
			}
			if found != want {
				t.Errorf("%d entries, want %d", found, want)
			}
			if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/next")}}); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			verified(t, dir)
		})
	}
}
