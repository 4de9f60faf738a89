package frontier

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"
)

// listed is an entry of a list, with its state in the backlog.
type listed struct {
	Entry
	out, ended bool
}

// list is a slow, simple Backlog of one site. It follows the documentation of Backlog.
type list struct {
	all    []*listed
	clocks Clocks
	given  Fate
}

// order is the order in which Read returns entries.
func (l *list) order(now time.Time) (ready []*listed) {
	for _, e := range l.all {
		if !e.out && !e.ended && !e.Due.After(now) {
			ready = append(ready, e)
		}
	}
	slices.SortStableFunc(ready, func(a, b *listed) int {
		switch {
		case a.Due.IsZero() && b.Due.IsZero():
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
		case a.Due.IsZero():
			return 1
		case b.Due.IsZero():
			return -1
		}
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID))
	})
	return ready
}

func (l *list) state(site Site) SiteState {
	st := SiteState{Site: site, Clocks: l.clocks, Known: len(l.all), Fate: l.given}
	for _, e := range l.all {
		if e.ended {
			continue
		}
		again := e.Visits != nil && e.Tries == 0 && !e.Due.IsZero()
		if again {
			st.Again++
		} else {
			st.Queued++
		}
		switch {
		case e.out:
		case !e.Due.IsZero():
			if st.Waiting.IsZero() || e.Due.Before(st.Waiting) {
				st.Waiting = e.Due
			}
			if again && (st.NextAgain.IsZero() || e.Due.Before(st.NextAgain)) {
				st.NextAgain = e.Due
			}
		case !st.Ready || e.Rank < st.Head:
			st.Ready, st.Head = true, e.Rank
		}
	}
	return st
}

// Memory and the simple backlog list give the same results. Other backlogs are tested against
// Memory.
func TestMemoryIsWhatABacklogSays(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &walk{t: t, random: rand.New(rand.NewPCG(seed, 5)), memory: new(memory)}
			for range 300 {
				switch w.random.IntN(7) {
				case 0:
					w.link()
				case 1, 2:
					w.read()
				case 3, 4:
					w.complete()
				case 6:
					w.change()
				case 5:
					if w.random.IntN(4) == 0 {
						w.forget()
					}
				}
				w.compare()
			}
			if w.forward == 0 {
				t.Error("no entry was brought forward")
			}
		})
	}
}

// walk calls the same methods of a Memory and a list, and compares the results.
type walk struct {
	t       *testing.T
	random  *rand.Rand
	memory  *memory
	list    list
	submits int // calls of Submit that have not settled
	forward int // number of entries that a change has made due earlier
}

const walked = Site("http://a.example")

// at returns a random time in the next n seconds.
func (w *walk) at(n int) time.Time {
	return time.Unix(1e9, 0).Add(time.Duration(w.random.IntN(n)) * time.Second)
}

func (w *walk) submit(c Completion) {
	if err := w.memory.Submit(c); err != nil {
		w.t.Fatal(err)
	}
	w.submits++
}

// link submits links to both backlogs; some of the links are known already.
func (w *walk) link() {
	var links []Entry
	for range w.random.IntN(4) {
		u := mustParse(w.t, fmt.Sprintf("%s/%d", walked, w.random.IntN(80)))
		links = append(links, Entry{URL: u, Depth: w.random.IntN(3), Rank: uint8(w.random.IntN(3)), Head: w.random.IntN(2) == 0, Tries: 7, Due: w.at(10)})
		if w.random.IntN(3) == 0 {
			links[len(links)-1].Same = mustParse(w.t, fmt.Sprintf("%s/%d", walked, w.random.IntN(80)))
		}
		links[len(links)-1].Apart = w.random.IntN(5) == 0
		key := links[len(links)-1].Key()
		if !slices.ContainsFunc(w.list.all, func(e *listed) bool { return e.Key() == key }) {
			e := links[len(links)-1]
			e.Tries, e.Due, e.ID = 0, time.Time{}, uint64(len(w.list.all)+1)
			w.list.all = append(w.list.all, &listed{Entry: e})
		}
	}
	w.submit(Completion{Links: links})
}

