package state

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// edited calls edit in a transaction of the state file in dir, which must not be open.
func edited(t *testing.T, dir string, edit func(*bbolt.Tx) error) {
	t.Helper()
	b, err := bbolt.Open(filepath.Join(dir, File), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Update(edit), b.Close()); err != nil {
		t.Fatal(err)
	}
}

// sealed returns an edit that writes a row with a valid checksum.
func sealed(bucket, key []byte, value ...byte) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		return put(tx.Bucket(bucket), key, append(make([]byte, checksumSize), value...))
	}
}

// spoilt returns an edit that flips a bit in the value of the first row of a bucket whose key
// begins with prefix.
func spoilt(bucket []byte, prefix ...byte) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		key, value := b.Cursor().Seek(prefix)
		if !bytes.HasPrefix(key, prefix) {
			return fmt.Errorf("bucket %s: no such row", bucket)
		}
		return b.Put(bytes.Clone(key), flipped(key, bytes.Clone(value)))
	}
}

// problems returns the problems that a Check finds in the state in dir, sorted.
func problems(t *testing.T, dir string) (all []string, done Checked, err error) {
	t.Helper()
	done, err = Check{
		Problem: func(err error) { all = append(all, err.Error()) },
		Fate:    func(frontier.URL, frontier.Fate) {}, Payload: func(Payload) {},
	}.Read(t.Context(), dir)
	slices.Sort(all)
	return all, done, err
}

