package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

func TestCloseLeavesACleanCrawl(t *testing.T) {
	dir := filled(t)
	if _, err := ReadRun(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("run.json after Close: %v", err)
	}
	db := open(t, dir)
	defer db.Close()
	if db.Begun().Unclean {
		t.Error("a closed crawl opens as unclean")
	}
	run, err := ReadRun(dir)
	if err != nil || run.PID != os.Getpid() {
		t.Errorf("run.json: %+v, %v", run, err)
	}
}

func TestACrawlHasOneHolder(t *testing.T) {
	dir := filled(t)
	db := open(t, dir)
	defer db.Close()
	_, err := start(dir, Options{})
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.Run == nil || inUse.Run.PID != os.Getpid() {
		t.Errorf("second Open: %v", err)
	}
}

func TestSnapshotsComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	at := time.Date(2030, 1, 1, 12, 0, 0, 123456789, time.UTC)
	site, other := frontier.Site("http://a.example"), frontier.Site("http://a.example:81")
	good := &robots.Snapshot{
		URL: "http://a.example/robots.txt", Fetched: at, Status: 200, Body: []byte("User-agent: *\nDisallow: /x\n\xff"),
		Header: robots.Header{CacheControl: "max-age=60", ETag: `"1"`},
	}
	bad := (&robots.Snapshot{URL: good.URL, Fetched: at.Add(time.Hour), Status: 503, Header: robots.Header{RetryAfter: at.Add(2 * time.Hour)}}).After(good)
	if s, err := db.Snapshot(site); s != nil || err != nil {
		t.Fatalf("before: %+v, %v", s, err)
	}
	for _, s := range []*robots.Snapshot{good, bad} {
		if err := db.PutSnapshot(site, s); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Snapshot(site); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("before the commit: %+v, %v; want %+v", got, err, s)
		}
	}
	if err := db.PutSnapshot(other, &robots.Snapshot{URL: "http://a.example:81/robots.txt", Fetched: at, Status: 404}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, dir)
	defer db.Close()
	got, err := db.Snapshot(site)
	if err != nil || !reflect.DeepEqual(got, bad) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, bad)
	}
	if got, err := db.Snapshot(other); err != nil || got.Status != 404 {
		t.Errorf("other site: %+v, %v", got, err)
	}
	if got, err := db.Snapshot("http://zzz.example"); got != nil || err != nil {
		t.Errorf("unknown site: %+v, %v", got, err)
	}
}

// A license document is stored under its URL. It is not mistaken for a copy of a robots.txt,
// even if its URL is the root of a site.
func TestLicensesComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	at := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	var urls []frontier.URL
	for _, raw := range []string{"http://a.example/", "http://a.example/l.xml", "http://a.example/l.xml?2"} {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u)
	}
	want := make([]*robots.Snapshot, len(urls))
	for i, u := range urls {
		if s, err := db.License(u); s != nil || err != nil {
			t.Fatalf("before: %+v, %v", s, err)
		}
		good := &robots.Snapshot{URL: u.String(), Fetched: at, Status: 200, Body: []byte("<rsl/>" + u.String())}
		want[i] = (&robots.Snapshot{URL: u.String(), Fetched: at.Add(time.Hour), Status: 302, Final: "http://b.example/"}).After(good)
		for _, s := range []*robots.Snapshot{good, want[i]} {
			if err := db.PutLicense(u, s); err != nil {
				t.Fatal(err)
			}
			if got, err := db.License(u); err != nil || !reflect.DeepEqual(got, s) {
				t.Errorf("before the commit: %+v, %v; want %+v", got, err, s)
			}
		}
	}
	if err := db.PutLicense(urls[0], &robots.Snapshot{Fetched: at, Body: make([]byte, maxRulesBody+1)}); err == nil {
		t.Error("one that is too long is kept")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if v := checked(t, dir); v.Snapshots != 0 {
		t.Errorf("%d copies of robots.txt", v.Snapshots)
	}
	db = open(t, dir)
	defer db.Close()
	for i, u := range urls {
		if got, err := db.License(u); err != nil || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%s: %+v, %v, want %+v", u, got, err, want[i])
		}
	}
	if s, err := db.Snapshot("http://a.example"); s != nil || err != nil {
		t.Errorf("a robots.txt: %+v, %v", s, err)
	}
	for s, err := range db.Snapshots("http://a.example") {
		t.Errorf("a robots.txt: %+v, %v", s, err)
	}
}

