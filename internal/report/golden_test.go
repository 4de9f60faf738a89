package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

var rewrite = flag.Bool("rewrite", false, "write what reports say now")

// toldLog is the log of a small crawl of three sites, in two runs. All pictures of the page
// show something.
const toldLog = `2026-05-04T10:00:00.000Z     0          - permesso:run - - unknown #000 - - - begin:clean
2026-05-04T10:00:00.120Z   200         60 http://a.test/robots.txt P http://a.test/ text/plain #001 20260504100000100+20 - - start:2026-05-04T10:00:00.100000Z,ttfb:0.010000,took:0.020000
2026-05-04T10:00:00.140Z   404          9 http://b.test/robots.txt P http://b.test/ text/html #002 20260504100000100+40 - - start:2026-05-04T10:00:00.100000Z,ttfb:0.030000,took:0.040000
2026-05-04T10:00:00.200Z    -1          - http://c.test/robots.txt P http://c.test/ unknown #003 20260504100000100+100 - - start:2026-05-04T10:00:00.100000Z,took:0.100000,error:dns
2026-05-04T10:00:02.190Z   200       4000 http://a.test/ - - text/html #001 20260504100002120+70 sha1:A - start:2026-05-04T10:00:02.120011Z,ttfb:0.050000,took:0.070000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:02.200Z -9998          - http://a.test/no L http://a.test/ unknown #001 - - - rule:2
2026-05-04T10:00:02.210Z -5002          - http://a.test/ai L http://a.test/ unknown #001 - - - refused:noai
2026-05-04T10:00:02.220Z -5001          - http://b.test/out L http://a.test/ unknown #001 - - - optout:b.test/out
2026-05-04T10:00:02.230Z     0          - http://a.test/zero L http://a.test/ unknown #001 - - - -
2026-05-04T10:00:01.300Z   429          0 http://b.test/ - - unknown #002 20260504100001200+100 - - start:2026-05-04T10:00:01.200000Z,ttfb:0.090000,took:0.100000,asked:1.000000,clock:own
2026-05-04T10:00:04.250Z   302          0 http://a.test/moved L http://a.test/ unknown #001 20260504100004200+50 - - start:2026-05-04T10:00:04.200000Z,ttfb:0.040000,took:0.050000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:06.300Z   200       4000 http://a.test/same LR http://a.test/moved text/html #001 20260504100006260+40 sha1:A - start:2026-05-04T10:00:06.260000Z,ttfb:0.030000,took:0.040000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:08.400Z   404         90 http://a.test/gone L http://a.test/ text/html #001 20260504100008390+10 sha1:B - start:2026-05-04T10:00:08.390000Z,ttfb:0.009000,took:0.010000,asked:2.000000,clock:crawl-delay
2026-05-04T10:00:10.000Z     0          - permesso:run - - unknown #000 - - - begin:unclean
2026-05-04T10:00:11.500Z   200        700 http://b.test/ - - text/html #002 20260504100011400+100 sha1:C - start:2026-05-04T10:00:11.400000Z,ttfb:0.080000,took:0.100000,asked:10.000000,clock:retry-after,since:2026-05-04T10:00:01.300000Z
2026-05-04T10:00:12.100Z   500        300 http://b.test/x.png E http://b.test/ image/png #002 20260504100012000+100 - - start:2026-05-04T10:00:12.000000Z,ttfb:0.070000,took:0.100000,asked:1.000000,clock:own
2026-05-04T10:00:12.500Z -9998          - http://a.test/no/zero L http://a.test/zero unknown #001 - - - rule:2
2026-05-04T10:00:13.000Z    -2          - http://c.test/ - - unknown #000 - - - error:dns,queued:1
`

