package report_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// longLog writes a crawl.log of n requests to a thousand sites. Some of the requests failed.
func longLog(b testing.TB, path string, n int) {
	const sites = 1000
	begin := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(file)
	var line []byte
	for i := range n {
		round, site := i/sites, i%sites
		start := begin.Add(time.Duration(round)*2*time.Second + time.Duration(site)*time.Millisecond)
		l := crawllog.Line{
			Time: start.Add(20 * time.Millisecond), Status: 200, Size: 20_000, URL: fmt.Sprintf("http://h%d.example/page/%d", site, round), Hops: "L",
			Via: fmt.Sprintf("http://h%d.example/page/%d", site, round/10), Type: "text/html", Worker: site, Start: start, Duration: 20 * time.Millisecond,
			Digest: fmt.Sprintf("sha1:OEU2KQLFJ54JIDTPAGS7L3TI%08d", i%900_000),
			Annotations: []string{"start:" + start.Format(crawllog.MicroForm), "ttfb:0.010000", "took:0.020000", "asked:1.000000", "clock:own",
				fmt.Sprintf("ip:16.0.%d.%d:80", site/250, site%250), "proto:h2", "robots:" + begin.Format(crawllog.MicroForm)},
		}
		switch {
		case round == 0:
			l.URL, l.Hops, l.Via = fmt.Sprintf("http://h%d.example/robots.txt", site), "P", fmt.Sprintf("http://h%d.example/", site)
		case i%20 == 7:
			l.Status = 404
		case i%50 == 3:
			l.Status = 301
		}
		line = l.Append(line[:0])
		if _, err := out.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkReport makes the report of a million requests, as figures and as a page.
func BenchmarkReport(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			db, err := store.Open(dir, store.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
			longLog(b, filepath.Join(dir, store.LogFile), n)
			var page strings.Builder
			for b.Loop() {
				r, err := report.Dir(b.Context(), dir, report.Options{Temp: b.TempDir()})
				if err != nil || r.Requests != int64(n) {
					b.Fatal(r, err)
				}
				page.Reset()
				if err := r.WriteHTML(&page); err != nil {
					b.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
			b.ReportMetric(float64(page.Len())/1000, "page-kB")
		})
	}
}

// A site has one row with all its requests, however many lines of other sites are between its
// own lines. The log of this test is too large to be sorted in memory.
func TestSitesOfALongLog(t *testing.T) {
	const n, sites = 40_000, 1000
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	longLog(t, filepath.Join(dir, store.LogFile), n)
	r, err := report.Dir(t.Context(), dir, report.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Sites != sites || r.Hosts != sites || r.SiteRows.All != sites || r.URLs != n-sites {
		t.Errorf("%d sites, %d hosts, %d rows, %d URLs", r.Sites, r.Hosts, r.SiteRows.All, r.URLs)
	}
	for _, row := range r.SiteRows.Rows {
		if row.Requests != n/sites || row.Bytes != 20_000*n/sites || row.Asked != 1 || row.Clock != "own" || row.Robots != "200" {
			t.Errorf("%+v", row)
		}
	}
	if p := r.Polite; p.Judged != n-sites || p.Unknown != sites || p.Early != 0 {
		t.Errorf("%+v", p)
	}
}
