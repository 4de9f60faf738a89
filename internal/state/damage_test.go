package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	richSite    = frontier.Site("http://a.example")
	richDigest  = "sha1:ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	otherDigest = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	richAnswer  = "warc/1.warc.gz"
)

// submitted submits c and waits until c is committed and merged.
func submitted(t *testing.T, db *DB, c frontier.Completion) {
	t.Helper()
	if err := db.Submit(c); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
}

// readAll returns all entries of a site that Read still returns.
func readAll(t *testing.T, db *DB, site frontier.Site) []frontier.Entry {
	t.Helper()
	buf := make([]frontier.Entry, 9)
	n, err := db.Read(site, time.Now().AddDate(1, 0, 0), buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// rich makes a crawl with rows of every kind, and returns its directory. Of the entries of
// a.example, /ended has ended, /waiting waits, /aside is out of scope, and /ready and /more are
// queued.
func rich(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := start(dir, Options{Gather: -1, Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Truncate(time.Second)
	var links []frontier.Entry
	for _, path := range []string{"/ended", "/waiting", "/aside", "/ready", "/more"} {
		links = append(links, entry(t, string(richSite)+path))
	}
	submitted(t, db, frontier.Completion{Links: append(links, entry(t, "http://b.example/"))})
	for _, e := range readAll(t, db, richSite) {
		c := frontier.Completion{Site: richSite, Entry: e, Common: []frontier.CommonClock{{Name: "ip 192.0.2.1", Due: at}}}
		switch e.URL.Target() {
		case "/ended":
			c.Fate = frontier.Fate{Code: frontier.Fetched, Status: 200, Answer: frontier.Place{File: richAnswer, Offset: 7}}
		case "/waiting":
			c.Fate = frontier.Fate{Code: frontier.Waiting, Until: at.Add(time.Hour)}
		case "/aside":
			c.Fate = frontier.Fate{Code: frontier.ScopeNarrowed}
		default:
			continue
		}
		submitted(t, db, c)
	}
	for _, after := range []time.Duration{time.Hour, 0} { // the snapshot that is put last does not have the latest time
		s := &robots.Snapshot{URL: "http://a.example/robots.txt", Fetched: at.Add(after), Status: 200, Body: []byte("User-agent: *\n")}
		if err := db.PutSnapshot(richSite, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Put("k", "v"), db.PutPayload(richDigest, Payload{at, "http://a.example/ended"}), db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// reads returns all calls that read a state, by name.
func reads(t *testing.T) map[string]func(*DB) error {
	fate := func(path string) func(*DB) error {
		return func(db *DB) error {
			_, _, err := fateFor(db, entry(t, string(richSite)+path).URL)
			return err
		}
	}
	return map[string]func(*DB) error{
		"sites":  func(db *DB) error { return pairErrors(db.Sites()) },
		"common": func(db *DB) error { return pairErrors(db.Common()) },
		"state":  func(db *DB) error { _, err := db.State(richSite); return err },
		"read": func(db *DB) error {
			clear(db.handedOut.sites) // forget which entries were read, so that they can be read again
			_, err := db.Read(richSite, time.Now().AddDate(1, 0, 0), make([]frontier.Entry, 9))
			return err
		},
		"fate of ended": fate("/ended"), "fate of waiting": fate("/waiting"), "fate of ready": fate("/ready"),
		"entries": func(db *DB) (err error) {
			for _, is := range db.Entries(richSite) {
				err = errors.Join(err, is)
			}
			return err
		},
		"names": func(db *DB) (err error) {
			for _, is := range db.Names() {
				err = errors.Join(err, is)
			}
			return err
		},
		"queued": func(db *DB) (err error) {
			for _, is := range db.Queued(richSite) {
				err = errors.Join(err, is)
			}
			return err
		},
		"snapshot": func(db *DB) error { _, err := db.Snapshot(richSite); return err },
		"payload":  func(db *DB) error { _, err := db.Payload(richDigest); return err },
		"value": func(db *DB) error {
			var v string
			_, err := db.Get("k", &v)
			return err
		},
		"requeue": func(db *DB) error {
			_, err := db.Requeue(func(frontier.Entry) bool { return false })
			return err
		},
	}
}

// flipped returns value with one changed bit.
func flipped(_, value []byte) []byte {
	value[len(value)-1] ^= 1
	return value
}

// emptied returns a row value that is empty and has a valid checksum.
func emptied(key, value []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, checksum(key, value[:checksumSize]))
}

// shortened returns value without its last byte, and with a valid checksum.
func shortened(key, value []byte) []byte {
	value = value[:len(value)-1]
	binary.BigEndian.PutUint32(value, checksum(key, value))
	return value
}

// Each method that reads a damaged row returns a *DamagedError. The other methods succeed.
func TestADamagedRowIsToldByWhoeverReadsIt(t *testing.T) {
	const fates = "fate of ended, fate of ready, fate of waiting"
	for _, c := range []struct {
		bucket  []byte
		prefix  string // prefix of the key of the damaged row; in bucketEntries it includes the kind
		damage  func(key, value []byte) []byte
		told    string
		message string
	}{
		{bucketNames, "", flipped, "entries, " + fates + ", queued, read, sites, state", "bucket names"},
		{bucketNames, "", emptied, "entries, " + fates + ", queued, read, sites, state", "bucket names"},
		{bucketStates, "", flipped, "entries, " + fates + ", requeue, sites, state", "bucket states"},
		{bucketStates, "", emptied, "entries, " + fates + ", requeue, sites, state", "bucket states"},
		{bucketEntries, "s", flipped, fates, "bucket entries"},
		{bucketEntries, "r", flipped, "entries, fate of ready, queued, read", "bucket entries"},
		{bucketEntries, "r", emptied, "entries, fate of ready, queued, read", "bucket entries"},
		{bucketEntries, "w", flipped, "entries, fate of waiting, queued, read", "bucket entries"},
		{bucketEntries, "w", emptied, "entries, fate of waiting, queued, read", "bucket entries"},
		{bucketEntries, "e", flipped, "entries, fate of ended, requeue", "bucket entries"},
		{bucketEntries, "e", emptied, "entries, fate of ended, requeue", "bucket entries"},
		{bucketEntries, "e", shortened, "entries, fate of ended", "bucket entries"},
		{bucketAside, "", flipped, "requeue", "bucket aside"},
		{bucketCommon, "", flipped, "common", "bucket common"},
		{bucketCommon, "", emptied, "common", "bucket common"},
		{bucketArchives, "", flipped, "entries, fate of ended", "bucket archives"},
		{bucketSnapshots, "", flipped, "snapshot", "bucket snapshots"},
		{bucketSnapshots, "", emptied, "snapshot", "bucket snapshots"},
		{bucketBodies, "", flipped, "snapshot", "bucket bodies"},
		{bucketPayloads, "", flipped, "payload", "bucket payloads"},
		{bucketPayloads, "", emptied, "payload", "bucket payloads"},
		{bucketMeta, "put ", flipped, "value", "bucket meta"},
		{bucketMeta, "put ", emptied, "value", "bucket meta"},
	} {
		t.Run(fmt.Sprintf("%s %s %s", c.bucket, c.prefix, c.message), func(t *testing.T) {
			db := open(t, rich(t))
			defer db.Close()
			n := 0
			err := db.file.bolt.Update(func(tx *bbolt.Tx) (err error) {
				var rows [][2][]byte
				each(tx.Bucket(c.bucket), func(key, value []byte) {
					rest := key
					if bytes.Equal(c.bucket, bucketEntries) {
						rest = key[4:]
					}
					if bytes.HasPrefix(rest, []byte(c.prefix)) {
						rows = append(rows, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
					}
				})
				for _, r := range rows {
					n++
					err = errors.Join(err, tx.Bucket(c.bucket).Put(r[0], c.damage(r[0], r[1])))
				}
				return err
			})
			if err != nil || n == 0 {
				t.Fatalf("%d rows, %v", n, err)
			}
			var told []string
			for name, read := range reads(t) {
				err := read(db)
				if err == nil {
					continue
				}
				told = append(told, name)
				var damaged *DamagedError
				if !errors.As(err, &damaged) || !strings.Contains(err.Error(), c.message) {
					t.Errorf("%s: %v, want a *DamagedError of %s", name, err, c.message)
				}
			}
			slices.Sort(told)
			if got := strings.Join(told, ", "); got != c.told {
				t.Errorf("reported by %s\nwant %s", got, c.told)
			}
		})
	}
}

// If the record of a site has a wrong number, the error names this site and no other.
func TestTheSiteWithAnotherNumberIsTold(t *testing.T) {
	numbered := func(site string, n siteNum) func(*bbolt.Tx) error {
		return sealed(bucketNames, []byte(site), n.key()...)
	}
	for name, c := range map[string]struct {
		edit func(*bbolt.Tx) error
		want string
	}{
		"the first":  {numbered("http://a.example", 9), fmt.Sprintf("key %x: site 1 has the number 9 there", "http://a.example")},
		"the second": {numbered("http://b.example", 9), fmt.Sprintf("key %x: site 2 has the number 9 there", "http://b.example")},
		"gone":       {func(tx *bbolt.Tx) error { return tx.Bucket(bucketNames).Delete([]byte("http://b.example")) }, "site 2 has the number 0 there"},
		"more":       {numbered("http://c.example", 3), "bucket names has sites that have no record in bucket states"},
	} {
		dir := rich(t)
		edited(t, dir, c.edit)
		db := open(t, dir)
		var damaged *DamagedError
		if err := pairErrors(db.Sites()); !errors.As(err, &damaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The end of an entry that was never queued ends the run, because it must belong to another
// crawl.
func TestAnEndOfWhatWasNeverQueuedEndsTheRun(t *testing.T) {
	for _, due := range []time.Time{{}, time.Now()} {
		db := open(t, rich(t))
		e := entry(t, string(richSite)+"/never")
		e.Due = due
		if err := db.Submit(frontier.Completion{Site: richSite, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched}}); err != nil {
			t.Fatal(err)
		}
		const want = "an entry of http://a.example ended, with the fingerprint "
		if g := <-db.Grown(); g.Err == nil || !strings.Contains(g.Err.Error(), want) || !strings.Contains(g.Err.Error(), "that was never queued") {
			t.Errorf("Grown: %+v", g)
		}
		if err := db.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Close: %v", err)
		}
	}
}

// occupied makes a bucket with the key of a row, so that bbolt cannot write the row.
func occupied(t *testing.T, b *bbolt.DB, bucket, key []byte) {
	t.Helper()
	err := b.Update(func(tx *bbolt.Tx) error {
		err := tx.Bucket(bucket).Delete(key)
		if err == nil {
			_, err = tx.Bucket(bucket).CreateBucket(key)
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s %x: %v", bucket, key, err)
	}
}

// refused checks that err is a *DamagedError, and that its text contains what.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	var damaged *DamagedError
	if !errors.As(err, &damaged) || !errors.Is(err, berrors.ErrIncompatibleValue) {
		t.Errorf("%s: %v, want a *DamagedError of a row that is a bucket", what, err)
	}
}

// sequence returns the last number that bbolt has assigned in a bucket.
func sequence(t *testing.T, db *DB, bucket []byte) (n uint64) {
	t.Helper()
	if err := db.file.bolt.View(func(tx *bbolt.Tx) error { n = tx.Bucket(bucket).Sequence(); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// A marked is an Outputs with one growing file and one finished file.
type marked struct {
	none
	full bool // each flush reports the growing file as full
}

func (m marked) Flush() (Moment, error) {
	if !m.full {
		return Moment{}, nil
	}
	return Moment{Marks{"full": {Length: 1}}, []string{"full"}}, nil
}

func (marked) Close(end End) (Last, error) {
	return Last{Growing: Marks{"grows": {Length: 2}}, Finished: Marks{"full": {Length: 1}}}, nil
}

// If a row cannot be written, the run ends. No operation is acknowledged if one of its rows is
// missing.
func TestARowThatCannotBeWrittenEndsTheRun(t *testing.T) {
	until := time.Now().Add(3 * time.Hour)
	body := []byte("User-agent: x\n")
	sum := sha256.Sum256(body)
	snapshot := func(at time.Time) *robots.Snapshot { return &robots.Snapshot{Fetched: at, Status: 200, Body: body} }
	newLinks := func(db *DB) error {
		return db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://new.example/1"), entry(t, "http://new.example/2")}})
	}
	end := func(f frontier.Fate) func(*DB) error {
		return func(db *DB) error {
			buf := make([]frontier.Entry, 1)
			if n, err := db.Read(richSite, time.Now(), buf); n != 1 || err != nil {
				return fmt.Errorf("%d entries, %v", n, err)
			}
			return db.Submit(frontier.Completion{Site: richSite, Entry: buf[0], Fate: f, Common: []frontier.CommonClock{{Name: "c", Due: until}}})
		}
	}
	fetched := end(frontier.Fate{Code: frontier.Fetched, Answer: frontier.Place{File: "new"}})
	newSite := func(db *DB) siteNum { return siteNum(sequence(t, db, bucketNames) + 1) }
	number := func(db *DB, path string) (n siteNum, num uint32) {
		t.Helper()
		err := db.file.bolt.View(func(tx *bbolt.Tx) (err error) {
			if n, err = siteNumber(tx.Bucket(bucketNames), richSite); err != nil {
				return err
			}
			num, _, err = seenNum(tx.Bucket(bucketEntries).Cursor(), n, fingerprint(entry(t, string(richSite)+path).URL.Key(), db.seed))
			return err
		})
		if err != nil || num == 0 {
			t.Fatal(num, err)
		}
		return n, num
	}
	is := func(key []byte) func(*DB) []byte { return func(*DB) []byte { return key } }
	payload := func(db *DB) error { return db.PutPayload(otherDigest, Payload{until, "http://a.example/"}) }
	for name, c := range map[string]struct {
		bucket []byte
		key    func(*DB) []byte
		act    func(*DB) error
	}{
		"commit":  {bucketMeta, is(keyCommit), newLinks},
		"outputs": {bucketMeta, is(keyOutputs), newLinks},
		"value":   {bucketMeta, is([]byte("put v")), func(db *DB) error { return db.Put("v", 1) }},
		"journal": {bucketJournal, func(db *DB) []byte { return rowKey(db.book.row + 1) }, newLinks},
		"journal that is merged": {bucketJournal, is(rowKey(0)), func(db *DB) error {
			return db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://new.example/1")}})
		}},
		"name":   {bucketNames, is([]byte("http://new.example")), newLinks},
		"record": {bucketStates, func(db *DB) []byte { return newSite(db).key() }, newLinks},
		"ready":  {bucketEntries, func(db *DB) []byte { return readyKey(newSite(db), 0, 1) }, newLinks},
		"ended":  {bucketEntries, func(db *DB) []byte { return endedKey(number(db, "/ready")) }, fetched},
		"waiting": {bucketEntries, func(db *DB) []byte {
			n, num := number(db, "/ready")
			return waitingKey(n, dueMillis(until), num)
		}, end(frontier.Fate{Code: frontier.Waiting, Until: until})},
		"back in the queue": {bucketEntries, func(db *DB) []byte {
			n, num := number(db, "/aside")
			return readyKey(n, 0, num)
		}, func(db *DB) error {
			_, err := db.Requeue(func(frontier.Entry) bool { return true })
			return err
		}},
		"aside":    {bucketAside, func(db *DB) []byte { return rowKey(entryID(number(db, "/ready"))) }, end(frontier.Fate{Code: frontier.ScopeNarrowed})},
		"archive":  {bucketArchives, func(db *DB) []byte { return archiveKey(uint32(sequence(t, db, bucketArchives) + 1)) }, fetched},
		"common":   {bucketCommon, is([]byte("c")), fetched},
		"snapshot": {bucketSnapshots, is(snapshotKey("http://s.example", until)), func(db *DB) error { return db.PutSnapshot("http://s.example", snapshot(until)) }},
		"snapshot that is the copy of another": {bucketSnapshots, is(snapshotKey("http://s.example", until)), func(db *DB) error {
			s := snapshot(until.Add(time.Hour))
			s.Copy = snapshot(until)
			return db.PutSnapshot("http://s.example", s)
		}},
		"last snapshot, the latest":     {bucketSnapshots, is(lastPutKey(richSite)), func(db *DB) error { return db.PutSnapshot(richSite, snapshot(until)) }},
		"last snapshot, not the latest": {bucketSnapshots, is(lastPutKey(richSite)), func(db *DB) error { return db.PutSnapshot(richSite, snapshot(until.Add(-24*time.Hour))) }},
		"body":                          {bucketBodies, is(sum[:]), func(db *DB) error { return db.PutSnapshot(richSite, snapshot(until)) }},
		"payload":                       {bucketPayloads, is(payloadKey(otherDigest)), payload},
		"finished":                      {bucketFinished, is([]byte("full")), newLinks},
	} {
		t.Run(name, func(t *testing.T) {
			l := Usual
			switch name {
			case "journal":
				l.MaxSlice = 1
			case "payload":
				l.Payloads = 1
			}
			db, err := Open(rich(t), Options{Gather: -1, Limits: &l})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Begin(marked{full: name == "finished"}, db.Marks(), nil); err != nil {
				t.Fatal(err)
			}
			occupied(t, db.file.bolt, c.bucket, c.key(db))
			if err := c.act(db); err != nil {
				t.Fatal(err)
			}
			refused(t, "Grown", (<-db.Grown()).Err)
			refused(t, "Close", db.Close())
		})
	}
}

// If a row cannot be written when a run begins or ends, Begin or Close fails.
func TestARowThatCannotBeWrittenIsNoBeginAndNoEnd(t *testing.T) {
	begin := func(db *DB) error {
		return db.Begin(marked{}, Marks{"grows": {Length: 1}}, Marks{"full": {Length: 1}})
	}
	for name, c := range map[string]struct {
		bucket, key []byte
		begin, end  bool // whether Begin or Close writes the row
	}{
		"open": {bucketMeta, keyOpen, true, true}, "outputs": {bucketMeta, keyOutputs, true, true},
		"index": {bucketMeta, keyIndex, false, true}, "finished": {bucketFinished, []byte("full"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			db, err := Open(dir, Options{Gather: -1})
			if err != nil {
				t.Fatal(err)
			}
			if err := begin(db); err != nil {
				t.Fatal(err)
			}
			occupied(t, db.file.bolt, c.bucket, c.key)
			refused(t, "Close", db.Close())
			if _, err := os.Stat(filepath.Join(dir, RunFile)); err != nil {
				t.Errorf("the run has not ended in order, and that is not recorded any more: %v", err)
			}

			if db, err = Open(filled(t), Options{Gather: -1}); err != nil {
				t.Fatal(err)
			}
			occupied(t, db.file.bolt, c.bucket, c.key)
			if !c.begin {
				if err := begin(db); err != nil {
					t.Fatal(err)
				}
				db.Close()
				return
			}
			refused(t, "Begin", begin(db))
			if err := db.Abandon(); err != nil {
				t.Error(err)
			}
		})
	}
}

// PutMarks returns an error if it cannot write the marks.
func TestMarksThatCannotBeWritten(t *testing.T) {
	growing, index := Marks{"grows": {Length: 3}}, IndexMarks{Index: Mark{Length: 4}}
	for _, key := range [][]byte{nil, keyOutputs, keyIndex} {
		dir := filled(t)
		db, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if key != nil {
			occupied(t, db.file.bolt, bucketMeta, key)
			refused(t, "DB.PutMarks", db.PutMarks(growing, index))
		} else if err := db.PutMarks(growing, index); err != nil {
			t.Error(err)
		}
		if err := db.Abandon(); err != nil {
			t.Error(err)
		}
		if key == nil {
			if done := checked(t, dir); done.Growing["grows"] != growing["grows"] || done.Index != index {
				t.Errorf("%+v", done)
			}
		}
	}
}
