package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// outBody is the body of pages of out.example only. sameBody is the body of pages of several
// sites.
const (
	outBody  = "the words of out.example"
	sameBody = "what several sites say "
)

// A mixed is a crawl of URLs of several sites. It was resumed after it had ended.
type mixed struct {
	dir  string
	urls []string
}

// mixedCrawl makes a mixed with n URLs. If killed is set, the last run of the crawl does not
// close it.
func mixedCrawl(t *testing.T, seed uint64, n int, d disk.Disk, killed bool) mixed {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	opts := Options{Gather: -1, Links: true, Archive: &Archive{MaxSize: 3000}, disk: d}
	c := mixed{dir: filepath.Join(t.TempDir(), "mixed.crawl")}
	var known []frontier.Entry
	for i := range n {
		host := []string{"a.example", "out.example", "www.out.example", "b.example"}[r.IntN(4)]
		c.urls = append(c.urls, fmt.Sprintf("http://%s/%d", host, i))
		known = append(known, entry(t, c.urls[i]))
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for run := range 2 {
		db, err := Open(c.dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		begin := &crawllog.Line{Time: time.Now(), Size: -1, URL: crawllog.RunURL, Annotations: []string{"begin:clean"}}
		if err := errors.Join(db.Log().Write(begin), db.Submit(frontier.Completion{Links: known})); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
		hand := map[string]frontier.Entry{}
		for _, e := range known {
			buf := make([]frontier.Entry, n)
			got, err := db.Read(e.URL.Site(), time.Now(), buf)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range buf[:got] {
				hand[e.URL.String()] = e
			}
		}
		for i := run; i < n; i += 2 {
			mixedVisit(t, db, r, hand[c.urls[i]])
		}
		if killed && run == 1 {
			c.dir = crash(t, c.dir)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// mixedVisit writes the visit of an entry and submits its completion, sometimes so that the
// entry is fetched again.
func mixedVisit(t *testing.T, db *DB, r *rand.Rand, e frontier.Entry) {
	t.Helper()
	url, now := e.URL.String(), time.Now().UTC().Truncate(time.Millisecond)
	if err := db.Log().Write(&crawllog.Line{Time: now, Start: now, Status: 200, URL: url}); err != nil {
		t.Fatal(err)
	}
	body := bytes.Repeat([]byte(sameBody), 5)
	if r.IntN(3) > 0 {
		body = fmt.Appendf(nil, "%s %s %0*d", url, strings.Repeat(outBody, strings.Count(url, "out.example")), 60+r.IntN(900), 7)
	}
	digest := warc.PayloadDigest(&warc.HTTP{Body: body})
	failed, answer := *mixedExchange(url, now.Add(-time.Second), []byte("try again "+url)), mixedExchange(url, now, body)
	v := &Visit{
		Exchanges: []*warc.Exchange{&failed, answer}, Answer: answer,
		Page:  &PageRecord{URL: url, Time: now, Status: 200, Digest: digest, Links: 2, Body: body},
		Links: []LinkRecord{{From: url, To: "http://out.example/", Hop: "L", Text: "a text on " + url}, {From: url, To: url + "/1", Hop: "L"}},
	}
	if refused, err := db.PutVisit(v); err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	fate := frontier.Fate{Code: frontier.Fetched, Status: 200, Digest: digest, Time: now, Answer: v.Place}
	if r.IntN(3) == 0 {
		e.Visits = &frontier.Visits{First: now, Last: fate}
		fate.Until = now.Add(7 * 24 * time.Hour)
	}
	if err := db.Submit(frontier.Completion{Site: e.URL.Site(), Entry: e, Fate: fate, Clocks: frontier.Clocks{Ended: now}}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
}

func mixedExchange(url string, at time.Time, body []byte) *warc.Exchange {
	return &warc.Exchange{
		URL: url, Date: at, Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{}, Coding: warc.Unchunked, Body: body},
		Request:  &warc.HTTP{StartLine: "GET / HTTP/1.1", Header: http.Header{"Host": {"x"}}},
		Metadata: []warc.Field{{Name: "fetchTimeMs", Value: "12"}},
	}
}

// purgeOf returns a Purge that removes the captures of out.example and of the hosts below it.
func purgeOf(d disk.Disk) *Purge {
	return &Purge{
		Places: []string{"out.example"}, Time: time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC), disk: d,
		Why: func(url string) string {
			if strings.HasPrefix(url, "http://out.example/") || strings.HasPrefix(url, "http://www.out.example/") {
				return "opt-out.txt:1: out.example"
			}
			return ""
		},
	}
}

// holds returns, for each URL, the parts of the outputs that are about it, in their order.
func holds(t *testing.T, dir string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for p, err := range ReadPages(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		all[p.URL] = append(all[p.URL], fmt.Sprintf("page %+v", p))
	}
	for l, err := range ReadLinks(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		all[l.From] = append(all[l.From], fmt.Sprintf("link %+v", l))
	}
	files, err := warcFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		in := warc.NewReader(bytes.NewReader(raw))
		for r, err := in.Next(); err == nil; r, err = in.Next() {
			if n, err := r.Close(); err != nil {
				t.Fatal(err)
			} else if url := r.TargetURI(); url != "" {
				all[url] = append(all[url], fmt.Sprintf("record %s %s %x", f.name, r.Type, raw[r.Offset:r.Offset+n]))
			}
		}
	}
	for _, name := range []string{IndexFile, indexPart} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			e, err := cdxj.Parse(strings.TrimSpace(string(line)))
			if err != nil {
				t.Fatal(err)
			}
			all[e.URL] = append(all[e.URL], name+" "+string(line))
		}
	}
	return all
}

// purged fails the test if a part about a URL of out.example is left, or if a part about
// another URL is missing.
func purged(t *testing.T, dir string, before map[string][]string) {
	t.Helper()
	p, after := purgeOf(disk.Disk{}), holds(t, dir)
	for url := range before {
		if p.Why(url) == "" && !slices.Equal(after[url], before[url]) {
			t.Errorf("%s: got\n%s\nwant\n%s", url, after[url], before[url])
		}
		if p.Why(url) != "" && len(after[url]) > 0 {
			t.Errorf("%s: %s is left", url, after[url])
		}
	}
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for url := range before {
		u, _ := frontier.ParseURL(url)
		fate, _, err := r.Fate(u)
		why, gone := PurgedFate(fate)
		if err != nil || gone != (p.Why(url) != "") || gone && (why != p.Why(url) || !fate.Time.Equal(p.Time) || fate.Answer != frontier.Place{} || fate.Digest != "") {
			t.Errorf("%s: %+v, %v", url, fate, err)
		}
	}
	inEvery(t, dir, func(path string, raw []byte) {
		if bytes.Contains(raw, []byte(outBody)) {
			t.Errorf("%s: words of out.example are left", path)
		}
	})
}

// recordIDs returns the WARC-Record-IDs of all records of the archive, by file and offset.
func recordIDs(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := ArchiveFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in := warc.NewReader(bytes.NewReader(raw))
		for r, err := in.Next(); err == nil; r, err = in.Next() {
			all[fmt.Sprintf("%s %d", filepath.Base(path), r.Offset)] = r.ID
		}
	}
	return all
}

