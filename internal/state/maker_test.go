package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func TestAMadeStateHasWhatWasWritten(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random, dir := rand.New(rand.NewPCG(seed, 7)), t.TempDir()
			m, err := Make(dir)
			if err != nil {
				t.Fatal(err)
			}
			m.most = 1 + random.IntN(200) // the largest transaction is random, so that there are many
			at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.Local)
			var want [][]Kept
			for s := range 5 {
				name := frontier.Site(fmt.Sprintf("http://h%d.example", s))
				if err := m.Site(&frontier.SiteState{Site: name, Clocks: frontier.Clocks{Due: at, By: frontier.OwnClock}, Spent: frontier.Spent{Pages: s}}); err != nil {
					t.Fatal(err)
				}
				var all []Kept
				for i := range random.IntN(1500) {
					u, err := frontier.ParseURL(fmt.Sprintf("%s/%d", name, i))
					if err != nil {
						t.Fatal(err)
					}
					k := Kept{Entry: frontier.Entry{URL: u, Rank: uint8(random.IntN(3)), Via: "http://via.example/"}}
					switch random.IntN(5) {
					case 0:
						k.Due = at.Add(time.Duration(random.IntN(100)) * time.Second)
						k.Tries, k.Fate = 2, frontier.Fate{Code: frontier.Waiting, Until: k.Due}
					case 1:
						k.Fate = frontier.Fate{Code: frontier.ScopeNarrowed, Time: at}
					case 2, 3:
						k.Fate = frontier.Fate{Code: frontier.Fetched, Status: 200, Time: at, Answer: frontier.Place{File: fmt.Sprint("w", random.IntN(20)), Offset: int64(i)}}
					}
					if err := m.Entry(&k); err != nil {
						t.Fatal(err)
					}
					all = append(all, k)
				}
				want = append(want, all)
			}
			body := []byte(strings.Repeat("Disallow: /x\n", 4000))
			for i := range 50 {
				err := errors.Join(
					m.Snapshot("http://h0.example", &robots.Snapshot{Fetched: at.Add(time.Duration(i) * time.Hour), Status: 200, Body: append(body, byte(i))}),
					m.Value(fmt.Sprint("v", i), json.RawMessage(fmt.Sprint(i))),
					m.Common(frontier.CommonClock{Name: fmt.Sprint("c", i), Due: at}))
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(m.Ended(at, time.Time{}, false), m.Finish(Last{})); err != nil {
				t.Fatal(err)
			}
			checkMade(t, dir, m)
			r, err := OpenReader(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for s, all := range want {
				compareMade(t, r, frontier.Site(fmt.Sprintf("http://h%d.example", s)), all)
			}
			n := 0
			for s, err := range r.Snapshots("http://h0.example") {
				if err != nil || len(s.Body) != len(body)+1 || s.Body[len(body)] != byte(n) {
					t.Fatal(n, err)
				}
				n++
			}
			if n != 50 {
				t.Errorf("there are %d snapshots", n)
			}
		})
	}
}

func checkMade(t *testing.T, dir string, m *Maker) {
	t.Helper()
	done, err := Check{
		Problem: func(err error) { t.Error(err) }, Fate: func(frontier.URL, frontier.Fate) {}, Payload: func(Payload) {},
	}.Read(t.Context(), dir)
	if err != nil || done.Sites != m.Sites || done.Entries != m.Entries || done.Unclean {
		t.Errorf("%+v, %v, want %d sites, %d entries", done, err, m.Sites, m.Entries)
	}
}

func compareMade(t *testing.T, r *Reader, name frontier.Site, want []Kept) {
	t.Helper()
	i, queued, aside := 0, 0, 0
	for k, err := range r.Entries(name) {
		if err != nil || i >= len(want) {
			t.Fatal(i, err)
		}
		w := want[i]
		if k.URL != w.URL || k.Rank != w.Rank || !k.Due.Equal(w.Due) || k.Tries != w.Tries || k.Fate.Code != w.Fate.Code || k.Fate.Answer != w.Fate.Answer || k.Number != i+1 {
			t.Fatalf("entry %d is %+v, want %+v", i, k, w)
		}
		if !k.Fate.Ends() {
			queued++
		}
		if k.Fate.Code.Aside() {
			aside++
		}
		i++
	}
	st, err := r.State(name)
	if err != nil || i != len(want) || st.Queued != queued || st.Known != i || st.Clocks.By != frontier.OwnClock {
		t.Errorf("%s has %d entries, want %d; %+v, %v", name, i, len(want), st, err)
	}
	if _, ok, err := fateFor(r, want[0].URL); !ok || err != nil {
		t.Errorf("%s is not found: %v", want[0].URL, err)
	}
	if some, err := r.Aside(); err != nil || aside > 0 && !some {
		t.Errorf("nothing is aside: %v", err)
	}
}

func TestAMakerRefusesWhatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	m, err := Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	k := &Kept{Entry: frontier.Entry{URL: u}}
	if err := m.Entry(k); err == nil {
		t.Error("an entry without a site")
	}
	if err := m.Snapshot(u.Site(), &robots.Snapshot{Fetched: time.Now(), Copy: &robots.Snapshot{Fetched: time.Unix(1, 0)}}); err == nil {
		t.Error("a snapshot without its copy")
	}
	if err := errors.Join(m.Site(&frontier.SiteState{Site: "http://b.example"}), m.Site(&frontier.SiteState{Site: u.Site()})); err != nil {
		t.Fatal(err)
	}
	if err := m.Site(&frontier.SiteState{Site: "http://b.example"}); err == nil {
		t.Error("a site came twice")
	}
	if err := errors.Join(m.Site(&frontier.SiteState{Site: "http://c.example"}), m.Abandon()); err != nil {
		t.Fatal(err)
	}

	// Two entries with the same key have the same fingerprint.
	for _, most := range []int{1, 100} {
		if m, err = Make(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		m.most = most
		err := errors.Join(m.Site(&frontier.SiteState{Site: u.Site()}), m.Entry(k), m.Entry(k), m.Finish(Last{}))
		if err == nil || !strings.Contains(err.Error(), "the same fingerprint") {
			t.Errorf("in transactions of %d: %v", most, err)
		}
		m.Abandon()
	}
}
