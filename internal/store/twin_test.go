package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/statetest"
	"github.com/permesso-crawler/permesso/robots"
)

// An act is one operation on a DB. The twin remembers it to check its effect.
type act struct {
	completion *frontier.Completion
	url        string // URL of the entry that ended
	key        string // key of a Put
	site       frontier.Site
	snapshot   *robots.Snapshot
	pages      int                // number of pages that were written before
	forward    map[string]forward // entries that the changes of a completion make due earlier, by URL
}

// A forward is the due time of an entry before and after a change has made it due earlier.
type forward struct{ from, to time.Time }

// A twin is a DB together with its expected contents. While submitted operations are not
// merged, the twin checks only what must not happen, because the moment of the merge is
// unknown.
type twin struct {
	t     *testing.T
	rand  *rand.Rand
	db    *DB
	opts  Options
	acts  []act
	pages []string
	now   time.Time

	submitted, settled int
	owed               bool // the DB was opened with a journal that is not merged yet
	urls               map[string]*twinURL
	sites              map[frontier.Site]*twinSite
	common             map[string]time.Time
	put                map[string]int
	forward            int // number of entries that were made due earlier
	snapshots          map[frontier.Site]*robots.Snapshot
	out, held          []frontier.Entry
	hints              map[frontier.Site]*hint // hints of a frontier about the entries of each site
}

type twinURL struct {
	entry frontier.Entry // the entry as it was found, but with its current Tries and ByGet, and its Due if it waits
	order int            // position of the entry among the entries of its site
	fate  frontier.Fate
	out   bool
	was   time.Time // due time of the entry before a change made it earlier
}

type twinSite struct {
	clocks frontier.Clocks
	spent  frontier.Spent
	given  frontier.Fate
}

type hint struct {
	more  bool
	retry time.Time
}

func (w *twin) forget() {
	w.urls, w.sites = map[string]*twinURL{}, map[frontier.Site]*twinSite{}
	w.common, w.put = map[string]time.Time{}, map[string]int{}
	w.snapshots, w.hints = map[frontier.Site]*robots.Snapshot{}, map[frontier.Site]*hint{}
	w.out, w.held, w.submitted, w.settled = nil, nil, 0, 0
}

// apply applies the act with number i to the expected contents.
func (w *twin) apply(i int) {
	a := &w.acts[i]
	switch {
	case a.snapshot != nil:
		w.snapshots[a.site] = a.snapshot
		return
	case a.key != "":
		w.put[a.key] = i
		return
	}
	c := a.completion
	if c.Site != "" {
		w.sites[c.Site] = &twinSite{c.Clocks, c.Spent, c.Given}
	}
	if u := w.urls[a.url]; u != nil {
		u.out, u.fate, u.was = false, c.Fate, time.Time{}
		u.entry.Due = time.Time{}
		if c.Fate.Waits() {
			u.entry.Visits = c.Entry.Visits
			u.entry.Due, u.entry.Tries = c.Fate.Until.Add(time.Millisecond-1).Truncate(time.Millisecond), c.Entry.Tries
			u.entry.ByGet = c.Entry.ByGet
		}
	}
	for key, f := range a.forward {
		if u := w.urls[key]; u.fate.Again() && u.entry.Due.Equal(f.from) {
			u.entry.Due, u.was = f.to, f.from
		}
	}
	for _, s := range c.Common {
		if s.Due.After(w.common[s.Name]) {
			w.common[s.Name] = s.Due
		}
	}
	for _, l := range c.Links {
		if key := l.Key(); w.urls[key] == nil {
			w.urls[key] = &twinURL{entry: l, order: len(w.urls)}
			if w.sites[l.URL.Site()] == nil {
				w.sites[l.URL.Site()] = &twinSite{}
			}
		}
	}
}

