package audit_test

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// longLog writes the log of a polite crawl to a file: n requests to a thousand sites, in the
// order of their end. It returns the name of the file and the time of the first request.
func longLog(b *testing.B, n int) (name string, begin time.Time) {
	const sites = 1000
	begin = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	name = filepath.Join(b.TempDir(), "crawl.log")
	file, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(file)
	var line []byte
	for i := range n {
		round, site := i/sites, i%sites
		start := begin.Add(time.Duration(round)*2*time.Second + time.Duration(site)*time.Millisecond)
		l := crawllog.Line{
			Time: start.Add(20 * time.Millisecond), Status: 200, Size: 20_000, URL: fmt.Sprintf("http://h%d.example/page/%d", site, round), Hops: "L", Via: "http://h0.example/",
			Type: "text/html", Worker: site, Start: start, Duration: 20 * time.Millisecond, Digest: "sha1:OEU2KQLFJ54JIDTPAGS7L3TIXFHRLPXR",
			Annotations: []string{"start:" + start.Format(crawllog.MicroForm), "ttfb:0.010000", "took:0.020000", fmt.Sprintf("ip:16.0.%d.%d:80", site/250, site%250), "proto:h2"},
		}
		if round == 0 {
			l.URL, l.Hops, l.Via = fmt.Sprintf("http://h%d.example/robots.txt", site), "P", fmt.Sprintf("http://h%d.example/", site)
		} else {
			fetched := begin.Add(time.Duration(site)*time.Millisecond + 20*time.Millisecond)
			l.Annotations = append(l.Annotations, "asked:1.000000", "clock:own", "robots:"+fetched.Format(crawllog.MicroForm))
		}
		line = l.Append(line[:0])
		if _, err := out.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	return name, begin
}

// BenchmarkAudit audits a million requests. Its memory does not depend on that number, except
// for the buffers of the sort.
func BenchmarkAudit(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			name, begin := longLog(b, n)
			crawl := audit.Crawl{
				Name: name, Identity: testIdentity, UserAgents: []string{testIdentity.UserAgent()},
				Log: func() (io.ReadCloser, error) { return os.Open(name) },
				Sites: func(yield func(frontier.Site, error) bool) {
					for site := range min(n, 1000) {
						if !yield(frontier.Site(fmt.Sprintf("http://h%d.example", site)), nil) {
							return
						}
					}
				},
				Entries: func(site frontier.Site) iter.Seq2[store.Kept, error] {
					return func(yield func(store.Kept, error) bool) {
						for round := 1; round < n/1000; round++ {
							u, err := frontier.ParseURL(fmt.Sprintf("%s/page/%d", site, round))
							if !yield(store.Kept{Entry: frontier.Entry{URL: u}, Fate: frontier.Fate{Code: frontier.Fetched, Status: 200, Time: begin}}, err) {
								return
							}
						}
					}
				},
				Robots: func(site frontier.Site) iter.Seq2[*robots.Snapshot, error] {
					return func(yield func(*robots.Snapshot, error) bool) {
						var number int
						fmt.Sscanf(string(site), "http://h%d.", &number)
						yield(&robots.Snapshot{
							URL: string(site) + "/robots.txt", Status: 200, Body: []byte("User-agent: *\nDisallow: /private/\nCrawl-delay: 1\n"),
							Fetched: begin.Add(time.Duration(number)*time.Millisecond + 20*time.Millisecond),
						}, nil)
					}
				},
			}
			for b.Loop() {
				r, err := crawl.Audit(audit.Options{Temp: b.TempDir()})
				if err != nil || !r.Clean() || r.Requests != int64(n) {
					b.Fatal(r, err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