// inEvery calls f with the path and the uncompressed contents of each file of a crawl.
func inEvery(t *testing.T, dir string, f func(path string, raw []byte)) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if in := bytes.NewReader(raw); err == nil && strings.HasSuffix(path, archiveFile) {
			raw = nil
			warcs := warc.NewReader(in)
			for r, err := warcs.Next(); err == nil; r, err = warcs.Next() {
				var block bytes.Buffer
				if _, err := block.ReadFrom(r); err != nil {
					return err
				}
				raw = append(raw, block.Bytes()...)
			}
		}
		f(path, raw)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// A purge removes everything that a crawl has about some hosts, and nothing about other hosts
// moves. Run removes what Plan has returned, a second purge removes nothing, and the crawl can
// be resumed.
func TestAPurgeTakesOutWhatIsOfAPlaceAndNothingElse(t *testing.T) {
	for seed := range uint64(*sims) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			killed := seed%3 == 2
			c := mixedCrawl(t, seed, 14, disk.Disk{}, killed)
			if killed { // truncate the outputs first, as the next run would do
				reopened(t, c.dir, Options{asIs: true})
			}
			before, ids := holds(t, c.dir), recordIDs(t, c.dir)
			p := purgeOf(disk.Disk{})
			p.Problem = func(err error) { t.Error(err) }
			planned, err := p.Plan(t.Context(), c.dir)
			if err != nil || planned.None() || planned.By["opt-out.txt:1: out.example"] != planned.Taken {
				t.Fatal(planned, err)
			}
			done, err := p.Run(t.Context(), c.dir)
			if err != nil {
				t.Fatal(err)
			}
			planned.Entries = done.Entries
			if fmt.Sprint(planned) != fmt.Sprint(done) || done.Entries == 0 {
				t.Errorf("planned %+v, done %+v", planned, done)
			}
			purged(t, c.dir, before)
			if is := recordIDs(t, c.dir); !maps.Equal(is, ids) {
				t.Errorf("the records and their IDs are\n%v, and were\n%v", is, ids)
			}
			if v := verified(t, c.dir); int64(v.Purged) != done.Records {
				t.Errorf("%d of %d records", v.Purged, done.Records)
			}
			if again, err := p.Run(t.Context(), c.dir); err != nil || !again.None() {
				t.Errorf("a second one: %+v, %v", again, err)
			}
			opts := Options{Gather: -1, Links: true, Archive: &Archive{}}
			db, err := Open(c.dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := db.Requeue(func(frontier.Entry) bool { return true }); err != nil || n != done.Entries {
				t.Errorf("%d of %d come back once they may, %v", n, done.Entries, err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			verified(t, c.dir)
		})
	}
}