// do performs an act on the DB, and remembers it.
func (w *twin) do(a act) {
	w.t.Helper()
	a.pages = len(w.pages)
	i := len(w.acts)
	w.acts = append(w.acts, a)
	var err error
	switch {
	case a.snapshot != nil:
		err = w.db.PutSnapshot(a.site, a.snapshot)
	case a.key != "":
		err = w.db.Put(a.key, i)
	default:
		w.submitted++
		err = w.db.Submit(*a.completion)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.apply(i)
}

// url returns a random URL. There are few, and one site has many of them.
func (w *twin) url() frontier.URL {
	h := w.rand.IntN(6)
	n := 12
	if h == 0 {
		n = 300
	}
	u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", h, w.rand.IntN(n)))
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}

func (w *twin) site() frontier.Site { return w.url().Site() }

func (w *twin) links(n int) []frontier.Entry {
	var links []frontier.Entry
	for range w.rand.IntN(n + 1) {
		e := frontier.Entry{URL: w.url(), Depth: w.rand.IntN(3), Rank: uint8(w.rand.IntN(3)), Hops: "LLR"[:w.rand.IntN(4)], Head: w.rand.IntN(4) == 0}
		switch w.rand.IntN(3) {
		case 0:
			e.Via = w.url().String()
		case 1:
			e.Tag = "tag"
		}
		if same := w.url(); same.Site() == e.URL.Site() && w.rand.IntN(2) == 0 {
			e.Same, e.Apart = same, w.rand.IntN(4) == 0
		}
		links = append(links, e)
	}
	return links
}

// readable returns the entries of a site that Read must return, in their order, if there is
// room and all acts are merged: ready entries, and entries that wait for a time.
func (w *twin) readable(site frontier.Site, now time.Time) (ready, waiting []*twinURL) {
	for _, u := range w.urls {
		if u.entry.URL.Site() != site || u.out {
			continue
		}
		switch u.fate.Code {
		case frontier.Undecided:
			ready = append(ready, u)
		default:
			if u.fate.Waits() {
				waiting = append(waiting, u)
			}
		}
	}
	slices.SortFunc(ready, func(a, b *twinURL) int {
		return cmp.Or(cmp.Compare(a.entry.Rank, b.entry.Rank), cmp.Compare(a.order, b.order))
	})
	slices.SortFunc(waiting, func(a, b *twinURL) int {
		return cmp.Or(a.entry.Due.Compare(b.entry.Due), cmp.Compare(a.order, b.order))
	})
	return ready, waiting
}

func (w *twin) read() {
	site := w.site()
	buf := make([]frontier.Entry, 1+w.rand.IntN(8))
	now := w.now
	if w.rand.IntN(10) == 0 { // let the clock jump
		now = now.Add(time.Duration(w.rand.IntN(7200)-3600) * time.Second)
	}
	all := w.settled == w.submitted && !w.owed
	h := w.hint(site)
	h.more = false
	if !h.retry.After(now) {
		h.retry = time.Time{}
	}
	n, err := w.db.Read(site, now, buf)
	if err != nil {
		w.t.Fatal(err)
	}
	h.more = h.more || n == len(buf)
	var want []*twinURL
	if all {
		ready, waiting := w.readable(site, now)
		waiting = slices.DeleteFunc(waiting, func(u *twinURL) bool { return u.entry.Due.After(now) })
		want = append(waiting, ready...)
		if n != min(len(want), len(buf)) {
			w.t.Fatalf("Read(%s) = %d entries, want %d of %d", site, n, len(buf), len(want))
		}
	}
	for i, e := range buf[:n] {
		u := w.urls[e.Key()]
		switch {
		case u == nil:
			w.t.Fatalf("%s was read and never added", e.URL)
		case u.out:
			w.t.Fatalf("%s was read twice", e.URL)
		case u.fate.Ends():
			w.t.Fatalf("%s was read, which has ended", e.URL)
		case !all && u.fate.Waits() && !u.was.IsZero() && u.was.Equal(e.Due): // the new due time is not merged yet
		case u.fate.Waits() && (u.entry.Due.After(now) || !u.entry.Due.Equal(e.Due)):
			w.t.Fatalf("%s was read at %v with due %v, which is %v", e.URL, now, e.Due, u.entry.Due)
		case all && want[i] != u:
			w.t.Fatalf("Read(%s): place %d is %s, want %s", site, i, e.URL, want[i].entry.URL)
		}
		same := u.entry
		same.Due, same.ID = e.Due, e.ID
		if !statetest.SameEntry(e, same) {
			w.t.Fatalf("Read: got\n%+v\nwant\n%+v", e, same)
		}
		u.out = true
		w.out = append(w.out, e)
	}
}

// change reports that some pages have changed. Its effect is known only if all earlier acts are
// merged.
func (w *twin) change() {
	w.settle()
	c := &frontier.Changes{Told: w.now, Least: time.Duration(w.rand.Int64N(2e10))}
	a := act{completion: &frontier.Completion{Changes: c, Links: w.links(3)}, forward: map[string]forward{}}
	entries := []frontier.Entry{{URL: w.url(), Apart: true}, {URL: w.url()}} // the DB may not know these entries
	for _, key := range slices.Sorted(maps.Keys(w.urls)) {
		if w.rand.IntN(3) > 0 {
			entries = append(entries, w.urls[key].entry)
		}
	}
	for _, e := range entries {
		c.Pages = append(c.Pages, frontier.Change{Site: e.URL.Site(), Key: e.Key(), Time: w.now.Add(-time.Duration(w.rand.Int64N(2e10)))})
	}
	for _, p := range c.Pages {
		u := w.urls[p.Key]
		if u == nil || u.out || !u.fate.Again() {
			continue
		}
		due, sooner := c.Due(&u.entry, p.Time)
		due = due.Add(time.Millisecond - 1).Truncate(time.Millisecond)
		if sooner && due.Before(u.entry.Due) {
			a.forward[p.Key] = forward{u.entry.Due, due}
			w.forward++
		}
	}
	w.do(a)
}

func (w *twin) hint(site frontier.Site) *hint {
	if w.hints[site] == nil {
		w.hints[site] = &hint{}
	}
	return w.hints[site]
}

func (w *twin) finish() {
	from := &w.out
	if w.rand.IntN(5) == 0 {
		from = &w.held
	}
	if len(*from) == 0 {
		return
	}
	i := w.rand.IntN(len(*from))
	e := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	c := &frontier.Completion{
		Site: e.URL.Site(), Entry: e, Held: from == &w.held,
		Clocks: frontier.Clocks{
			Due: w.now.Add(time.Second), By: frontier.OwnClock, Ended: w.now, TTFB: time.Duration(w.rand.IntN(1e9)),
			Strikes: w.rand.IntN(3), Good: w.rand.IntN(9),
		},
		Fate: frontier.Fate{Code: frontier.Fetched, Status: 200, Time: w.now, Digest: "sha1:" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
	}
	switch kind := w.rand.IntN(8); {
	case c.Held:
	case kind < 2:
		c.Entry.Tries++
		c.Entry.ByGet = e.ByGet || e.Head && w.rand.IntN(2) == 0
		c.Fate = frontier.Fate{Code: frontier.Waiting, Until: w.now.Add(time.Duration(w.rand.Int64N(4e10)))}
	case kind == 2 && w.rand.IntN(2) == 0, kind == 7:
		c.Fate.Until = w.now.Add(time.Duration(w.rand.Int64N(4e10)))
		last := c.Fate
		last.Until = time.Time{}
		c.Entry.Tries, c.Entry.Visits = 0, &frontier.Visits{First: w.now, Seen: w.rand.IntN(3), Changes: w.rand.IntN(3), Last: last}
	case kind == 2:
		c.Fate = frontier.Fate{Code: frontier.RobotsDisallowed, Detail: "line 3", Rules: w.now}
	case kind == 3:
		c.Fate, c.Held = frontier.Fate{}, true
		w.held = append(w.held, e)
	case kind == 4:
		c.Given = frontier.Fate{Code: frontier.SiteDead, Time: w.now}
		c.Fate = frontier.Fate{} // the entry stays handed out
		w.out = append(w.out, e)
	default:
		line := fmt.Sprintf("%s %d", e.URL, len(w.acts))
		w.pages = append(w.pages, line)
		if err := w.db.PutPage(&PageRecord{URL: line, Status: 200}); err != nil {
			w.t.Fatal(err)
		}
	}
	if w.rand.IntN(2) == 0 {
		c.Links = w.links(6)
	}
	if w.rand.IntN(2) == 0 {
		c.Common = []frontier.CommonClock{{Name: fmt.Sprint("ip 192.0.2.", w.rand.IntN(5)), Due: w.now.Add(time.Duration(w.rand.IntN(2e9)))}}
	}
	c.Spent.Pages, c.Spent.Bytes, c.Spent.Time = w.rand.IntN(9), w.rand.Int64N(1e6), time.Duration(w.rand.IntN(1e9))
	a := act{completion: c}
	if c.Fate.Code != frontier.Undecided {
		a.url = e.Key()
	}
	w.do(a)
}

// news receives the values of DB.Grown, and checks them.
func (w *twin) news() {
	for {
		select {
		case g := <-w.db.Grown():
			if g.Err != nil {
				w.t.Fatal(g.Err)
			}
			w.settled += g.Settled
			for _, st := range g.Sites {
				h := w.hint(st.Site)
				h.more = h.more || st.Ready
				h.retry = st.Waiting
			}
		default:
			return
		}
	}
}

// settle waits until all acts are committed and merged, and compares the DB with the expected
// contents.
func (w *twin) settle() {
	w.t.Helper()
	for range 2000 {
		if w.news(); w.settled == w.submitted && w.quiet() {
			break
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
	}
	if w.settled != w.submitted || !w.quiet() {
		w.t.Fatalf("%d of %d submits have settled", w.settled, w.submitted)
	}
	w.owed = false
	w.compare()
	for site := range w.sites {
		ready, waiting := w.readable(site, w.now)
		if slices.ContainsFunc(w.out, func(e frontier.Entry) bool { return e.URL.Site() == site }) {
			continue
		}
		h := w.hint(site)
		if len(ready) > 0 && !h.more {
			w.t.Fatalf("%s has %d entries to read, but no growth was sent", site, len(ready))
		}
		if len(waiting) > 0 && !h.more && (h.retry.IsZero() || h.retry.After(waiting[0].entry.Due)) {
			w.t.Fatalf("%s has an entry due %v, the growth says %v", site, waiting[0].entry.Due, h.retry)
		}
	}
}

// quiet reports whether all acts are committed and merged.
func (w *twin) quiet() bool {
	put, kept := w.db.state.(*state.DB).Pending()
	return put == 0 && kept == 0
}

func (w *twin) queued() int {
	put, _ := w.db.state.(*state.DB).Pending()
	return put
}

// handed returns how many entries of a site are handed out, and how many of these will be
// fetched again.
func (w *twin) handed(site frontier.Site) (out, again int) {
	for _, e := range slices.Concat(w.out, w.held) {
		if e.URL.Site() == site {
			if out++; e.Again() {
				again++
			}
		}
	}
	return out, again
}

// compare compares the DB with the expected contents, except the queue. All acts must be
// committed, but need not be merged.
func (w *twin) compare() {
	w.t.Helper()
	for site, s := range w.sites {
		ready, waiting := w.readable(site, w.now)
		st, err := w.db.State(site)
		if err != nil {
			w.t.Fatal(err)
		}
		if st.Clocks != s.clocks && !(st.Clocks.Due.Equal(s.clocks.Due) && st.Clocks.Ended.Equal(s.clocks.Ended) &&
			st.Clocks.Strikes == s.clocks.Strikes && st.Clocks.Good == s.clocks.Good && st.Clocks.TTFB == s.clocks.TTFB) ||
			st.Spent != s.spent || st.Fate.Code != s.given.Code {
			w.t.Fatalf("%s: got %+v\nwant %+v", site, st, s)
		}
		out, again := w.handed(site)
		for _, u := range waiting {
			if u.entry.Again() {
				again++
			}
		}
		if st.Again != again {
			w.t.Fatalf("%s has %d to be fetched again, want %d", site, st.Again, again)
		}
		if !w.quiet() {
			continue
		}
		if st.Ready != (len(ready) > 0) || st.Ready && st.Head > ready[0].entry.Rank || st.Waiting.IsZero() != (len(waiting) == 0) ||
			len(waiting) > 0 && !st.Waiting.Equal(waiting[0].entry.Due) {
			w.t.Fatalf("%s: got %+v\nwant %d ready and %d waiting", site, st, len(ready), len(waiting))
		}
		if queued := len(ready) + len(waiting) + out - again; st.Queued != queued {
			w.t.Fatalf("%s has %d queued, want %d", site, st.Queued, queued)
		}
	}
	for _, u := range w.urls {
		name := u.entry.URL
		if !u.entry.Same.IsZero() && !u.entry.Apart {
			name = u.entry.Same
		}
		if apart := (&frontier.Entry{URL: name, Apart: true}).Key(); w.urls[apart] != nil && w.urls[apart] != u {
			continue // another entry has this key
		}
		fate, ok, err := w.db.Fate(name)
		if err != nil || !ok || fate.Code != u.fate.Code || fate.Status != u.fate.Status || fate.Digest != u.fate.Digest || fate.Detail != u.fate.Detail {
			w.t.Fatalf("fate of %s: %+v, %v, %v; want %+v", u.entry.URL, fate, ok, err, u.fate)
		}
	}
	clocks := map[string]time.Time{}
	for c, err := range w.db.Common() {
		if err != nil {
			w.t.Fatal(err)
		}
		if _, twice := clocks[c.Name]; twice {
			w.t.Errorf("clock %q is there twice", c.Name)
		}
		clocks[c.Name] = c.Due
	}
	for name, due := range w.common {
		if !clocks[name].Equal(due) {
			w.t.Fatalf("clock %q: %v, want %v", name, clocks[name], due)
		}
	}
	for key, want := range w.put {
		var got int
		if ok, err := w.db.Get(key, &got); !ok || err != nil || got != want {
			w.t.Fatalf("Get(%s) = %d, %v, %v; want %d", key, got, ok, err, want)
		}
	}
	for site, want := range w.snapshots {
		if got, err := w.db.Snapshot(site); err != nil || got == nil || !got.Fetched.Equal(want.Fetched) || !bytes.Equal(got.Body, want.Body) {
			w.t.Fatalf("Snapshot(%s) = %+v, %v; want %+v", site, got, err, want)
		}
	}
}

// kill replaces the DB by a copy of its directory, taken between two transactions, and the twin
// by one that expects what was committed.
func (w *twin) kill() {
	w.t.Helper()
	synctest.Wait() // the committer waits, so no write is half done
	dir := crash(w.t, w.db.Dir())
	committed := len(w.acts) - w.queued()
	if err := w.db.Close(); err != nil {
		w.t.Fatal(err)
	}
	verified(w.t, w.db.Dir())
	verified(w.t, dir)
	for { // a crawl may be killed again as soon as it is open
		var err error
		if w.db, err = Open(dir, w.opts); err != nil {
			w.t.Fatal(err)
		}
		if !w.db.Unclean() {
			w.t.Fatal("a copy of a running crawl opens as clean")
		}
		if w.rand.IntN(3) > 0 {
			break
		}
		for range w.rand.IntN(30) {
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		dir = crash(w.t, dir)
		if err := w.db.Close(); err != nil {
			w.t.Fatal(err)
		}
		verified(w.t, dir)
	}
	w.acts = w.acts[:committed]
	w.forget()
	for i := range w.acts {
		w.apply(i)
	}
	w.owed = true
	w.compare()
	least := 0
	if committed > 0 {
		least = w.acts[committed-1].pages
	}
	raw, err := os.ReadFile(filepath.Join(w.db.Dir(), PagesFile))
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for line := range bytes.Lines(raw) {
		var p PageRecord
		if err := json.Unmarshal(line, &p); err != nil {
			w.t.Fatalf("pages.jsonl: %v", err)
		}
		lines = append(lines, p.URL)
	}
	if len(lines) < least || len(lines) > len(w.pages) || !slices.Equal(lines, w.pages[:len(lines)]) {
		w.t.Fatalf("pages.jsonl has %d lines, want at least %d of %d", len(lines), least, len(w.pages))
	}
	w.pages = lines
	w.hear()
}

// hear reads the same values that a frontier reads when it opens the DB.
func (w *twin) hear() {
	seen := map[frontier.Site]bool{}
	for st, err := range w.db.Sites() {
		if err != nil {
			w.t.Fatal(err)
		}
		if seen[st.Site] {
			w.t.Errorf("Sites: %s is there twice", st.Site)
		}
		seen[st.Site] = true
		h := w.hint(st.Site)
		h.more, h.retry = st.Ready, st.Waiting
	}
}