// A Check reports each kind of damage exactly once.
func TestACheckSaysWhatIsWrong(t *testing.T) {
	const one, two = siteNum(1), siteNum(2) // the numbers of a.example and b.example
	blocks := func(change func(b block) block) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b, key := tx.Bucket(bucketEntries), seenKey(one, 0)
			is := block(bytes.Clone(b.Get(key)[checksumSize:]))
			return put(b, key, append(make([]byte, checksumSize), change(is)...))
		}
	}
	row := func(tx *bbolt.Tx, kind byte) (key, value []byte) {
		key, value = tx.Bucket(bucketEntries).Cursor().Seek(one.prefix(kind))
		return bytes.Clone(key), bytes.Clone(value)
	}
	moved := func(num uint32) func(*bbolt.Tx) error { // a second row of the first ready entry, with the number num
		return func(tx *bbolt.Tx) error {
			key, value := row(tx, kindReady)
			if num == 99 {
				num = lastNum(key)
			}
			return put(tx.Bucket(bucketEntries), readyKey(one, 200, num), value)
		}
	}
	all := func(edits ...func(*bbolt.Tx) error) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) (err error) {
			for _, e := range edits {
				err = errors.Join(err, e(tx))
			}
			return err
		}
	}
	gone := func(bucket, key []byte) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Delete(key) }
	}
	const counts = "site http://a.example: 3 ready and 1 waiting entries, its record says 2 and 1"
	for name, c := range map[string]struct {
		edit func(*bbolt.Tx) error
		want []string
	}{
		"nothing":                    {all(), nil},
		"value":                      {spoilt(bucketMeta, []byte("put ")...), []string{"bucket meta, key"}},
		"commit":                     {sealed(bucketMeta, keyCommit), []string{"record is not of the known form"}},
		"outputs":                    {sealed(bucketMeta, keyOutputs), []string{"bucket meta, key 6f757470757473: unexpected end of JSON"}},
		"run.json":                   {sealed(bucketMeta, keyOpen, []byte("true")...), []string{"there is no run.json"}},
		"journal":                    {sealed(bucketJournal, rowKey(1), 9), []string{"bucket journal"}},
		"common":                     {spoilt(bucketCommon), []string{"bucket common"}},
		"finished":                   {sealed(bucketFinished, []byte("f"), '{'), []string{"bucket finished"}},
		"archive":                    {spoilt(bucketArchives), []string{"bucket archives", "bucket entries", "not seen, or is lost"}},
		"name of an archive":         {sealed(bucketArchives, []byte("12345"), 'x'), []string{"bucket archives, key 3132333435"}},
		"payload":                    {spoilt(bucketPayloads), []string{"bucket payloads"}},
		"form of a payload":          {sealed(bucketPayloads, []byte("x")), []string{"bucket payloads"}},
		"payload that is not merged": {sealed(bucketPayloadJournal, rowKey(1), 9), []string{"bucket payload journal"}},
		"no name": {gone(bucketNames, []byte("http://b.example")), []string{
			"there are -1 more names than records of sites", "site http://b.example has the record 2 and the number 0"}},
		"no record": {gone(bucketStates, two.key()), []string{
			"site http://b.example has the number 2 and no record", "there are 1 more names than records of sites"}},
		"name":   {spoilt(bucketNames, []byte("http://b.")...), []string{"bucket names", "bucket names"}},
		"record": {spoilt(bucketStates, two.key()...), []string{"bucket states"}},
		"entry that is gone": {func(tx *bbolt.Tx) error {
			key, _ := row(tx, kindReady)
			return tx.Bucket(bucketEntries).Delete(key)
		}, []string{"entry 4 was not seen, or is lost", "1 ready and 1 waiting entries"}},
		"waiting entry that is gone": {func(tx *bbolt.Tx) error {
			key, _ := row(tx, kindWaiting)
			return tx.Bucket(bucketEntries).Delete(key)
		}, []string{"was not seen, or is lost", "2 ready and 0 waiting entries"}},
		"entry":            {spoilt(bucketEntries, one.prefix(kindReady)...), []string{"bucket entries", "was not seen, or is lost", "1 ready and 1 waiting"}},
		"form of an entry": {func(tx *bbolt.Tx) error { k, _ := row(tx, kindWaiting); return sealed(bucketEntries, k)(tx) }, []string{"record is not of", "was not seen"}},
		"entry 0":          {moved(0), []string{"site http://a.example: entry 0 of 5", counts}},
		"entry after all":  {moved(6), []string{"site http://a.example: entry 6 of 5", counts}},
		"entry twice":      {moved(99), []string{"is there twice", counts}},
		"fetched, and waits": {func(tx *bbolt.Tx) error {
			key, value := row(tx, kindWaiting)
			e, err := rowEntry(richSite, one, key, value)
			if err != nil {
				return err
			}
			e.Visits = &frontier.Visits{Last: frontier.Fate{Code: frontier.Fetched}}
			return sealed(bucketEntries, key, appendEntry(nil, &e, 0)...)(tx)
		}, []string{"site http://a.example: 1 entries to be fetched again, its record says 0"}},
		"fingerprint twice": {blocks(func(b block) block {
			return append(b[:len(b):len(b)], appendNumbered(nil, numbered{^uint64(0), b.num(0)})...)
		}), []string{"fingerprint of entry 5 is there twice"}},
		"two fingerprints": {blocks(func(b block) block {
			return append(bytes.Clone(b[fingerSize:2*fingerSize]), append(bytes.Clone(b[:fingerSize]), b[2*fingerSize:]...)...)
		}), []string{"fingerprints are not in order"}},
		"equal fingerprints": {blocks(func(b block) block {
			return append(appendNumbered(nil, numbered{b.finger(1), b.num(0)}), b[fingerSize:]...)
		}), []string{"fingerprints are not in order", "was not seen"}},
		"fingerprint before its block": {func(tx *bbolt.Tx) error {
			b, key := tx.Bucket(bucketEntries), seenKey(one, 0)
			value := bytes.Clone(b.Get(key))
			return errors.Join(b.Delete(key), put(b, seenKey(one, block(value[checksumSize:]).finger(0)+1), value))
		}, []string{"fingerprints are not in order"}},
		"fingerprints at their block": {func(tx *bbolt.Tx) error {
			b, key := tx.Bucket(bucketEntries), seenKey(one, 0)
			value := bytes.Clone(b.Get(key))
			return errors.Join(b.Delete(key), put(b, seenKey(one, block(value[checksumSize:]).finger(0)), value))
		}, nil},
		"not aside":   {gone(bucketAside, rowKey(entryID(1, 3))), []string{"entry 3 of site 1 ended out of scope and was not set aside"}},
		"aside":       {spoilt(bucketAside), []string{"bucket aside"}},
		"aside twice": {sealed(bucketAside, rowKey(entryID(1, 1))), []string{"there are 1 more entries set aside"}},
		"sequence": {func(tx *bbolt.Tx) error { return tx.Bucket(bucketNames).SetSequence(1) }, []string{
			"there are rows of site 2, and only 1 sites", "there are rows of site 2, and only 1 sites"}},
		"entries of no site": {sealed(bucketEntries, readyKey(9, 0, 1)), []string{"there are rows of site 9, and only 2 sites"}},
		"snapshot":           {spoilt(bucketSnapshots, append(lastPutKey(richSite), 1)[:len(richSite)+1]...), []string{"bucket snapshots"}},
		"last snapshot":      {sealed(bucketSnapshots, lastPutKey(richSite), make([]byte, 8)...), []string{"the last robots.txt of http://a.example is missing"}},
		"body": {func(tx *bbolt.Tx) error {
			key, _ := tx.Bucket(bucketBodies).Cursor().First()
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write([]byte("another"))
			return errors.Join(z.Close(), tx.Bucket(bucketBodies).Put(bytes.Clone(key), b.Bytes()))
		}, []string{"is not what was stored", "is not what was stored"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := rich(t)
			edited(t, dir, c.edit)
			got, _, err := problems(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			left := slices.Clone(got)
			for _, want := range c.want {
				i := slices.IndexFunc(left, func(s string) bool { return strings.HasPrefix(s, "state.db: ") && strings.Contains(s, want) })
				if i < 0 {
					t.Errorf("%q is not reported", want)
					continue
				}
				left = slices.Delete(left, i, i+1)
			}
			if len(left) > 0 {
				t.Errorf("%q is reported, too", left)
			}
		})
	}
}

