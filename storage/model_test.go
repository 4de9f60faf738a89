package storage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/internal/statetest"
)

var settle, crash, entry = statetest.Settle, statetest.Crash, statetest.Entry

// open opens a crawl whose commits are made one by one, when settle waits for them.
func open(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(dir, Options{Gather: -1})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// A script does the same random operations on a DB and on the model, and compares the
// results.
type script struct {
	t     *testing.T
	rand  *rand.Rand
	db    *DB
	model frontier.Memory
	now   time.Time
	out   []read // not ended
	held  []read // of these, with an outcome whose end is held

	forward int // entries that were brought forward
}

// A read is an entry that was read from both; each has its own ID for it.
type read struct{ db, model frontier.Entry }

func (s *script) url() frontier.URL {
	u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", s.rand.IntN(4), s.rand.IntN(60)))
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

func (s *script) site() frontier.Site { return s.url().Site() }

func (s *script) submit(c frontier.Completion, id uint64) {
	s.t.Helper()
	if err := s.db.Submit(c); err != nil {
		s.t.Fatal(err)
	}
	c.Entry.ID = id
	if err := s.model.Submit(c); err != nil {
		s.t.Fatal(err)
	}
	want, got := settle(s.t, s.model, 1), settle(s.t, s.db, 1)
	for site, w := range want {
		if g := got[site]; !same(g, w) {
			s.t.Fatalf("after %+v:\ngot  %+v\nwant %+v", c, g, w)
		}
	}
}

// same compares states: b is that of the model.
func same(a, b frontier.SiteState) bool {
	return a.Site == b.Site && a.Queued == b.Queued && a.Again == b.Again && a.NextAgain.Equal(b.NextAgain) && a.Ready == b.Ready && (!a.Ready || a.Head <= b.Head) && a.Spent == b.Spent &&
		a.Waiting.Equal(b.Waiting) && a.Clocks.Due.Equal(b.Clocks.Due) && a.Clocks.Strikes == b.Clocks.Strikes && a.Fate.Code == b.Fate.Code
}

func (s *script) add() {
	var links []frontier.Entry
	for range s.rand.IntN(5) {
		e := frontier.Entry{URL: s.url(), Depth: s.rand.IntN(3), Rank: uint8(s.rand.IntN(3)), Hops: []string{"L", "LE", "ER"}[s.rand.IntN(3)], Via: "http://via.example/", Head: s.rand.IntN(4) == 0}
		if s.rand.IntN(3) == 0 {
			e.Same = s.url() // ignored if it is of another site
		}
		e.Apart = s.rand.IntN(6) == 0
		links = append(links, e)
	}
	s.submit(frontier.Completion{Links: links}, 0)
}

func (s *script) read() {
	site, n := s.site(), 1+s.rand.IntN(4)
	got, want := make([]frontier.Entry, n), make([]frontier.Entry, n)
	reads := frontier.Backlog.Read
	if s.rand.IntN(2) == 0 {
		var waiting [2]time.Time // of the DB and of the model
		of := waiting[:]
		reads = func(b frontier.Backlog, site frontier.Site, now time.Time, entries []frontier.Entry) (n int, err error) {
			if len(entries)%2 == 0 { // none of those that wait
				now = time.Time{}
			}
			n, of[0], err = b.ReadRequisites(site, now, entries)
			of = of[1:]
			return n, err
		}
		defer func() {
			if !waiting[0].Equal(waiting[1]) {
				s.t.Errorf("ReadRequisites(%s): the next one is due %v, want %v", site, waiting[0], waiting[1])
			}
		}()
	}
	i, err := reads(s.db, site, s.now, got)
	if err != nil {
		s.t.Fatal(err)
	}
	j, err := reads(s.model, site, s.now, want)
	if err != nil {
		s.t.Fatal(err)
	}
	if i != j {
		s.t.Fatalf("Read(%s) = %d entries, want %d", site, i, j)
	}
	for k := range i {
		if !got[k].Due.Equal(want[k].Due) {
			s.t.Fatalf("Read(%s): due %v, want %v", site, got[k].Due, want[k].Due)
		}
		s.out = append(s.out, read{got[k], want[k]})
		got[k].Due, got[k].ID = want[k].Due, want[k].ID
		if want[k].Same.Site() != want[k].URL.Site() {
			want[k].Same = frontier.URL{}
		}
	}
	if !slices.EqualFunc(got[:i], want[:j], statetest.SameEntry) {
		s.t.Fatalf("Read(%s) =\n%+v\nwant\n%+v", site, got[:i], want[:j])
	}
}

func (s *script) finish() {
	from := &s.out
	if s.rand.IntN(5) == 0 {
		from = &s.held
	}
	if len(*from) == 0 {
		return
	}
	i := s.rand.IntN(len(*from))
	both := (*from)[i]
	e, id := both.db, both.model.ID
	*from = slices.Delete(*from, i, i+1)
	c := frontier.Completion{
		Site: e.URL.Site(), Entry: e, Held: from == &s.held,
		Clocks: frontier.Clocks{Due: s.now.Add(time.Second), By: frontier.OwnClock, Strikes: s.rand.IntN(3)},
		Fate:   frontier.Fate{Code: frontier.Fetched, Status: 200, Time: s.now},
	}
	switch kind := s.rand.IntN(5); {
	case c.Held:
	case kind == 0:
		c.Entry.Tries++
		c.Entry.ByGet = e.ByGet || e.Head && s.rand.IntN(2) == 0
		c.Fate = frontier.Fate{Code: frontier.Waiting, Until: s.now.Add(time.Duration(s.rand.IntN(40)) * time.Second)}
	case kind == 1 && s.rand.IntN(2) == 0:
		c.Fate.Until = s.now.Add(time.Duration(s.rand.IntN(40)) * time.Second)
		c.Entry.Tries, c.Entry.Visits = 0, &frontier.Visits{Seen: s.rand.IntN(3), Last: frontier.Fate{Code: c.Fate.Code, Status: c.Fate.Status, Time: s.now}}
	case kind == 1:
		c.Fate.Code = frontier.RobotsDisallowed
	case kind == 2:
		c.Fate, c.Held = frontier.Fate{}, true
		s.held = append(s.held, both)
	case kind == 3:
		c.Given = frontier.Fate{Code: frontier.SiteDead, Time: s.now}
	}
	if s.rand.IntN(2) == 0 {
		c.Links = []frontier.Entry{e.Found(s.url(), frontier.HopLink), e.Found(s.url(), frontier.HopRedirect), e.Found(s.url(), frontier.HopEmbed)}
	}
	c.Spent.Pages = s.rand.IntN(9)
	s.submit(c, id)
}

// change reports changes of some pages. Entries that were handed out must stay unchanged in
// both.
func (s *script) change() {
	before := s.queue()
	c := &frontier.Changes{Told: s.now, Least: time.Duration(s.rand.IntN(20)) * time.Second}
	for _, e := range before {
		if s.rand.IntN(3) > 0 {
			c.Pages = append(c.Pages, frontier.Change{Site: e.URL.Site(), Key: e.Key(), Time: s.now.Add(-time.Duration(s.rand.IntN(20)) * time.Second)})
		}
	}
	site := s.site()
	s.submit(frontier.Completion{Changes: c, Site: site, Links: []frontier.Entry{{URL: s.url()}}}, 0)
	after := map[string]time.Time{}
	for _, e := range s.queue() {
		after[e.Key()] = e.Due
	}
	for _, e := range before {
		if !after[e.Key()].Equal(e.Due) {
			s.forward++
		}
	}
}

// queue returns the entries of the model, which are those of the DB.
func (s *script) queue() (all []frontier.Entry) {
	for h := range 4 {
		site := frontier.Site(fmt.Sprintf("http://h%d.example", h))
		dues := map[string]time.Time{}
		for e, err := range s.db.Queued(site) {
			if err != nil {
				s.t.Fatal(err)
			}
			dues[e.Key()] = e.Due
		}
		for e, err := range s.model.Queued(site) {
			if due, ok := dues[e.Key()]; err != nil || !ok || !due.Equal(e.Due) {
				s.t.Fatalf("%s is due %v, %v, %v, want %v", e.URL, due, ok, err, e.Due)
			}
			all = append(all, e)
		}
	}
	return all
}

// kill continues with a copy of the directory, and with a model that has forgotten which
// entries were out: both offer them again.
func (s *script) kill() {
	dir := crash(s.t, s.db.Dir())
	if err := s.db.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.db = open(s.t, dir)
	if !s.db.Unclean() {
		s.t.Fatal("a copy of a running crawl opens as clean")
	}
	s.model.Forget()
	s.out, s.held = nil, nil
	states := map[frontier.Site]frontier.SiteState{}
	for st, err := range s.model.Sites() {
		if err != nil {
			s.t.Fatal(err)
		}
		states[st.Site] = st
	}
	for st, err := range s.db.Sites() {
		if err != nil {
			s.t.Fatal(err)
		}
		if !same(st, states[st.Site]) {
			s.t.Errorf("after a kill:\ngot  %+v\nwant %+v", st, states[st.Site])
		}
		delete(states, st.Site)
	}
	if len(states) > 0 {
		s.t.Fatalf("after a kill %d sites are missing", len(states))
	}
}

func TestBacklogIsTheModelOnDisk(t *testing.T) {
	var forward atomic.Int64
	t.Cleanup(func() { // after all seeds
		if forward.Load() == 0 {
			t.Error("no entry was brought forward")
		}
	})
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := &script{
				t: t, rand: rand.New(rand.NewPCG(seed, 2)), db: open(t, t.TempDir()), model: frontier.NewMemory(),
				now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Local(), // in the form that is read
			}
			for range 150 {
				switch n := s.rand.IntN(21); {
				case n < 4:
					s.add()
				case n < 11:
					s.read()
				case n < 18:
					s.finish()
				case n < 19:
					s.now = s.now.Add(time.Duration(s.rand.IntN(30)) * time.Second)
				case n < 20:
					s.change()
				default:
					s.kill()
				}
			}
			if err := s.db.Close(); err != nil {
				t.Fatal(err)
			}
			forward.Add(int64(s.forward))
		})
	}
}

// After a kill, with groups of any kind, what was acknowledged is there, and each other
// operation is there completely or not at all.
func TestKillBetweenAnyTwoCommits(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	const n = 30
	for i := range n {
		u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", i%3, i))
		if err != nil {
			t.Fatal(err)
		}
		if err := db.PutPage(&PageRecord{URL: u.String(), Status: 200}); err != nil {
			t.Fatal(err)
		}
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
		if i%5 > 0 {
			continue
		}
		// One more operation is written, and never committed.
		copied := crash(t, dir)
		f, err := os.OpenFile(filepath.Join(copied, PagesFile), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"url":"http://torn`); err != nil {
			t.Fatal(err)
		}
		f.Close()
		again := open(t, copied)
		queued := 0
		for st, err := range again.Sites() {
			if err != nil {
				t.Fatal(err)
			}
			queued += st.Queued
		}
		raw, err := os.ReadFile(filepath.Join(copied, PagesFile))
		if err != nil {
			t.Fatal(err)
		}
		if lines := len(slices.Collect(bytesLines(raw))); queued != i+1 || lines != i+1 {
			t.Errorf("%d queued and %d pages after %d acknowledged", queued, lines, i+1)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