// The state may still have an answer of an earlier visit, if the entry ended since, was put
// aside, or was requeued. A purge removes that answer, too.
func TestAPurgeForgetsTheVisitsBeforeTheLast(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Gather: -1, Archive: &Archive{}}
	db, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	urls := []string{"http://out.example/ended", "http://out.example/aside", "http://out.example/back"}
	site := frontier.Site("http://out.example")
	read := func() (all map[string]frontier.Entry) {
		t.Helper()
		buf := make([]frontier.Entry, 9)
		n, err := db.Read(site, time.Now(), buf)
		if err != nil || n != len(urls) {
			t.Fatal(n, err)
		}
		all = map[string]frontier.Entry{}
		for _, e := range buf[:n] {
			all[e.URL.String()] = e
		}
		return all
	}
	end := func(e frontier.Entry, f frontier.Fate) {
		t.Helper()
		if err := db.Submit(frontier.Completion{Site: site, Entry: e, Fate: f, Clocks: frontier.Clocks{Ended: f.Time}}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, urls[0]), entry(t, urls[1]), entry(t, urls[2])}}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	now := time.Now().UTC().Truncate(time.Millisecond)
	for url, e := range read() {
		x := mixedExchange(url, now, []byte(url+" "+outBody))
		v := &Visit{Exchanges: []*warc.Exchange{x}, Answer: x}
		if refused, err := db.PutVisit(v); err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		fate := frontier.Fate{Code: frontier.Fetched, Status: 404, Time: now, Answer: v.Place}
		e.Visits = &frontier.Visits{First: now, Last: fate}
		fate.Until = now.Add(-time.Hour)
		end(e, fate)
	}
	for url, e := range read() {
		fate := frontier.Fate{Code: frontier.ScopeNarrowed, Time: now}
		if url == urls[0] {
			fate = frontier.Fate{Code: frontier.Failed, Detail: "reset", Time: now}
		}
		end(e, fate)
	}
	if n, err := db.Requeue(func(e frontier.Entry) bool { return e.URL.String() == urls[2] }); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if done, err := purgeOf(disk.Disk{}).Run(t.Context(), dir); err != nil || done.Entries != len(urls) {
		t.Errorf("%+v, %v", done, err)
	}
	verified(t, dir)
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, url := range urls {
		u, _ := frontier.ParseURL(url)
		if fate, _, err := r.Fate(u); err != nil || fate.Code != frontier.OptedOut {
			t.Errorf("%s: %+v, %v", url, fate, err)
		}
	}
}

