package state

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

func TestANumberIsThatOfItsSite(t *testing.T) {
	var c numberCache
	site := func(i int) frontier.Site { return frontier.Site(fmt.Sprintf("https://h%d.example", i)) }
	if n := c.number(site(1)); n != 0 {
		t.Errorf("an empty cache has %d", n)
	}
	const sites = 3 * numberPlaces
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := w; i < sites; i += 4 {
				c.note(site(i), siteNum(i+1))
			}
		})
	}
	all.Wait()
	known := 0
	for i := range sites {
		switch n := c.number(site(i)); n {
		case 0:
		case siteNum(i + 1):
			known++
		default:
			t.Errorf("%s has the number %d, not %d", site(i), n, i+1)
		}
	}
	if known < numberPlaces/2 || known > numberPlaces {
		t.Errorf("%d of %d sites are known", known, sites)
	}
}

// If the cache returns the number of another site, no link is lost, and no link is added to the
// wrong site.
func TestAMistakenSiteLosesNoLink(t *testing.T) {
	db := sifting(t)
	submit := func(links ...frontier.Entry) {
		t.Helper()
		if err := db.Submit(frontier.Completion{Links: links}); err != nil {
			t.Fatal(err)
		}
		settle(t, db, 1)
	}
	a, b := frontier.Site("http://a.example"), frontier.Site("http://b.example")
	submit(entry(t, "http://a.example/1"), entry(t, "http://b.example/1"))
	db.cache = newKnownCache()
	submit(entry(t, "http://a.example/1"), entry(t, "http://b.example/1")) // now the cache has the numbers of both sites
	na, nb := db.numbers.number(a), db.numbers.number(b)
	if na == 0 || nb == 0 || na == nb {
		t.Fatalf("sites with the numbers %d and %d are in the cache", na, nb)
	}
	db.numbers.note(a, nb)
	db.numbers.note(b, na)
	db.cache = newKnownCache()
	submit(entry(t, "http://a.example/1"), entry(t, "http://b.example/2"), entry(t, "http://a.example/2"), entry(t, "http://b.example/1"))
	for site, want := range map[frontier.Site]string{a: "/1 /2 ", b: "/1 /2 "} {
		buf, got := make([]frontier.Entry, 9), ""
		n, err := db.Read(site, time.Now(), buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range buf[:n] {
			if got += e.URL.Target() + " "; e.URL.Site() != site {
				t.Errorf("%s is read of %s", e.URL, site)
			}
		}
		if got != want {
			t.Errorf("of %s is read %q, want %q", site, got, want)
		}
	}
}
