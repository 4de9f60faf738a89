package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// The frontier does not stand still while somebody looks at all sites.
func TestEachLetsTheCrawlGoOn(t *testing.T) {
	var urls []string
	for i := range 3 * somePage {
		urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
	}
	f := opened(t, NewMemory(), Options{}, urls...)
	told := map[Site]int{}
	f.Each(func(st SiteStatus) bool {
		if told[st.Site]++; len(told)%100 == 0 {
			if err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://new%d.example/", len(told)))}); err != nil {
				t.Error(err)
			}
		}
		return f.Stats().Entries > 0
	})
	for _, raw := range urls {
		if n := told[mustParse(t, raw).Site()]; n != 1 {
			t.Errorf("%s was told of %d times", raw, n)
		}
	}
	n := 0
	f.Each(func(SiteStatus) bool { n++; return n < 2*somePage })
	if n != 2*somePage {
		t.Errorf("told of %d sites after an end at %d", n, 2*somePage)
	}
}

// Whatever happens to the sites, Longest is what looking at all of them finds.
func TestLongestIsDueLast(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 9))
			f := opened(t, NewMemory(), Options{Delay: -1, MaxSite: Spent{Pages: 3}, Patience: 100 * time.Hour})
			for i := range 300 {
				if random.IntN(3) == 0 {
					if err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://h%d.example/%d", random.IntN(20), i))}); err != nil {
						t.Fatal(err)
					}
				}
				if next := f.Stats(); next.NextSite != "" && !next.NextDue.After(time.Now()) {
					turn, err := f.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					o := page
					if random.IntN(2) == 0 {
						o = Outcome{Again: true}
					}
					o.Request = &Request{Started: time.Now(), Ended: time.Now()}
					switch random.IntN(3) {
					case 0:
						o.RetryAfter = time.Now().Add(time.Duration(random.IntN(100)) * time.Minute)
					case 1: // what is found meanwhile is due before what waits
						o.Trouble = ConnectTrouble
					}
					o.Gone = o.Again && random.IntN(10) == 0
					if _, err := turn.Finish(o); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Duration(random.IntN(300)) * time.Second)
				f.hear()
				now := time.Now()
				var want time.Time
				for _, s := range f.sites {
					if s.place == placeWaiting && s.due.After(now) && s.due.After(want) {
						want = s.due
					}
				}
				if st, ok := f.Longest(now); ok == want.IsZero() || !st.Due.Equal(want) {
					t.Fatalf("step %d: %v, %v; the last is due at %v", i, st, ok, want)
				}
			}
		})
	}
}

func TestTheLastIsFoundAgainWhenItComesForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, NewMemory(), Options{Delay: 10 * time.Second}, "http://a.example/1", "http://b.example/1", "http://b.example/2")
		finish := func(site Site, o Outcome) {
			turn, err := f.Next(t.Context())
			if err != nil || turn.Site() != site {
				t.Fatal(turn, err)
			}
			o.Request = &Request{Started: time.Now(), Ended: time.Now()}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			f.hear()
		}
		longest := func(want Site) {
			t.Helper()
			if st, ok := f.Longest(time.Now()); !ok || st.Site != want {
				t.Errorf("%v %v, want %s", st, ok, want)
			}
		}
		finish("http://a.example", Outcome{Trouble: PageTrouble}) // waits 15 s
		time.Sleep(time.Second)
		finish("http://b.example", page)
		longest("http://a.example")
		if err := f.Add(Entry{URL: mustParse(t, "http://a.example/2")}); err != nil {
			t.Fatal(err)
		}
		longest("http://b.example")
	})
}