func (w *walk) read() {
	now := w.at(100)
	buf := make([]Entry, w.random.IntN(5))
	n, err := w.memory.Read(walked, now, buf)
	want := w.list.order(now)
	want = want[:min(len(want), len(buf))]
	if err != nil || n != len(want) {
		w.t.Fatalf("%d entries are read, %v; want %d", n, err, len(want))
	}
	for i, e := range want {
		if buf[i] != e.Entry {
			w.t.Fatalf("%+v is read, want %+v", buf[i], e.Entry)
		}
		e.out = true
	}
}

// complete submits completions for some of the entries that were read and have not ended.
func (w *walk) complete() {
	for _, e := range w.list.all {
		if !e.out || w.random.IntN(3) > 0 {
			continue
		}
		c := Completion{Site: walked, Clocks: Clocks{Due: w.at(1000)}, Given: Fate{Code: Code(w.random.IntN(2))}, Entry: e.Entry}
		w.list.clocks, w.list.given = c.Clocks, c.Given
		switch w.random.IntN(4) {
		case 3: // the entry will be fetched again
			e.Tries, e.Due, e.out, e.Visits = 0, w.at(100), false, &Visits{Seen: w.random.IntN(3), Last: Fate{Code: Fetched, Time: w.at(60)}}
			c.Entry.Tries, c.Entry.Visits, c.Fate = 0, e.Visits, Fate{Code: Fetched, Until: e.Due}
		case 0: // the entry stays out
		case 1:
			e.out, e.Tries, e.ByGet, e.Due = false, e.Tries+1, e.ByGet || e.Head && w.random.IntN(2) == 0, w.at(100)
			c.Entry.Tries, c.Entry.ByGet, c.Fate = e.Tries, e.ByGet, Fate{Code: Waiting, Until: e.Due}
		case 2:
			e.out, e.ended = false, true
			c.Fate = Fate{Code: Fetched}
		}
		w.submit(c)
		if e.ended { // an entry ends only once
			w.submit(c)
		}
	}
}

// change submits changes of some of the entries, and of pages without an entry.
func (w *walk) change() {
	c := &Changes{Told: w.at(100), Least: time.Duration(w.random.IntN(100)) * time.Second}
	latest := map[string]time.Time{}
	for range w.random.IntN(60) {
		e := Entry{URL: mustParse(w.t, fmt.Sprintf("%s/%d", walked, w.random.IntN(80))), Apart: w.random.IntN(5) == 0}
		c.Pages = append(c.Pages, Change{e.URL.Site(), e.Key(), w.at(100)}, Change{"http://b.example", e.Key(), w.at(100)})
		if at := c.Pages[len(c.Pages)-2].Time; at.After(latest[e.Key()]) {
			latest[e.Key()] = at
		}
	}
	for _, e := range w.list.all {
		at, named := latest[e.Key()]
		if !named || e.out || e.ended || e.Due.IsZero() || e.Visits == nil || e.Tries > 0 || !at.After(e.Visits.Last.Time) {
			continue
		}
		due := e.Visits.Last.Time.Add(c.Least)
		if c.Told.After(due) {
			due = c.Told
		}
		if due.Before(e.Due) {
			e.Due = due
			w.forward++
		}
	}
	w.submit(Completion{Changes: c})
}

func (w *walk) forget() {
	w.memory.Forget()
	for _, e := range w.list.all {
		e.out = false
	}
}

func (w *walk) compare() {
	want := w.list.state(walked)
	if st, err := w.memory.State(walked); err != nil || st != want {
		w.t.Fatalf("%+v, %v; want %+v", st, err, want)
	}
	i := 0
	for e, err := range w.memory.Queued(walked) {
		for i < len(w.list.all) && w.list.all[i].ended {
			i++
		}
		if err != nil || i == len(w.list.all) || e != w.list.all[i].Entry {
			w.t.Fatalf("%+v is queued, %v; number %d is another", e, err, i)
		}
		i++
	}
	if i < len(w.list.all) && slices.ContainsFunc(w.list.all[i:], func(e *listed) bool { return !e.ended }) {
		w.t.Fatalf("%+v is not among those that are queued", w.list.all[i])
	}
	select {
	case g := <-w.memory.Grown():
		w.submits -= g.Settled
		if n := len(g.Sites); n > 0 && (g.Sites[n-1].Queued != want.Queued || g.Sites[n-1].Again != want.Again) {
			w.t.Fatalf("the last news are of %d and %d entries, want %d and %d", g.Sites[n-1].Queued, g.Sites[n-1].Again, want.Queued, want.Again)
		}
	default:
	}
	if w.submits != 0 {
		w.t.Fatalf("%d submits did not settle", w.submits)
	}
}