// The numbers and the page of a small crawl equal the golden files. Check each difference
// before you rewrite them.
func TestGoldenSmallCrawl(t *testing.T) {
	r, err := report.Dir(t.Context(), written(t, map[string]string{
		store.LogFile: toldLog,
		store.PagesFile: `{"url":"http://a.test/","title":"Home","links":5}` + "\n" + `{"url":"http://a.test/moved","location":"http://a.test/same"}` + "\n" +
			`{"url":"http://a.test/gone","status":404,"title":"There is no such page"}` + "\n",
		store.LinksFile: `{"from":"http://a.test/","to":"http://a.test/gone","hop":"L"}` + "\n" + `{"from":"http://a.test/","to":"http://elsewhere.test/","hop":"L"}` + "\n",
	}), report.Options{Now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	r.Name, r.Program = "small.crawl", "permesso/test"
	if r.First != time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC) || r.Last != time.Date(2026, 5, 4, 10, 0, 13, 0, time.UTC) {
		t.Errorf("from %v to %v", r.First, r.Last)
	}
	golden(t, "small", r)
}

// golden compares the numbers of a report, as JSON, and its page with the golden files of this
// name.
func golden(t *testing.T, name string, r *report.Report) {
	t.Helper()
	figures, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := pageOf(t, r)
	_, body, _ := strings.Cut(raw, "</head>\n")
	for file, is := range map[string][]byte{"testdata/" + name + ".json": append(figures, '\n'), "testdata/" + name + ".html": []byte(body)} {
		if *rewrite {
			if err := os.WriteFile(file, is, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(is, want) {
			t.Errorf("%s is not what is said now: go test ./internal/report -run Golden -rewrite writes it", file)
		}
	}
}

// mixedLog returns the log of a crawl that took three days, with all kinds of answers from more
// sites than a table shows. Each call returns the same text.
func mixedLog() string {
	var log strings.Builder
	log.WriteString("2026-05-04T10:00:00.000Z 0 - permesso:run - - unknown #000 - - - begin:clean\n")
	random := rand.New(rand.NewPCG(7, 11))
	from := func(list ...string) string { return list[random.IntN(len(list))] }
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	for n := range 150 {
		at = at.Add(time.Duration(1+random.IntN(3600)) * time.Second)
		site := fmt.Sprintf("http://s%02d.test", random.IntN(1+n/4))
		url := fmt.Sprintf("%s/%d", site, random.IntN(12))
		took := time.Duration(1+random.IntN(1<<(3+random.IntN(22)))) * time.Microsecond
		begun := at.Add(-took)
		status := from("200", "200", "200", "200", "206", "299", "300", "301", "302", "304", "400", "403", "404", "404", "408", "410", "421", "425", "429", "451", "500", "503", "599", "-2", "-3", "-9998", "-5002", "-5001")
		hops, kind, size, notes := from("-", "L", "LL", "LR", "E", "P"), from("text/html", "text/html", "image/png", "text/plain", "unknown"), fmt.Sprint(random.IntN(1<<(1+random.IntN(24)))), ""
		if hops == "P" {
			url = site + "/robots.txt"
		}
		if status[0] == '-' && len(status) > 2 {
			fmt.Fprintf(&log, "%s %s - %s L %s/ unknown #001 - - - %s\n", at.Format("2006-01-02T15:04:05.000Z"), status, url, site, map[string]string{"-9998": "rule:2", "-5002": "refused:noai", "-5001": "optout:list"}[status])
			continue
		}
		if status[0] == '-' {
			size, notes = "-", ",error:"+from("dns", "connect", "reset", "answer-timeout", "truncated", "calm", "challenge", "odd", "tls", "protocol")
		} else {
			notes = fmt.Sprintf(",ttfb:%.6f", took.Seconds()/2)
		}
		if asked := random.IntN(4); asked > 0 {
			notes += fmt.Sprintf(",asked:%d.000000,clock:%s", asked*random.IntN(40), from("own", "crawl-delay", "request-rate", "adaptive", "retry-after", "back-off", "ip", "host"))
		}
		fmt.Fprintf(&log, "%s %s %s %s %s %s/ %s #%03d %s+%d sha1:%c - start:%s,took:%.6f%s\n", at.Format("2006-01-02T15:04:05.000Z"), status, size, url, hops, site, kind, n%5,
			begun.Format("20060102150405000"), took.Milliseconds(), 'A'+rune(random.IntN(20)), begun.Format("2006-01-02T15:04:05.000000Z"), took.Seconds(), notes)
		if n%20 == 19 {
			log.WriteString("no line\n")
		}
	}
	// Add lines about sites and runs, pages with special types or purposes, and several errors
	// in one step of time.
	at = at.Add(time.Hour)
	for i, line := range []string{
		"0 - permesso:run - - unknown #000 - - - begin:unclean", "0 - permesso:run - - unknown #000 - - - order:slow", "-2 - http://s01.test/ - - unknown #000 - - - error:dns,queued:2",
		"-9999 - http://s01.test/scope L http://s01.test/ unknown #000 - - - -", "200 5 http://s01.test/noai L http://s01.test/ text/html #001 START+100 sha1:A - start:MICRO,took:0.100000,ttfb:0.050000,refused:noai",
		"304 - http://s01.test/kept L http://s01.test/ unknown #001 START+100 sha1:A - start:MICRO,took:0.100000,ttfb:0.050000,kept:text/html", "304 - http://s01.test/nothing L http://s01.test/ unknown #001 START+100 sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ - start:MICRO,took:0.100000,ttfb:0.050000,kept:text/plain",
		"200 0 http://s01.test/empty L http://s01.test/ text/html #001 START+100 - - start:MICRO,took:0.100000,ttfb:0.050000,asked:1.000000,clock:retry-after", "200 7 mailto:x L http://s01.test/ text/html #001 START+100 - - start:MICRO,took:0.100000",
		"200 7 http://s01.test/odd L http://s01.test/ text/html #001 START+100 - - start:MICRO,took:soon", "-3 - http://s02.test/robots.txt P odd unknown #001 START+100 - - start:MICRO,took:0.100000,error:tls",
		"200 9 http://s01.test/early L http://s01.test/ text/html #001 START+100 - - start:MICRO,took:0.100000,ttfb:0.050000,asked:9.000000,clock:own", "200 9 http://s03.test/first L - text/html #001 START+100 - - start:MICRO,took:0.100000,ttfb:0.050000,asked:9.000000,clock:own",
	} {
		when := at.Add(time.Duration(i) * time.Second)
		line = strings.NewReplacer("START", when.Format("20060102150405000"), "MICRO", when.Format("2006-01-02T15:04:05.000000Z")).Replace(line)
		fmt.Fprintf(&log, "%s %s\n", when.Add(100*time.Millisecond).Format("2006-01-02T15:04:05.000Z"), line)
	}
	return log.String()
}

// The page of a large running crawl, with the changes since the previous crawl, equals the
// golden file.
func TestGoldenMixedCrawl(t *testing.T) {
	var pages strings.Builder
	for i := range 12 {
		title := strings.Repeat("x", 119) // titles with one character more than 119, and with two more
		fmt.Fprintf(&pages, `{"url":"http://s0%d.test/%d","title":"%s"}`+"\n", i%10, i, title+"yz"[:1+i%2])
	}
	var links strings.Builder
	for i := range 90 { // the links of one page are adjacent in links.jsonl
		fmt.Fprintf(&links, `{"from":"http://s0%d.test/%d","to":"http://s0%d.test/%d%s","hop":"%s"}`+"\n", i/20, i/10, i%4, i*i%7, []string{"", "#top"}[i/2%2], []string{"L", "E", "L", "R", "M", "I"}[i*i%23%6])
	}
	r, err := report.Dir(t.Context(), written(t, map[string]string{store.LogFile: mixedLog(), store.PagesFile: pages.String(), store.LinksFile: links.String()}), report.Options{Now: time.Date(2026, 5, 8, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	r.Name, r.Program, r.Token, r.Contact, r.Running = "mixed.crawl", "permesso/test", "reportbot", "https://example.org/reportbot", true
	r.NotCompared = &report.NotCompared{Dir: "before.crawl", Why: "it is damaged", Mend: "crawl repair"}
	r.Since = &diff.Result{
		Format: diff.Format, Was: diff.Snapshot{Dir: "was.crawl", First: r.First, Last: r.First.Add(time.Hour), URLs: 7, There: 5, Waiting: 1}, Is: diff.Snapshot{Dir: "mixed.crawl", URLs: 8, There: 6, Waiting: 2},
		Settings: []diff.Setting{{Name: "depth", Was: "none", Is: "2"}, {Name: "limit", Was: "3", Is: "none"}}, Seeds: diff.Seeds{Added: 2, Removed: 1, First: []string{"+http://a.test/", "-http://b.test/"}},
		Texts: diff.Texts{Compared: 3, Unknown: 2}, Disallowed: 60, Allowed: 2, OtherLines: 4, First: map[diff.Kind][]diff.Change{},
	}
	for i, k := range diff.Kinds() {
		r.Since.Counts[i] = int64(1 + i)
		r.Since.First[k] = []diff.Change{{URL: "http://a.test/" + string(k), Site: "http://a.test", Kind: k, Was: diff.State{Fate: frontier.Fetched, Status: 200}, Is: diff.State{Fate: frontier.Fetched, Status: 201}}}
	}
	for i := range 60 {
		site := frontier.Site(fmt.Sprintf("http://s%02d.test", i))
		r.Since.Sites = append(r.Since.Sites, diff.Site{Site: site, Counts: r.Since.Counts})
		r.Since.Robots = append(r.Since.Robots, diff.Robots{
			Site: site, Was: diff.Copy{Outcome: diff.File, Fetched: r.First}, Is: diff.Copy{Outcome: diff.None, Fetched: r.Last, Status: 404}, Disallowed: 1, Allowed: 2, Unclear: 3,
			First: []diff.Effect{{URL: string(site) + "/x", Site: site, Allowed: i%2 == 0, Was: diff.Decision{Line: 1, Rule: "Disallow: /x"}, Is: diff.Decision{Rule: "no robots.txt"}}},
		})
	}
	golden(t, "mixed", r)
}

// The page of a crawl without requests, and of a crawl with remaining URLs, equal the golden
// files.
func TestGoldenQuietCrawls(t *testing.T) {
	now := time.Date(2026, 5, 8, 12, 0, 0, 0, time.UTC)
	begun := written(t, map[string]string{store.LogFile: strings.SplitAfter(toldLog, "\n")[0]})
	waits := queued(t, now)
	if err := os.WriteFile(filepath.Join(waits, store.LogFile), []byte(strings.ReplaceAll(toldLog, "b.test", "slow.test")), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, dir := range []string{begun, waits, visited(t, now, now.Add(time.Hour)), begun} {
		r, err := report.Dir(t.Context(), dir, report.Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if r.Name, r.Program = "quiet.crawl", "permesso/test"; i == 3 {
			r.Left = report.Table[report.Left]{All: 1, Rows: []report.Left{{Site: "http://a.test", Queued: 2, Fate: frontier.SiteDead, Reason: "dns"}}}
			r.Again, r.Others, r.Other, r.Polite.Judged, r.Polite.Early, r.Polite.Least = 1, 2, []report.Other{{Line: 1, Why: "x"}, {Line: 2, Why: "y"}}, 1, 1, -2
			r.Types = []report.Type{{Name: "text/html", Requests: 1}}
		}
		golden(t, fmt.Sprintf("quiet%d", i), r)
	}
}

// Dir leaves no temporary file, and the crawl can be resumed.
func TestAReportLeavesTheCrawlAsItWas(t *testing.T) {
	dir, temp := written(t, map[string]string{store.LogFile: toldLog}), t.TempDir()
	if _, err := report.Dir(t.Context(), dir, report.Options{Temp: temp}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// fill sets each number in v to n and each text to one letter. Each list gets n elements.
func fill(v reflect.Value, n int) {
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 5, 4, 10, 0, n, 0, time.UTC)))
	case v.CanInt():
		v.SetInt(int64(n))
	case v.CanFloat():
		v.SetFloat(float64(n))
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	}
}

// The pages of a crawl whose numbers are all 1, and of one whose numbers are all 2, equal the
// golden files.
func TestGoldenLeastFigures(t *testing.T) {
	for n, name := range []string{1: "ones", 2: "twos"} {
		if n > 0 {
			var r report.Report
			fill(reflect.ValueOf(&r).Elem(), n)
			golden(t, name, &r)
		}
	}
}
