//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/statetest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
)

// copyState copies the state of a crawl into a state file, and returns a reader of it.
func copyState(t *testing.T, d *database, payloads ...state.Payload) *state.Reader {
	t.Helper()
	found := map[string]bool{}
	dir := t.TempDir()
	s, err := d.CollectState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := state.Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Copy(t.Context(), m), m.Finish(state.Last{})); err != nil {
		t.Fatal(err)
	}
	checked, err := state.Check{
		Problem: func(err error) { t.Error(err) }, Fate: func(frontier.URL, frontier.Fate) {}, Payload: func(p state.Payload) { found[plain(p)] = true },
	}.Read(t.Context(), dir)
	if err != nil || checked.Entries != m.Entries || checked.Sites != m.Sites {
		t.Errorf("%+v, %v; %d entries of %d sites were written", checked, err, m.Entries, m.Sites)
	}
	for _, p := range payloads {
		if !found[plain(p)] {
			t.Errorf("%+v is missing: %v", p, found)
		}
	}
	r, err := state.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// plain returns v as text without details that may differ: locations of times, and the names that
// a store gives to entries.
func plain(v any) string {
	var b strings.Builder
	var write func(v reflect.Value)
	write = func(v reflect.Value) {
		switch x := v.Interface().(type) {
		case time.Time:
			fmt.Fprint(&b, x.UnixNano(), " ")
			return
		case frontier.URL:
			fmt.Fprintf(&b, "%s ", x)
			return
		case *frontier.Term:
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			if fmt.Fprint(&b, v.IsNil(), " "); !v.IsNil() {
				write(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Name; name != "ID" && name != "Number" {
					fmt.Fprint(&b, name, ":")
					write(v.Field(i))
				}
			}
		default:
			fmt.Fprintf(&b, "%v ", v)
		}
	}
	write(reflect.ValueOf(v))
	return b.String()
}

func TestACollectedStateIsThatOfTheDatabase(t *testing.T) {
	var mu sync.Mutex
	kinds := map[string]int{}
	t.Cleanup(func() { // the function runs after all subtests
		for _, kind := range []string{"ready", "waiting", "again", "retried again", "ended", "aside", "apart", "same", "head"} {
			if kinds[kind] == 0 && !t.Skipped() {
				t.Errorf("there was no entry of kind %q: %v", kind, kinds)
			}
		}
	})
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			url, dir := NewDatabase(t), t.TempDir()
			db := open(t, url, dir)
			take(t, db)
			// A second node belongs to the run, so that the fates of sites are kept.
			if _, err := db.pool.Exec(db.ctx, "insert into node (id, name, num, until) values (gen_random_uuid(), 'other', 99, 'epoch')"); err != nil {
				t.Fatal(err)
			}
			s := &statetest.Script{T: t, Store: db, Kill: func(was statetest.Store) (statetest.Store, map[frontier.Site]frontier.SiteState) {
				kill(was.(*node))
				db := open(t, url, dir)
				return db, take(t, db)
			}}
			s.Run(seed+400, 120)
			db = s.Store.(*node)
			putOthers(t, db)
			putAside(t, db)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			d, err := New(url)
			if err != nil {
				t.Fatal(err)
			}
			d.(*database).same = true
			r := copyState(t, d.(*database), payloads...)
			store, err := d.OpenStore(dir, state.Options{})
			if err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			compareStores(t, store.(*node), r, kinds)
			if err := store.Abandon(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

var payloads = []state.Payload{
	{Date: time.Date(2030, 1, 1, 0, 0, 0, 123456000, time.UTC), URL: "http://h0.example/1"},
	{Date: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), URL: "http://h0.example/2"},
}

// putOthers stores values that a Script does not store.
func putOthers(t *testing.T, db *node) {
	t.Helper()
	at := time.Date(2030, 1, 1, 0, 0, 0, 123456789, time.UTC)
	u, err := frontier.ParseURL("http://h1.example/license")
	if err != nil {
		t.Fatal(err)
	}
	first := &robots.Snapshot{Fetched: at, Status: 200, Body: []byte("User-agent: *\nDisallow: /\n")}
	later := &robots.Snapshot{Fetched: at.Add(time.Hour), Status: 503, Copy: first}
	earlier := &robots.Snapshot{Fetched: at.Add(-time.Hour), Status: 404} // older than the stored one, as if the clock was set back
	const away = frontier.Site("http://away.example")
	err = errors.Join(
		db.PutSnapshot("http://h0.example", first), db.PutSnapshot("http://h0.example", later), db.PutSnapshot("http://h0.example", earlier),
		db.PutSnapshot("http://h1.example", later), db.PutLicense(u, first),
		db.Put("one", map[string]any{"b": 1.5, "a": "<"}), db.Put("one/two", []int{1, 2}), db.Put("tag x", true),
		db.Put(processes.HistoryKey, map[string]any{"Began": at}), db.Put(processes.EndKey, map[string]any{"of_run": at, "time": at, "end": "x"}),
		db.PutPayload("sha1:"+strings.Repeat("A", 32), payloads[0]),
		db.PutPayload("md5:x", payloads[1]),
		db.Submit(frontier.Completion{Site: away, Clocks: frontier.Clocks{Due: at}, Common: []frontier.CommonClock{{Name: "example", Due: at.Truncate(time.Microsecond)}}}))
	if err != nil {
		t.Fatal(err)
	}
	statetest.Settle(t, db, 1)
}

// putAside stores the fate ScopeNarrowed for an entry, so that the entry is put aside.
func putAside(t *testing.T, db *node) {
	t.Helper()
	u, err := frontier.ParseURL("http://aside.example/1")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u, Tag: "t"}}}); err != nil {
		t.Fatal(err)
	}
	statetest.Settle(t, db, 1)
	entries := make([]frontier.Entry, 1)
	if n, err := db.Read(u.Site(), time.Now(), entries); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := db.Submit(frontier.Completion{Site: u.Site(), Entry: entries[0], Fate: frontier.Fate{Code: frontier.ScopeNarrowed, Time: time.Now()}}); err != nil {
		t.Fatal(err)
	}
}

