package statetest

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Store has the methods that a Script tests.
type Store interface {
	frontier.Backlog
	Queued(frontier.Site) iter.Seq2[frontier.Entry, error]
	Put(key string, value any) error
	Get(key string, value any) (bool, error)
	Sync(context.Context) error
}

// A Script does random operations on a Store and on a model of it, and compares the results.
type Script struct {
	T     *testing.T
	Store Store
	// Kill acts like a kill of the process. It returns the Store that the next process opens,
	// and the states of all sites in it.
	Kill func(Store) (Store, map[frontier.Site]frontier.SiteState)

	rand  *rand.Rand
	model frontier.Memory
	now   time.Time
	out   []read // entries that were read and have not ended
	held  []read // entries that were read and put on hold

	put, synced int // the last value that was put, and the last one that Sync has waited for

	Forward int // number of entries whose due time was made earlier
}

// A read is an entry that was read from the Store and from the model. They give it different
// IDs.
type read struct{ db, model frontier.Entry }

func (s *Script) url() frontier.URL {
	u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", s.rand.IntN(4), s.rand.IntN(60)))
	if err != nil {
		s.T.Fatal(err)
	}
	return u
}

func (s *Script) site() frontier.Site { return s.url().Site() }

func (s *Script) submit(c frontier.Completion, id uint64) {
	s.T.Helper()
	if err := s.Store.Submit(c); err != nil {
		s.T.Fatal(err)
	}
	c.Entry.ID = id
	if err := s.model.Submit(c); err != nil {
		s.T.Fatal(err)
	}
	want, got := Settle(s.T, s.model, 1), Settle(s.T, s.Store, 1)
	for site, w := range want {
		if g := got[site]; !same(g, w) {
			s.T.Fatalf("after %+v:\ngot  %+v\nwant %+v", c, g, w)
		}
	}
}

// same reports whether the state a of the Store equals the state b of the model.
func same(a, b frontier.SiteState) bool {
	return a.Site == b.Site && a.Queued == b.Queued && a.Again == b.Again && a.NextAgain.Equal(b.NextAgain) && a.Ready == b.Ready && (!a.Ready || a.Head <= b.Head) && a.Spent == b.Spent &&
		a.Waiting.Equal(b.Waiting) && a.Clocks.Due.Equal(b.Clocks.Due) && a.Clocks.Strikes == b.Clocks.Strikes && a.Fate.Code == b.Fate.Code
}

func (s *Script) add() {
	var links []frontier.Entry
	for range s.rand.IntN(5) {
		e := frontier.Entry{URL: s.url(), Depth: s.rand.IntN(3), Rank: uint8(s.rand.IntN(3)), Hops: []string{"L", "LE", "ER"}[s.rand.IntN(3)], Via: "http://via.example/", Head: s.rand.IntN(4) == 0}
		if s.rand.IntN(3) == 0 {
			e.Same = s.url() // ignored if the URL is on another site
		}
		e.Apart = s.rand.IntN(6) == 0
		links = append(links, e)
	}
	s.submit(frontier.Completion{Links: links}, 0)
}