func TestFateSaysHowAnEntryEnded(t *testing.T) {
	db := open(t, t.TempDir())
	defer db.Close()
	u, err := frontier.ParseURL("http://a.example/x")
	if err != nil {
		t.Fatal(err)
	}
	want := func(code frontier.Code, known bool) {
		t.Helper()
		if fate, ok, err := fateFor(db, u); fate.Code != code || ok != known || err != nil {
			t.Errorf("fate %v, known %v, %v; want %v, %v", fate.Code, ok, err, code, known)
		}
	}
	want(frontier.Undecided, false)
	db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}})
	settle(t, db, 1)
	want(frontier.Undecided, true)
	var e [1]frontier.Entry
	if n, err := db.Read(u.Site(), time.Now(), e[:]); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	db.Submit(frontier.Completion{Site: u.Site(), Entry: e[0], Fate: frontier.Fate{Code: frontier.Waiting, Until: time.Now()}})
	settle(t, db, 1)
	want(frontier.Waiting, true)
	if n, err := db.Read(u.Site(), time.Now().Add(time.Second), e[:]); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	db.Submit(frontier.Completion{Site: u.Site(), Entry: e[0], Fate: frontier.Fate{Code: frontier.Fetched, Status: 200}})
	settle(t, db, 1)
	want(frontier.Fetched, true)
}