func compareStores(t *testing.T, db *node, r *state.Reader, kinds map[string]int) {
	t.Helper()
	all := func(names func(func(frontier.Site, error) bool)) (list []frontier.Site) {
		for name, err := range names {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, name)
		}
		return list
	}
	names := all(db.Names())
	got := slices.DeleteFunc(all(r.Names()), func(s frontier.Site) bool { return s == "http://away.example" }) // this site has no entries
	if !reflect.DeepEqual(got, names) {
		t.Fatalf("the sites are %v, want %v", got, names)
	}
	for _, name := range names {
		var want, got []state.Kept
		for k, err := range db.Entries(name) {
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, k)
			count(kinds, &k)
		}
		for k, err := range r.Entries(name) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, k)
		}
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || plain(got[i]) != plain(want[i]) {
				t.Fatalf("entry %d of %s is\n%v, want\n%v", i, name, plain(got[min(i, len(got)-1)]), plain(want[min(i, len(want)-1)]))
			}
		}
		var queued [2][]frontier.Entry
		for i, entries := range []func(func(frontier.Entry, error) bool){db.Queued(name), r.Queued(name)} {
			for e, err := range entries {
				if err != nil {
					t.Fatal(err)
				}
				queued[i] = append(queued[i], e)
			}
		}
		if len(queued[0]) != len(queued[1]) {
			t.Errorf("%s has %d queued entries, want %d", name, len(queued[1]), len(queued[0]))
		}
	}
	for _, name := range append(names, "http://away.example", "http://h1.example/license") {
		var snapshots [2][]string
		for i, each := range []func(func(*robots.Snapshot, error) bool){db.Snapshots(name), r.Snapshots(name)} {
			for s, err := range each {
				if err != nil {
					t.Fatal(err)
				}
				snapshots[i] = append(snapshots[i], plain(s))
			}
		}
		if !reflect.DeepEqual(snapshots[0], snapshots[1]) {
			t.Errorf("%s has the snapshots\n%q, want\n%q", name, snapshots[1], snapshots[0])
		}
		want, err := db.Snapshot(name)
		got, err2 := r.Snapshot(name)
		if err := errors.Join(err, err2); err != nil || plain(got) != plain(want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	compareStates(t, db, r)
	for _, key := range []string{"one", "one/two", "tag x", processes.HistoryKey, processes.EndKey} {
		var want, got any
		ok, err := db.Get(key, &want)
		ok2, err2 := r.Get(key, &got)
		if err := errors.Join(err, err2); err != nil || !ok || !ok2 || !reflect.DeepEqual(got, want) {
			t.Errorf("value %s: %v, %v, want %v", key, got, err, want)
		}
	}
	common := map[string]time.Time{}
	for c, err := range r.Common() {
		if err != nil {
			t.Fatal(err)
		}
		common[c.Name] = c.Due
	}
	if due, ok := common["example"]; !ok || len(common) != 1 || due.Year() != 2030 {
		t.Errorf("common clocks: %v", common)
	}
}

// compareStates checks that the state file has the same sites, with the same states, as db.
func compareStates(t *testing.T, db *node, r *state.Reader) {
	t.Helper()
	db.terms = nil
	tx, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	sites, err := db.collectSites(tx, "", "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range sites {
		db.had[s.part] = &partition{}
		want := db.state(s)
		got, err := r.State(s.name)
		if err != nil {
			t.Fatal(err)
		}
		if want.Queued+want.Again == 0 {
			want.Head = got.Head
		}
		if plain(got) != plain(want) {
			t.Errorf("%s has the state\n%v, want\n%v", s.name, plain(got), plain(want))
		}
		n++
	}
	if n < 4 {
		t.Errorf("there are %d sites", n)
	}
}

func count(kinds map[string]int, k *state.Kept) {
	for kind, is := range map[string]bool{
		"ready": k.Fate.Code == frontier.Undecided, "waiting": k.Fate.Code == frontier.Waiting && k.Visits == nil, "again": k.Fate.Again(),
		"retried again": k.Fate.Code == frontier.Waiting && k.Visits != nil, "ended": k.Fate.Ends(), "aside": k.Fate.Code.Aside(),
		"apart": k.Apart, "same": !k.Same.IsZero(), "head": k.Head,
	} {
		if is {
			kinds[kind]++
		}
	}
}

// The end of the run that began last counts, if a node has stored it. Otherwise the latest end of
// any node counts.
func TestTheEndOfACollectedCrawl(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	end := func(of, ended time.Time, why string) map[string]any {
		return map[string]any{"of_run": of, "time": ended, "end": why}
	}
	for name, tc := range map[string]struct {
		began time.Time
		ends  []map[string]any
		want  string
	}{
		"none":          {at, nil, ""},
		"of one":        {at, []map[string]any{end(at, at.Add(1), "a")}, "a"},
		"the last":      {at, []map[string]any{end(at.Add(-9), at.Add(1), "a"), end(at.Add(-8), at.Add(3), "b"), end(at.Add(-7), at.Add(2), "c")}, "b"},
		"of that begun": {at, []map[string]any{end(at.Add(-9), at.Add(5), "a"), end(at, at.Add(1), "b"), end(at.Add(-7), at.Add(6), "c")}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			url := NewDatabase(t)
			for i := range max(1, len(tc.ends)) {
				db := open(t, url, t.TempDir())
				err := db.Put(processes.HistoryKey, map[string]any{"Began": tc.began})
				if len(tc.ends) > 0 {
					err = errors.Join(err, db.Put(processes.EndKey, tc.ends[i]))
				}
				if err := errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
			}
			d, err := New(url)
			if err != nil {
				t.Fatal(err)
			}
			var got processes.End
			of := copyState(t, d.(*database))
			ok, err := of.Get(processes.EndKey, &got)
			if err != nil || ok != (tc.want != "") || got.Why != tc.want {
				t.Errorf("%v, %v, %v, want %q", got, ok, err, tc.want)
			}
			var all []processes.End
			if ok, err := of.Get(processes.EndsKey, &all); err != nil || ok != (len(tc.ends) > 1) || ok && len(all) != len(tc.ends) {
				t.Errorf("the ends of all nodes are %v, %v, want %d", all, err, len(tc.ends))
			}
		})
	}
}

