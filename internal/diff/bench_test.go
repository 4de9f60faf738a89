package diff_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/store"
)

// large writes a crawl of n pages at a thousand sites to dir. In each version every seventh
// page has a body of its own.
func large(b *testing.B, dir string, n, version int) {
	b.Helper()
	const sites = 1000
	open := func() *store.DB {
		db, err := store.Open(dir, store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return db
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	db := open()
	for site := range sites {
		var links []frontier.Entry
		for i := range n / sites {
			u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/page/%d", site, i))
			check(err)
			links = append(links, frontier.Entry{URL: u, Hops: "L", Via: fmt.Sprintf("http://h%d.example/", site)})
		}
		check(db.Submit(frontier.Completion{Links: links}))
	}
	check(db.Close())
	db = open()
	entries := make([]frontier.Entry, 500)
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for site := range sites {
		name := frontier.Site(fmt.Sprintf("http://h%d.example", site))
		for i := 0; ; {
			got, err := db.Read(name, at, entries)
			check(err)
			for _, e := range entries[:got] {
				digest := fmt.Sprintf("sha1:%032d", i)
				if i++; (i+site)%7 == 0 {
					digest = fmt.Sprintf("sha1:%026d%06d", version, i)
				}
				check(db.Submit(frontier.Completion{Site: name, Entry: e, Fate: frontier.Fate{Code: frontier.Fetched, Status: 200, Digest: digest, Time: at}}))
			}
			if got == 0 {
				break
			}
		}
	}
	check(db.Close())
}

// BenchmarkCompare compares two crawls of half a million pages each. It needs about as much
// memory as the sort buffers.
func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{5_000, 500_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			was, is := b.TempDir(), b.TempDir()
			large(b, was, n, 1)
			large(b, is, n, 2)
			runtime.GC()
			for b.Loop() {
				r, err := diff.Compare(b.Context(), was, is, diff.Options{Temp: b.TempDir()})
				if err != nil || r.Counts.Of(diff.Modified) == 0 || r.Was.URLs != int64(n) || r.Is.URLs != int64(n) {
					b.Fatal(r, err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
			b.ReportMetric(2*float64(n)*float64(b.N)/b.Elapsed().Seconds(), "URLs/s")
		})
	}
}
