package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/report"
	"github.com/permesso-crawler/permesso/storage"
)

var rewrite = flag.Bool("rewrite", false, "write what reports say now")

// toldLog is that of a small crawl of three sites in two runs, with everything that pictures show.
const toldLog = `2026-05-04T10:00:00.000Z     0          - permesso:run - - unknown #000 - - - begin:clean
2026-05-04T10:00:00.120Z   200         60 http://a.test/robots.txt P http://a.test/ text/plain #001 20260504100000100+20 - - start:2026-05-04T10:00:00.100000Z,ttfb:0.010000,took:0.020000
2026-05-04T10:00:00.140Z   404          9 http://b.test/robots.txt P http://b.test/ text/html #002 20260504100000100+40 - - start:2026-05-04T10:00:00.100000Z,ttfb:0.030000,took:0.040000
2026-05-04T10:00:00.200Z    -1          - http://c.test/robots.txt P http://c.test/ unknown #003 20260504100000100+100 - - start:2026-05-04T10:00:00.100000Z,took:0.100000,error:dns
2026-05-04T10:00:02.190Z   200       4000 http://a.test/ - - text/html #001 20260504100002120+70 sha1:A - start:2026-05-04T10:00:02.120011Z,ttfb:0.050000,took:0.070000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:02.200Z -9998          - http://a.test/no L http://a.test/ unknown #001 - - - rule:2
2026-05-04T10:00:02.210Z -5002          - http://a.test/ai L http://a.test/ unknown #001 - - - refused:noai
2026-05-04T10:00:02.220Z -5001          - http://b.test/out L http://a.test/ unknown #001 - - - optout:b.test/out
2026-05-04T10:00:01.300Z   429          0 http://b.test/ - - unknown #002 20260504100001200+100 - - start:2026-05-04T10:00:01.200000Z,ttfb:0.090000,took:0.100000,asked:1.000000,clock:own
2026-05-04T10:00:04.250Z   302          0 http://a.test/moved L http://a.test/ unknown #001 20260504100004200+50 - - start:2026-05-04T10:00:04.200000Z,ttfb:0.040000,took:0.050000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:06.300Z   200       4000 http://a.test/same LR http://a.test/moved text/html #001 20260504100006260+40 sha1:A - start:2026-05-04T10:00:06.260000Z,ttfb:0.030000,took:0.040000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:08.400Z   404         90 http://a.test/gone L http://a.test/ text/html #001 20260504100008390+10 sha1:B - start:2026-05-04T10:00:08.390000Z,ttfb:0.009000,took:0.010000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:10.000Z     0          - permesso:run - - unknown #000 - - - begin:unclean
2026-05-04T10:00:11.500Z   200        700 http://b.test/ - - text/html #002 20260504100011400+100 sha1:C - start:2026-05-04T10:00:11.400000Z,ttfb:0.080000,took:0.100000,asked:10.000000,clock:retry-after,since:2026-05-04T10:00:01.300000Z
2026-05-04T10:00:12.100Z   500        300 http://b.test/x.png E http://b.test/ image/png #002 20260504100012000+100 - - start:2026-05-04T10:00:12.000000Z,ttfb:0.070000,took:0.100000,asked:1.000000,clock:own
2026-05-04T10:00:13.000Z    -2          - http://c.test/ - - unknown #000 - - - error:dns,queued:1
`

// The page of a small crawl, and its figures, are those that were looked at; a difference
// wants to be.
func TestThePageOfASmallCrawlIsAsItWasLookedAt(t *testing.T) {
	r, err := report.Dir(written(t, map[string]string{
		storage.LogFile: toldLog,
		storage.PagesFile: `{"url":"http://a.test/","title":"Home","links":5}` + "\n" + `{"url":"http://a.test/moved","location":"http://a.test/same"}` + "\n" +
			`{"url":"http://a.test/gone","status":404,"title":"There is no such page"}` + "\n",
		storage.LinksFile: `{"from":"http://a.test/","to":"http://a.test/gone","hop":"L"}` + "\n" + `{"from":"http://a.test/","to":"http://elsewhere.test/","hop":"L"}` + "\n",
	}), report.Options{Now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	r.Name, r.Program = "small.crawl", "permesso/test"
	if r.First != time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC) || r.Last != time.Date(2026, 5, 4, 10, 0, 13, 0, time.UTC) {
		t.Errorf("from %v to %v", r.First, r.Last)
	}
	figures, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := pageOf(t, r)
	_, body, _ := strings.Cut(raw, "</head>\n")
	for name, is := range map[string][]byte{"testdata/small.json": append(figures, '\n'), "testdata/small.html": []byte(body)} {
		if *rewrite {
			if err := os.WriteFile(name, is, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(is, want) {
			t.Errorf("%s is not what is said now: go test ./crawler/report -run Small -rewrite writes it", name)
		}
	}
}

// A report leaves no temporary file behind, and the crawl can go on.
func TestAReportLeavesTheCrawlAsItWas(t *testing.T) {
	dir, temp := written(t, map[string]string{storage.LogFile: toldLog}), t.TempDir()
	if _, err := report.Dir(dir, report.Options{Temp: temp}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	db, err := storage.Open(dir, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
