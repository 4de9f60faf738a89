package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// BenchmarkPages measures a page of 50 links, half of them new, from Submit to the merge.
func BenchmarkPages(b *testing.B) {
	db, err := start(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	site := frontier.Site("http://a.example")
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(b, "http://a.example/0")}}); err != nil {
		b.Fatal(err)
	}
	settle(b, db, 1)
	hand, waits := make([]frontier.Entry, 64), 0
	var links int
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		n, err := db.Read(site, time.Now(), hand)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range hand[:min(n, b.N-done)] {
			c := frontier.Completion{Site: site, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched, Status: 200}}
			for i := range 50 {
				c.Links = append(c.Links, e.Found(entry(b, fmt.Sprintf("http://a.example/%d", max(0, links+i-25))).URL, frontier.HopLink))
			}
			links += 25
			if err := db.Submit(c); err != nil {
				b.Fatal(err)
			}
			done++
			waits++
		}
		if n == 0 {
			settle(b, db, waits)
			waits = 0
		}
	}
	settle(b, db, waits)
	b.StopTimer()
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}
