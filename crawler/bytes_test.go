package crawler_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// unending returns a handler that sends an endless body in the given coding. It adds the bytes that
// were sent to sent.
func unending(coding string, sent *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		var to io.Writer = w
		if coding != "" {
			w.Header().Set("Content-Encoding", coding)
			z := gzip.NewWriter(w)
			defer z.Close()
			to = z
		}
		random := rand.NewChaCha8([32]byte{})
		part := make([]byte, 8<<10)
		for {
			random.Read(part)
			if _, err := to.Write(part); err != nil {
				return
			}
			sent.Add(int64(len(part)))
		}
	}
}

// MaxBytes limits the bodies of all visits together while they are read. This holds for the budget
// of the crawl and of a site, and for each coding. A robots.txt is not cut but requested again.
func TestABudgetOfBytesBoundsBodies(t *testing.T) {
	const hosts, budget = 20, 2_000_000
	for name, limit := range map[string]func(*crawler.Options){
		"of the crawl": func(o *crawler.Options) { o.MaxBytes = budget },
		"of a site":    func(o *crawler.Options) { o.MaxHostBytes = budget / hosts },
	} {
		for _, coding := range []string{"", "gzip"} {
			for _, target := range []string{"/", "/robots.txt"} {
				for _, scheme := range []string{"http", "https"} {
					t.Run(fmt.Sprint(name, coding, target, scheme), func(t *testing.T) {
						dir := t.TempDir()
						synctest.Test(t, func(t *testing.T) {
							w := crawltest.New(t)
							var sent atomic.Int64
							var seeds []string
							for i := range hosts {
								origin := fmt.Sprintf("%s://h%d.example", scheme, i)
								w.Site(origin).Func(target, unending(coding, &sent))
								seeds = append(seeds, origin+"/")
							}
							_, sum := crawl(t, w, func(o *crawler.Options) {
								limit(o)
								o.Dir, o.Delay = dir, crawler.NoDelay
							}, seeds...)
							got := sum.Frontier.Spent.Bytes
							if got < budget-1 || got > budget+hosts*16<<10 || sent.Load() > budget+hosts*(16+1024)<<10 {
								t.Errorf("%d bytes were read, and %d sent, of %d", got, sent.Load(), budget)
							}
							if target == "/robots.txt" && sum.Fetched > 0 {
								t.Errorf("%d pages were fetched by a robots.txt without its end", sum.Fetched)
							}
						})
						if target == "/robots.txt" {
							return
						}
						for _, r := range records(t, dir) {
							if r.Truncated != "length" {
								t.Errorf("%s is truncated by %q", r.URL, r.Truncated)
							}
						}
					})
				}
			}
		}
	}
}