// After a purge no later answer becomes a revisit of a purged answer. Records that already
// repeat one are counted.
func TestWhatWasPurgedIsReferredToNoMore(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Gather: -1, Archive: &Archive{}}
	body := bytes.Repeat([]byte(sameBody), 9)
	put := func(url string) (revisit bool) {
		t.Helper()
		db, err := Open(dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		x := mixedExchange(url, time.Now().UTC(), body)
		if refused, err := db.PutVisit(&Visit{Exchanges: []*warc.Exchange{x}, Answer: x}); err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return x.Revisit != nil
	}
	if put("http://out.example/") || !put("http://a.example/") {
		t.Fatal("the second one is no revisit")
	}
	planned, err := purgeOf(disk.Disk{}).Plan(t.Context(), dir)
	if want := map[string]int64{"a.example": 1}; err != nil || !maps.Equal(planned.Bodiless, want) {
		t.Errorf("without their body would be %v, %v", planned.Bodiless, err)
	}
	if done, err := purgeOf(disk.Disk{}).Run(t.Context(), dir); err != nil || done.Records != 3 || !maps.Equal(done.Bodiless, planned.Bodiless) {
		t.Fatal(done, err)
	}
	if planned, err := purgeOf(disk.Disk{}).Plan(t.Context(), dir); err != nil || len(planned.Bodiless) > 0 {
		t.Errorf("after the purge: %v, %v", planned.Bodiless, err)
	}
	if v := verified(t, dir); v.Bodiless != 1 || v.Purged != 3 {
		t.Errorf("%+v", v)
	}
	if put("http://b.example/") || !put("http://c.example/") {
		t.Error("a later record refers to a purged one, or an earlier one does not")
	}
	if v := verified(t, dir); v.Bodiless != 1 {
		t.Errorf("%+v", v)
	}
}

