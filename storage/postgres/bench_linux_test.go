package postgres

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/statetest"
)

// BenchmarkStores compares what a page costs with the state in a file and in the database: a page
// has 50 links, nine of ten known, and 48 pages are committed together. It reports the CPU time of
// this process, that of the server, the time in which 99 of 100 reads of 8 URLs are done, and how
// much larger than necessary the queue gets. The environment changes how many URLs are queued
// before.
func BenchmarkStores(b *testing.B) {
	b.Run("file", func(b *testing.B) {
		db, err := state.Open(b.TempDir(), state.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Begin(noOutputs{}, nil, nil); err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		benchmarkPages(b, db, func() time.Duration { return 0 })
	})
	b.Run("postgres", func(b *testing.B) {
		db := open(b, NewDatabase(b), b.TempDir())
		defer db.Close()
		db.opts.Gather = 200 * time.Millisecond
		take(b, db)
		benchmarkPages(b, db, serverTime(b))
		b.ReportMetric(bloat(b, db), "queue-bloat")
	})
}

// bloat returns the size of the table queue with its indexes, divided by the size that it has when
// it is written anew.
func bloat(b *testing.B, db *node) float64 {
	size := func() (n float64) {
		if err := db.pool.QueryRow(db.ctx, "select pg_total_relation_size('crawl.queue')").Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	before := size()
	if _, err := db.pool.Exec(db.ctx, "vacuum full crawl.queue"); err != nil {
		b.Fatal(err)
	}
	return before / size()
}

func benchmarkPages(b *testing.B, store state.Store, server func() time.Duration) {
	const sites, group, links = 200, 48, 50
	random := rand.New(rand.NewPCG(1, 1))
	url := func(n int) frontier.URL {
		u, err := frontier.ParseURL(fmt.Sprintf("https://h%d.example/section/a-title-of-some-words-%d", n%sites, n/sites))
		if err != nil {
			b.Fatal(err)
		}
		return u
	}
	known := 20_000
	if n, err := strconv.Atoi(os.Getenv("PERMESSO_POSTGRES_URLS")); err == nil {
		known = n
	}
	var first []frontier.Entry
	for n := range known {
		first = append(first, frontier.Entry{URL: url(n)})
	}
	for len(first) > 0 {
		some := first[:min(1000, len(first))]
		if err := store.Submit(frontier.Completion{Links: some}); err != nil {
			b.Fatal(err)
		}
		first = first[len(some):]
	}
	statetest.Settle(b, store, 20)
	mine, theirs := cpu(), server()
	pages := 0
	var reads []time.Duration
	b.ResetTimer()
	for b.Loop() {
		var entries []frontier.Entry
		for len(entries) < group {
			room := make([]frontier.Entry, 8)
			began := time.Now()
			n, err := store.Read(url(random.IntN(sites)).Site(), began, room)
			reads = append(reads, time.Since(began))
			if err != nil {
				b.Fatal(err)
			}
			entries = append(entries, room[:n]...)
		}
		for _, e := range entries {
			c := frontier.Completion{Site: e.URL.Site(), Entry: e, Fate: frontier.Fate{Code: frontier.Fetched, Status: 200, Time: time.Now()}, Clocks: frontier.Clocks{Due: time.Now(), Ended: time.Now()}}
			for i := range links {
				n := random.IntN(known)
				if i%10 == 0 {
					n = known
					known++
				}
				c.Links = append(c.Links, e.Found(url(n), frontier.HopLink))
			}
			if err := store.Submit(c); err != nil {
				b.Fatal(err)
			}
		}
		statetest.Settle(b, store, len(entries))
		pages += len(entries)
	}
	b.ReportMetric(float64((cpu()-mine).Microseconds())/float64(pages), "cpu-us/page")
	b.ReportMetric(float64((server()-theirs).Microseconds())/float64(pages), "server-us/page")
	slices.Sort(reads)
	b.ReportMetric(float64(reads[len(reads)*99/100].Microseconds()), "read-p99-us")
	b.ReportMetric(0, "ns/op")
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverTime returns a function that returns the CPU time of all running processes of the server.
func serverTime(b *testing.B) func() time.Duration {
	s, err := server()
	if err != nil {
		b.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(s.Dir, "data", "postmaster.pid"))
	if err != nil {
		b.Fatal(err)
	}
	postmaster, _, _ := strings.Cut(string(raw), "\n")
	return func() (sum time.Duration) {
		children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", postmaster, postmaster))
		if err != nil {
			b.Fatal(err)
		}
		for _, pid := range strings.Fields(string(children)) {
			raw, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil {
				continue // the process has ended meanwhile
			}
			_, after, _ := strings.Cut(string(raw), ") ")
			fields := strings.Fields(after)
			if len(fields) < 13 {
				continue
			}
			user, _ := strconv.Atoi(fields[11])
			system, _ := strconv.Atoi(fields[12])
			sum += time.Duration(user+system) * 10 * time.Millisecond
		}
		return sum
	}
}