// Nodes that begin at the same time do not read each other's record of the run. A collected crawl has
// the runs of all nodes with their ends, and so does the next run of a node.
func TestTheRunsOfACollectedCrawl(t *testing.T) {
	url := NewDatabase(t)
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var nodes []*node
	for range 3 {
		nodes = append(nodes, open(t, url, t.TempDir()))
	}
	for i, db := range nodes {
		began := at.Add(time.Duration(3-i) * time.Second)
		h, err := new(processes.History).Next(began, processes.End{})
		if err == nil {
			err = errors.Join(db.Put(processes.HistoryKey, h), db.Put(processes.EndKey, processes.End{Of: began, Time: began.Add(time.Hour), Why: "done"}), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	for what, from := range map[string]store.Values{"the collected crawl": copyState(t, d.(*database)), "the next run": open(t, url, t.TempDir())} {
		h, err := processes.Of(from)
		if err != nil || len(h.Processes) != 3 {
			t.Fatalf("%s: %+v, %v", what, h, err)
		}
		for i, p := range h.Processes {
			began := at.Add(time.Duration(i+1) * time.Second)
			if !p.Began.Equal(began) || !p.Ended.Equal(began.Add(time.Hour)) || p.End != "done" || h.Builds[p.Build].Program == "" {
				t.Errorf("%s: %+v", what, p)
			}
		}
	}
}

// A node that did not give its sites back may have made requests until now, or until the time that
// is stored with its partitions.
func TestACollectedCrawlKnowsOfKilledNodes(t *testing.T) {
	url, dir := NewDatabase(t), t.TempDir()
	db := open(t, url, dir)
	take(t, db)
	d, err := New(url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.(*database).CollectState(t.Context()); !errors.As(err, new(*storage.InUseError)) || !strings.Contains(err.Error(), db.name) {
		t.Errorf("while a node runs: %v", err)
	}
	kill(db)
	if _, err := d.(*database).CollectState(t.Context()); !errors.As(err, new(*storage.InUseError)) {
		t.Errorf("while a killed node has its lease: %v", err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("update crawl.node set until = 'epoch'")
	began := time.Now().Add(-time.Second)
	if b := copyState(t, d.(*database)).Begun(); !b.Unclean || b.Restarted.Before(began) || b.Restarted.After(time.Now()) {
		t.Errorf("after a kill the sites rest from %v, want now; unclean: %v", b.Restarted, b.Unclean)
	}
	exec("update crawl.part set owner = null, rest = null")
	exec("update crawl.part set rest = '2031-01-02Z' where id = 3")
	if b := copyState(t, d.(*database)).Begun(); b.Unclean || b.Restarted.UTC().Year() != 2031 {
		t.Errorf("the sites rest from %v; unclean: %v", b.Restarted, b.Unclean)
	}
	exec("update crawl.part set rest = null")
	if b := copyState(t, d.(*database)).Begun(); b.Unclean || !b.Restarted.IsZero() {
		t.Errorf("the sites rest from %v; unclean: %v", b.Restarted, b.Unclean)
	}
}