// A Check returns the numbers of sites, entries and snapshots, and the marks.
func TestACheckCounts(t *testing.T) {
	dir := rich(t)
	edited(t, dir, sealed(bucketFinished, []byte("f"), []byte(`{"length":3}`)...))
	fates, payloads := map[string]frontier.Code{}, 0
	done, err := Check{
		Problem: func(err error) { t.Error(err) },
		Fate:    func(u frontier.URL, f frontier.Fate) { fates[u.Target()] = f.Code },
		Payload: func(p Payload) { payloads++ },
	}.Read(t.Context(), dir)
	if err != nil || done.Sites != 2 || done.Entries != 6 || done.Snapshots != 2 || done.Unclean || done.Finished["f"].Length != 3 || payloads != 1 {
		t.Errorf("%+v, %d payloads, %v", done, payloads, err)
	}
	want := map[string]frontier.Code{"/": 0, "/ended": frontier.Fetched, "/waiting": 0, "/aside": frontier.ScopeNarrowed, "/ready": 0, "/more": 0}
	if fmt.Sprint(fates) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", fates, want)
	}
	edited(t, dir, sealed(bucketMeta, keyOpen, []byte("true")...))
	if err := os.WriteFile(filepath.Join(dir, RunFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !checked(t, dir).Unclean {
		t.Error("a run that has not ended is not reported")
	}
}

// If a bucket is missing, the errors of Open and Check have its name.
func TestAStateWithoutABucket(t *testing.T) {
	for _, name := range buckets {
		dir := rich(t)
		edited(t, dir, func(tx *bbolt.Tx) error { return tx.DeleteBucket(name) })
		for what, open := range map[string]func() error{
			"Open":        func() error { _, err := Open(dir, Options{}); return err },
			"OpenReader":  func() error { _, err := OpenReader(dir); return err },
			"OpenOutline": func() error { _, err := OpenOutline(dir); return err },
			"Check":       func() error { _, _, err := problems(t, dir); return err },
		} {
			var damaged *DamagedError
			err := open()
			if want := fmt.Sprintf("its bucket %q is missing", name); !errors.As(err, &damaged) || damaged.Err.Error() != want {
				t.Errorf("%s: %v, want %s", what, err, want)
			}
		}
	}
	dir := t.TempDir()
	edited(t, dir, func(*bbolt.Tx) error { return nil })
	if _, _, err := problems(t, dir); !errors.Is(err, ErrEmpty) {
		t.Errorf("no bucket: %v", err)
	}
}

// pendingState returns a copy of rich as after a kill. All new operations are only in the
// journal.
func pendingState(t *testing.T) string {
	t.Helper()
	dir, copied := rich(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := Usual
		l.SmallPending, l.SomeMerge = 0, 0
		db, err := start(dir, Options{Limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range readAll(t, db, richSite) {
			if e.URL.Target() != "/ready" {
				continue
			}
			c := frontier.Completion{Site: richSite, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched}, Links: []frontier.Entry{entry(t, "http://new.example/new")}}
			if err := db.Submit(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.PutPayload(otherDigest, Payload{time.Now(), "http://a.example/ready"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Millisecond)
		synctest.Wait()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return copied
}

// A Check also checks the journal. Open reports a row of the journal whose site or entry is
// missing.
func TestWhatTheJournalSaysIsChecked(t *testing.T) {
	dir := pendingState(t)
	fates, payloads := map[string]frontier.Code{}, 0
	done, err := Check{
		Problem: func(err error) { t.Error(err) }, Payload: func(Payload) { payloads++ },
		Fate: func(u frontier.URL, f frontier.Fate) { fates[u.Target()] = f.Code },
	}.Read(t.Context(), dir)
	if _, ok := fates["/new"]; !ok || err != nil || fates["/ready"] != frontier.Fetched || fates["/more"] != frontier.Undecided || !done.Unclean || payloads != 2 {
		t.Errorf("%v, %+v, %d payloads, %v", fates, done, payloads, err)
	}
	for name, damage := range map[string]func(*bbolt.Tx) error{
		"name": spoilt(bucketNames, []byte(richSite)...), "record": spoilt(bucketStates, siteNum(1).key()...),
		"fingerprints": spoilt(bucketEntries, siteNum(1).prefix(kindSeen)...),
		"journal":      spoilt(bucketJournal),
		"cut":          sealed(bucketJournal, rowKey(1), 9),
		"payloads":     spoilt(bucketPayloadJournal),
		"cut payloads": sealed(bucketPayloadJournal, rowKey(1), 9),
	} {
		dir := pendingState(t)
		edited(t, dir, damage)
		var damaged *DamagedError
		if _, err := Open(dir, Options{}); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "bucket ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If the row of an ended entry is missing, merging the end fails and ends the run.
func TestAnEndWhoseRowIsMissingEndsTheRun(t *testing.T) {
	dir := pendingState(t)
	edited(t, dir, func(tx *bbolt.Tx) error {
		rows := tx.Bucket(bucketEntries)
		key, _ := rows.Cursor().Seek(siteNum(1).prefix(kindReady)) // the row of /ready
		return rows.Delete(key)
	})
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := r.State(richSite); err != nil || st.Known != 5 || st.Again != 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	db := open(t, dir)
	if err := db.Close(); err == nil || !strings.Contains(err.Error(), "of http://a.example ended, which is not queued") {
		t.Errorf("Close: %v", err)
	}
}

// If the journal has several completions of an entry, the last one decides: an entry that was
// queued again has not ended.
func TestAnEntryThatCameBackInTheJournalHasNotEnded(t *testing.T) {
	e := entry(t, string(richSite)+"/ready")
	db := &DB{cache: newKnownCache(), seed: testSeed, limits: Usual}
	ended := db.encodeCompletion(&frontier.Completion{Site: richSite, Entry: e, Fate: frontier.Fate{Code: frontier.ScopeNarrowed}}, new(draft))
	back := encodeBack(richSite, 1, []named{{fp: fingerprint(e.Key(), testSeed)}})
	for _, c := range []struct {
		rows []encoded
		want frontier.Code
	}{
		{nil, frontier.Undecided}, {[]encoded{ended}, frontier.ScopeNarrowed},
		{[]encoded{ended, back}, frontier.Undecided}, {[]encoded{ended, back, ended}, frontier.ScopeNarrowed},
	} {
		for _, size := range []int{1, 1 << 16} { // limits for a row of the journal, in bytes: one completion in each row, or all in one row
			dir := rich(t)
			edited(t, dir, func(tx *bbolt.Tx) (err error) {
				b := rowsBuilder{size: size}
				for i := range c.rows {
					b.add(&c.rows[i])
				}
				for i, row := range b.rows {
					err = errors.Join(err, put(tx.Bucket(bucketJournal), rowKey(uint64(i+1)), row))
				}
				return err
			})
			fates := map[string]frontier.Code{}
			_, err := Check{
				Problem: func(err error) { t.Error(err) }, Payload: func(Payload) {},
				Fate: func(u frontier.URL, f frontier.Fate) { fates[u.Target()] = f.Code },
			}.Read(t.Context(), dir)
			if err != nil || fates["/ready"] != c.want || fates["/more"] != frontier.Undecided {
				t.Errorf("%d completions in rows of %d bytes: %v, %v", len(c.rows), size, fates, err)
			}
		}
	}
}

// A Check also reports damage that bbolt finds, such as a page to which no other page refers.
func TestAPageToWhichNothingLeadsIsSaid(t *testing.T) {
	dir := rich(t)
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := newestHead(f)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(h.freelist*h.pageSize) + 10 // position of the number of free pages
	var count [2]byte
	_, err = f.ReadAt(count[:], at)
	n := binary.NativeEndian.Uint16(count[:])
	if err != nil || n == 0 || n == 0xffff {
		t.Fatal(n, err)
	}
	binary.NativeEndian.PutUint16(count[:], n-1)
	_, err = f.WriteAt(count[:], at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, _, err := problems(t, dir); err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "state.db: page ") || !strings.Contains(got[0], "unreachable") {
		t.Errorf("%q, %v", got, err)
	}
}

// Open keeps rows of bucketMeta that this version does not know, because another version may
// have written them.
func TestARowThatIsNotKnownIsLeftAlone(t *testing.T) {
	dir, key := rich(t), []byte("position")
	edited(t, dir, sealed(bucketMeta, key, 0, 0, 0, 0, 0, 0, 0, 7))
	for range 2 {
		checked(t, dir)
		r, err := OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := MendFlips(dir); n != 0 || err != nil {
			t.Errorf("%d bits are mended, %v", n, err)
		}
		db := open(t, dir)
		submitted(t, db, frontier.Completion{Links: []frontier.Entry{entry(t, "http://c.example/")}})
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	edited(t, dir, spoilt(bucketMeta, key...))
	if got, _, err := problems(t, dir); err != nil || len(got) != 1 || !strings.Contains(got[0], "checksum") {
		t.Errorf("%q, %v", got, err)
	}
}

// Open reports damage in every row that it reads.
func TestAStateThatCannotBeOpened(t *testing.T) {
	put := func(key, value []byte) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(key, value) }
	}
	u64 := func(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
	for name, c := range map[string]struct {
		damage func(*bbolt.Tx) error
		want   string
		also   bool // OpenOutline reports the damage, too
	}{
		"commit":             {spoilt(bucketMeta, keyCommit...), "checksum", false},
		"form of commit":     {sealed(bucketMeta, keyCommit, make([]byte, 23)...), "known form", false},
		"outputs":            {spoilt(bucketMeta, keyOutputs...), "checksum", true},
		"form of outputs":    {sealed(bucketMeta, keyOutputs, '{'), "JSON", true},
		"form of index":      {sealed(bucketMeta, keyIndex, '{'), "JSON", true},
		"form of restart":    {sealed(bucketMeta, keyRestart, '{'), "JSON", false},
		"archive":            {spoilt(bucketArchives), "checksum", false},
		"name of an archive": {sealed(bucketArchives, []byte("12345"), 'x'), "known form", false},
		"version":            {put(keyVersion, make([]byte, 7)), "not the state of a crawl", true},
		"seed":               {put(keySeed, make([]byte, 9)), "not the state of a crawl", true},
		"no meta":            {func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketMeta) }, `its bucket "meta" is missing`, true},
		"an older layout":    {put(keyVersion, u64(schemaVersion-1)), "has layout 9, this version reads layout 10: use an older version", true},
		"a newer layout":     {put(keyVersion, u64(schemaVersion+1)), "has layout 11, this version reads layout 10: use a newer version", true},
	} {
		dir := rich(t)
		edited(t, dir, c.damage)
		path := filepath.Join(dir, File)
		_, openErr := Open(dir, Options{})
		outline, outlineErr := OpenOutline(dir)
		if outlineErr == nil {
			outline.Close()
		}
		for what, err := range map[string]error{"Open": openErr, "OpenOutline": outlineErr} {
			if what == "OpenOutline" && !c.also {
				if err != nil {
					t.Errorf("%s: OpenOutline: %v", name, err)
				}
				continue
			}
			var damaged *DamagedError
			var version *VersionError
			is := errors.As(err, &damaged) && damaged.Path == path || errors.As(err, &version) && version.Path == path
			if !is || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %q", name, what, err, c.want)
			}
		}
	}
}