func (s *Script) read() {
	site, n := s.site(), 1+s.rand.IntN(4)
	got, want := make([]frontier.Entry, n), make([]frontier.Entry, n)
	reads := frontier.Backlog.Read
	if s.rand.IntN(2) == 0 {
		var waiting [2]time.Time // due times of the first waiting entries, of the Store and of the model
		of := waiting[:]
		reads = func(b frontier.Backlog, site frontier.Site, now time.Time, entries []frontier.Entry) (n int, err error) {
			if len(entries)%2 == 0 { // read none of the waiting entries
				now = time.Time{}
			}
			n, of[0], err = b.ReadRequisites(site, now, entries)
			of = of[1:]
			return n, err
		}
		defer func() {
			if !waiting[0].Equal(waiting[1]) {
				s.T.Errorf("ReadRequisites(%s): the next one is due %v, want %v", site, waiting[0], waiting[1])
			}
		}()
	}
	i, err := reads(s.Store, site, s.now, got)
	if err != nil {
		s.T.Fatal(err)
	}
	j, err := reads(s.model, site, s.now, want)
	if err != nil {
		s.T.Fatal(err)
	}
	if i != j {
		s.T.Fatalf("Read(%s) = %d entries, want %d", site, i, j)
	}
	for k := range i {
		if !got[k].Due.Equal(want[k].Due) {
			s.T.Fatalf("Read(%s): due %v, want %v", site, got[k].Due, want[k].Due)
		}
		s.out = append(s.out, read{got[k], want[k]})
		got[k].Due, got[k].ID = want[k].Due, want[k].ID
		if want[k].Same.Site() != want[k].URL.Site() {
			want[k].Same = frontier.URL{}
		}
	}
	if !slices.EqualFunc(got[:i], want[:j], SameEntry) {
		s.T.Fatalf("Read(%s) =\n%+v\nwant\n%+v", site, got[:i], want[:j])
	}
}

func (s *Script) finish() {
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

// change reports that some pages have changed, which makes their entries due earlier. Entries
// that were handed out must not change.
func (s *Script) change() {
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
			s.Forward++
		}
	}
}

// queue returns the queued entries of the model, which must equal those of the Store.
func (s *Script) queue() (all []frontier.Entry) {
	for h := range 4 {
		site := frontier.Site(fmt.Sprintf("http://h%d.example", h))
		dues := map[string]time.Time{}
		for e, err := range s.Store.Queued(site) {
			if err != nil {
				s.T.Fatal(err)
			}
			dues[e.Key()] = e.Due
		}
		for e, err := range s.model.Queued(site) {
			if due, ok := dues[e.Key()]; err != nil || !ok || !due.Equal(e.Due) {
				s.T.Fatalf("%s is due %v, %v, %v, want %v", e.URL, due, ok, err, e.Due)
			}
			all = append(all, e)
		}
	}
	return all
}

// keep puts a value. Sometimes it waits until the value is committed.
func (s *Script) keep() {
	s.put++
	if err := s.Store.Put("kept", s.put); err != nil {
		s.T.Fatal(err)
	}
	if s.rand.IntN(2) == 0 {
		if err := s.Store.Sync(s.T.Context()); err != nil {
			s.T.Fatal(err)
		}
		s.synced = s.put
	}
}

// kill acts like a kill of the process. The model forgets which entries were handed out, so
// that both return them again.
func (s *Script) kill() {
	var states map[frontier.Site]frontier.SiteState
	s.Store, states = s.Kill(s.Store)
	s.model.Forget()
	s.out, s.held = nil, nil
	kept := 0
	if _, err := s.Store.Get("kept", &kept); err != nil || kept < s.synced || kept > s.put {
		s.T.Fatalf("after a kill the kept value is %d, %v, want %d to %d", kept, err, s.synced, s.put)
	}
	s.put = kept
	for st, err := range s.model.Sites() {
		if err != nil {
			s.T.Fatal(err)
		}
		got := states[st.Site]
		got.Site = st.Site // a Store may know only the name of a site, and then need not have it
		if !same(got, st) {
			s.T.Errorf("after a kill:\ngot  %+v\nwant %+v", got, st)
		}
		delete(states, st.Site)
	}
	if len(states) > 0 {
		s.T.Fatalf("after a kill there are %d sites more", len(states))
	}
}

// Run does the given number of random operations, which depend on seed.
func (s *Script) Run(seed uint64, operations int) {
	s.rand, s.model = rand.New(rand.NewPCG(seed, 2)), frontier.NewMemory()
	s.now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Local() // local time, as times are read from the Store
	for range operations {
		switch n := s.rand.IntN(23); {
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
		case n < 22:
			s.keep()
		default:
			s.keep()
			s.kill()
		}
	}
}