// While a purge runs, and after it was interrupted, the index may still have lines about purged
// captures. Capture returns nil for them.
func TestWhatIsBeingPurgedIsNotRemembered(t *testing.T) {
	c := mixedCrawl(t, 3, 14, disk.Disk{}, false)
	p := purgeOf(disk.Disk{})
	seen, gone := 0, 0
	p.step = func() {
		for _, text := range c.urls {
			u, err := frontier.ParseURL(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := PastOf(c.dir).Capture(u)
			if p.Why(text) != "" && got == nil && err == nil {
				gone++
			} else if got != nil && err == nil {
				seen++
			} else if got == nil && err != nil && !strings.Contains(err.Error(), "is repeated") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	// Capture waits for the lock of the state, here in virtual time.
	synctest.Test(t, func(t *testing.T) {
		if _, err := p.Run(t.Context(), c.dir); err != nil || seen == 0 || gone == 0 {
			t.Error(seen, gone, err)
		}
	})
}

// A purge cannot change WARC files that were moved away. Purged.Moved counts the captures in
// them.
func TestAPurgeCountsWhatWasMovedAway(t *testing.T) {
	c := mixedCrawl(t, 1, 12, disk.Disk{}, false)
	files, err := ArchiveFiles(c.dir)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for i, path := range files {
		if err := os.Rename(path, filepath.Join(t.TempDir(), fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	done, err := purgeOf(disk.Disk{}).Run(t.Context(), c.dir)
	moved := int64(0)
	for _, n := range done.Moved {
		moved += n
	}
	if err != nil || moved == 0 || moved != done.Captures || done.Records != 0 || done.Pages == 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if v, err := (Check{Moved: true, Problem: func(err error) { t.Error(err) }}).Verify(t.Context(), c.dir); err != nil || len(v.Moved) < 2 {
		t.Errorf("%+v, %v", v, err)
	}
}

// lineURL reads the URL of a line from the line's beginning. The line may be of any length, and
// its members may be in any order.
func TestALineIsJudgedByWhatItIsAbout(t *testing.T) {
	long := strings.Repeat("x", 3*lineStart)
	about := func(url, body string) string {
		raw, err := json.Marshal(map[string]string{"body": body, "url": url})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw) + "\n"
	}
	own := func(url, body string) string { return `{"url":"` + url + `","body":"` + body + "\"}\n" }
	kept := own("http://a.example/", long) + about("http://b.example/", "x") + "no object\n" + `{"title":"x"}` + "\n"
	all := own("http://out.example/", long) + kept + about("http://out.example/", "x") +
		strings.Replace(own("http://out.example/", "x"), "out", `\u006fut`, 1) + strings.TrimSuffix(own("http://out.example/1", "torn"), "\n")
	var out bytes.Buffer
	unreadable, lines, size := 0, 0, int64(0)
	f := lineFilter{name: PagesFile, why: purgeOf(disk.Disk{}).Why, unreadable: func(int64, error) { unreadable++ }}
	f.dropped = func(_, _ string, n int64) { lines, size = lines+1, size+n }
	err := f.copy(&out, strings.NewReader(all))
	if err != nil || out.String() != kept || lines != 4 || size != int64(len(all)-len(kept)) || unreadable != 2 {
		t.Errorf("%d lines, %d bytes, %d unreadable, %v; %d bytes stay, want %d", lines, size, unreadable, err, out.Len(), len(kept))
	}
}

// readPurge reads what a purgeWriter has written, with any number of places. It fails if the
// last line is missing.
func TestWhatIsToBePurgedIsReadAsItWasNoted(t *testing.T) {
	dir := t.TempDir()
	var places []string
	for i := range 200_000 {
		places = append(places, fmt.Sprintf("https://host-with-a-name-%d.example/~joe/", i))
	}
	began := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	record := purgeRecord{"x.warc.gz", 12, 345, "urn:uuid:1", "record"}
	w, err := newPurgeWriter(dir, disk.Disk{}, purgeHead{began, places})
	if err == nil {
		err = errors.Join(w.enc.Encode(record), w.finish(purgeEnd{true, []string{PagesFile}}))
	}
	if err != nil {
		t.Fatal(err)
	}
	var records []purgeRecord
	head, end, err := readPurge(dir, func(r *purgeRecord) error {
		records = append(records, *r)
		return nil
	})
	if err != nil || !head.Time.Equal(began) || !slices.Equal(head.Places, places) || !slices.Equal(records, []purgeRecord{record}) || !slices.Equal(end.Wrong, []string{PagesFile}) {
		t.Errorf("%v, %d places, %v, %+v, %v", head.Time, len(head.Places), records, end, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, purgeFile))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][]byte{
		"no end": raw[:bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1], "torn": raw[:len(raw)/2], "nothing": nil, "more": append(slices.Clone(raw), "{}\n"...), "no JSON": append([]byte("x"), raw...),
	} {
		if err := os.WriteFile(filepath.Join(dir, purgeFile), text, 0o644); err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		if broken, err := UnfinishedPurge(dir); !errors.As(err, &damaged) {
			t.Errorf("%s: %v, %v", what, broken, err)
		}
	}
}