func TestPutKeepsValues(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	if err := db.Put("k", []string{"v"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Put("k", 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Put after Close: %v", err)
	}
	db = open(t, dir)
	defer db.Close()
	var v []string
	if ok, err := db.Get("k", &v); !ok || err != nil || v[0] != "v" {
		t.Errorf("got %v, %v, %v", v, ok, err)
	}
	if ok, err := db.Get("none", &v); ok || err != nil {
		t.Errorf("unknown key: %v, %v", ok, err)
	}
}

// A read transaction sees the queue as it was when the transaction began. Read must not return
// an entry that has ended meanwhile.
func TestNothingIsReadTwice(t *testing.T) {
	db := open(t, t.TempDir())
	site := frontier.Site("http://a.example")
	const n = 2000
	var links []frontier.Entry
	for i := range n {
		u, err := frontier.ParseURL(fmt.Sprintf("%s/%d", site, i))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, frontier.Entry{URL: u})
	}
	if err := db.Submit(frontier.Completion{Links: links}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	var mu sync.Mutex
	read := map[uint64]int{}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for idle := 0; idle < 3; {
				var buf [2]frontier.Entry
				k, err := db.Read(site, time.Now(), buf[:])
				if err != nil {
					t.Error(err)
					return
				}
				if k == 0 {
					idle++
				}
				for _, e := range buf[:k] {
					mu.Lock()
					read[e.ID]++
					mu.Unlock()
					if err := db.Submit(frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched}}); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	workers.Wait()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	for id, k := range read {
		if k != 1 {
			t.Errorf("entry %d was read %d times", id, k)
		}
	}
	if len(read) != n {
		t.Errorf("%d entries were read, want %d", len(read), n)
	}
}

// If a site lost its name or its record, it would be taken for a new site, and its queued
// entries would be forgotten or requested twice. So Open reports such a loss.
func TestNamesAndRecordsOfSitesBelongTogether(t *testing.T) {
	for name, damage := range map[string]func(tx *bbolt.Tx) error{
		"a name is lost": func(tx *bbolt.Tx) error { return tx.Bucket(bucketNames).Delete([]byte("http://a.example")) },
		"a record is lost": func(tx *bbolt.Tx) error {
			n, err := siteNumber(tx.Bucket(bucketNames), "http://a.example")
			return errors.Join(err, tx.Bucket(bucketStates).Delete(n.key()))
		},
		"both are another's": func(tx *bbolt.Tx) error {
			names := tx.Bucket(bucketNames)
			a, err := siteNumber(names, "http://a.example")
			b, err2 := siteNumber(names, "https://b.example")
			return errors.Join(err, err2,
				put(names, []byte("http://a.example"), append(make([]byte, checksumSize), b.key()...)),
				put(names, []byte("https://b.example"), append(make([]byte, checksumSize), a.key()...)))
		},
		"a name of none": func(tx *bbolt.Tx) error {
			return put(tx.Bucket(bucketNames), []byte("http://c.example"), append(make([]byte, checksumSize), siteNum(9).key()...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			db := open(t, dir)
			if err := db.file.bolt.Update(damage); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = open(t, dir)
			defer db.Close()
			var damaged *DamagedError
			if err := pairErrors(db.Sites()); !errors.As(err, &damaged) || damaged.Path != filepath.Join(dir, File) {
				t.Errorf("%v, want a *DamagedError", err)
			}
		})
	}
}

// If the state file cannot be opened, the error is an error of the file system and no
// *DamagedError. Otherwise the user might replace an undamaged crawl by a backup.
func TestWhatCannotBeOpenedIsNotDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(File, filepath.Join(dir, File)); err != nil {
		t.Skip(err) // on Windows only some users may make symbolic links
	}
	_, checked := openChecked(dir, false)
	_, queue := OpenReader(dir)
	for _, err := range []error{checked, queue} {
		var damaged *DamagedError
		if errors.As(err, &damaged) || !errors.Is(err, syscall.ELOOP) {
			t.Errorf("%v, want the error of the file system", err)
		}
	}
}

// A value that cannot be stored is refused by Put, or ends the run. It is never acknowledged.
func TestWhatCannotBeKeptIsSaid(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	if err := db.Put("key", make(chan int)); err == nil {
		t.Error("a channel was put")
	}
	if err := db.Put(strings.Repeat("x", 40_000), 1); !errors.Is(err, berrors.ErrKeyTooLarge) {
		t.Errorf("a key of 40,000 bytes: %v", err)
	}
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/")}}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	// Submitters do not check the length of a site's name. The committer fails on it.
	if err := db.PutSnapshot(frontier.Site(strings.Repeat("x", 40_000)), &robots.Snapshot{Status: 200}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); !errors.Is(err, berrors.ErrKeyTooLarge) {
		t.Errorf("Close: %v", err)
	}
	if v := checked(t, dir); v.Entries != 1 || v.Snapshots != 0 {
		t.Errorf("%+v", v)
	}
}

// Hasten lets a goroutine continue that waits for room in the queue, even if the disk blocks.
// Its operation is accepted.
func TestNoWaitForRoomOutlivesTheRun(t *testing.T) {
	dir := t.TempDir()
	const workers = 8
	synctest.Test(t, func(t *testing.T) {
		tiny := Usual
		tiny.Queue = 1
		var stuck atomic.Bool
		answers := make(chan struct{})
		db, err := start(dir, Options{Gather: -1, Limits: &tiny, Fault: func(err error) error {
			if stuck.Load() {
				<-answers
			}
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		stuck.Store(true)
		var ended atomic.Int64
		for w := range workers {
			go func() { // the goroutine ends after all its operations were accepted
				for i := range 3 {
					if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, fmt.Sprintf("http://h%d.example/%d", w, i))}}); err != nil {
						t.Error(err)
					}
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		if n := ended.Load(); n == workers {
			t.Error("no goroutine waits for room")
		}
		db.Hasten()
		synctest.Wait()
		if n := ended.Load(); n != workers {
			t.Errorf("%d of %d have ended", n, workers)
		}
		close(answers)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if v := checked(t, dir); v.Entries != 3*workers {
		t.Errorf("%d entries, want %d", v.Entries, 3*workers)
	}
}

// NextAgain is found if a few entries that wait for another try come first. If very many come
// first, the search stops.
func TestTheNextThatIsFetchedAgainIsFoundBehindRetries(t *testing.T) {
	for retries, found := range map[int]bool{0: true, mostPassed - 1: true, mostPassed: false} {
		db, err := start(t.TempDir(), Options{Gather: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		const site = frontier.Site("http://a.example")
		var links []frontier.Entry
		for i := range retries + 2 {
			links = append(links, entry(t, fmt.Sprintf("%s/%d", site, i)))
		}
		submitted(t, db, frontier.Completion{Links: links})
		read := make([]frontier.Entry, len(links))
		if n, err := db.Read(site, time.Now(), read); n != len(read) || err != nil {
			t.Fatal(n, err)
		}
		first := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		for i, e := range read {
			c := frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: frontier.Waiting, Until: first.Add(time.Duration(i) * time.Second)}}
			if c.Entry.Tries = 1; i >= retries {
				c.Entry.Tries, c.Entry.Visits, c.Fate.Code = 0, &frontier.Visits{}, frontier.Fetched
			}
			submitted(t, db, c)
		}
		st, err := db.State(site)
		if err != nil || st.Queued != retries || st.Again != 2 || !st.Waiting.Equal(first) {
			t.Errorf("%+v, %v", st, err)
		}
		if want := first.Add(time.Duration(retries) * time.Second); found != st.NextAgain.Equal(want) || found == st.NextAgain.IsZero() {
			t.Errorf("after %d the next one is due %v, want %v, found: %v", retries, st.NextAgain, want, found)
		}
	}
}