func TestWhatMemoryDoesNotKnow(t *testing.T) {
	m := new(memory)
	if n, err := m.Read("http://a.example", time.Now(), make([]Entry, 3)); n != 0 || err != nil {
		t.Errorf("%d entries, %v", n, err)
	}
	if st, err := m.State("http://a.example"); st != (SiteState{Site: "http://a.example"}) || err != nil {
		t.Errorf("%+v, %v", st, err)
	}
	for e, err := range m.Queued("http://a.example") {
		t.Error(e, err)
	}
}

// The latest time of a common clock is kept, in any order of the calls.
func TestMemoryKeepsCommonClocks(t *testing.T) {
	m, begin := new(memory), time.Unix(1e9, 0)
	for _, c := range []CommonClock{{"ip 16.0.0.1", begin}, {"domain a.example", begin}, {"ip 16.0.0.1", begin.Add(2)}, {"ip 16.0.0.1", begin.Add(1)}} {
		if err := m.Submit(Completion{Common: []CommonClock{c}}); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]time.Time{}
	for c, err := range m.Common() {
		if err != nil {
			t.Fatal(err)
		}
		got[c.Name] = c.Due
	}
	if len(got) != 2 || got["ip 16.0.0.1"] != begin.Add(2) || got["domain a.example"] != begin {
		t.Errorf("%v", got)
	}
}

// A loop over Sites, Common or Queued can be left early, and its body may call other methods.
func TestLoopsOverMemoryAreLeft(t *testing.T) {
	m := new(memory)
	var links []Entry
	for _, raw := range []string{"http://a.example/1", "http://a.example/2", "http://b.example/"} {
		links = append(links, Entry{URL: mustParse(t, raw)})
	}
	due := time.Unix(1e9, 0)
	if err := m.Submit(Completion{Links: links, Common: []CommonClock{{"ip 16.0.0.1", due}, {"ip 16.0.0.2", due}}}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for st, err := range m.Sites() {
		if again, wrong := m.State(st.Site); err != nil || wrong != nil || again != st {
			t.Errorf("%+v, %v; again %+v, %v", st, err, again, wrong)
		}
		if calls++; calls == 1 {
			break
		}
	}
	for c, err := range m.Common() {
		if _, wrong := m.State("http://a.example"); err != nil || wrong != nil || c.Due != due {
			t.Errorf("%+v, %v, %v", c, err, wrong)
		}
		calls++
		break
	}
	for e, err := range m.Queued("http://a.example") {
		if calls++; err != nil || e.ID != 1 {
			t.Errorf("%+v, %v", e, err)
		}
		break
	}
	if calls != 3 {
		t.Errorf("%d pairs", calls)
	}
}

// A queued URL does not keep the text of the page from which it was cut in memory.
func TestWhatIsQueuedInMemoryKeepsNothingElse(t *testing.T) {
	page := mustParse(t, "http://a.example/")
	r := page.Resolver()
	for _, ref := range []string{"/one", "/two", "/three"} {
		r.Expect([]byte(ref))
	}
	one, err1 := r.Resolve([]byte("/one"), nil)
	two, err2 := r.Resolve([]byte("/two"), nil)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	m := new(memory)
	if err := m.Submit(Completion{Links: []Entry{{URL: page}, {URL: one, Same: two}}}); err != nil {
		t.Fatal(err)
	}
	for got, err := range m.Queued(page.Site()) {
		switch {
		case err != nil:
			t.Fatal(err)
		case got.URL == one && (unsafe.StringData(got.URL.text) == unsafe.StringData(one.text) || got.Same != two || unsafe.StringData(got.Same.text) == unsafe.StringData(two.text)):
			t.Errorf("%+v is a part of the page's text", got)
		}
	}
	keys := m.seen.keys()
	for _, key := range keys {
		if unsafe.StringData(key) == unsafe.StringData(two.text) {
			t.Errorf("the key %q is a part of the page's text", key)
		}
	}
	if n := len(keys); n != 2 {
		t.Errorf("%d URLs are known", n)
	}
}
