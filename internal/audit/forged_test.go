package audit_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A forgery changes a log in one way. It returns nil if the log cannot be changed so.
type forgery struct {
	name   string
	always bool // the audit finds the change even without the checksum of the log
	do     func(log []byte, r *rand.Rand) []byte
}

// ofLines returns a function that applies f to a random line of a log. The line matches the
// expression pick.
func ofLines(f func(lines [][]byte, i int) [][]byte, pick string) func(log []byte, r *rand.Rand) []byte {
	picked := regexp.MustCompile(pick)
	return func(log []byte, r *rand.Rand) []byte {
		lines := bytes.SplitAfter(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
		lines[len(lines)-1] = append(slices.Clip(lines[len(lines)-1]), '\n')
		var some []int
		for i, line := range lines {
			if picked.Match(line) {
				some = append(some, i)
			}
		}
		if len(some) == 0 {
			return nil
		}
		return bytes.Join(f(slices.Clone(lines), some[r.IntN(len(some))]), nil)
	}
}

// without deletes line i.
func without(lines [][]byte, i int) [][]byte { return slices.Delete(lines, i, i+1) }

// instead returns a function that replaces the matches of an expression in line i.
func instead(expression, text string) func(lines [][]byte, i int) [][]byte {
	re := regexp.MustCompile(expression)
	return func(lines [][]byte, i int) [][]byte {
		lines[i] = re.ReplaceAll(lines[i], []byte(text))
		return lines
	}
}

func forgeries() []forgery {
	const request, page, rules = "start:", " 200 .*start:.*robots:", " 200 .*/robots.txt P .*start:"
	host := func(lines [][]byte, i int) [][]byte {
		name := bytes.Join(bytes.SplitN(bytes.Fields(lines[i])[3], []byte("/"), 4)[:3], []byte("/"))
		return slices.DeleteFunc(lines, func(line []byte) bool { return bytes.Contains(line, append(name, '/')) })
	}
	return []forgery{
		{"the line of a page is deleted", true, ofLines(without, page)},
		{"the line of a robots.txt is deleted", true, ofLines(without, rules)},
		{"all lines of a host are deleted", true, ofLines(host, page)},
		{"the second half is deleted", false, func(log []byte, _ *rand.Rand) []byte {
			return log[:bytes.LastIndexByte(log[:len(log)/2], '\n')+1]
		}},
		{"a page gets another URL", false, ofLines(instead(`(https?://[^/ ]+)/\S*`, "$1/other"), page)},
		{"a page is answered in no time", true, ofLines(instead(`took:[0-9.]+`, "took:0.000000"), `took:0\.[1-9].*robots:`)},
		{"a request begins a second earlier", true, ofLines(func(lines [][]byte, i int) [][]byte {
			l, _ := crawllog.Parse(string(lines[i]))
			at, _ := time.Parse(crawllog.MicroForm, strings.TrimPrefix(l.Annotations[0], "start:"))
			lines[i] = bytes.Replace(lines[i], []byte(l.Annotations[0]), []byte("start:"+at.Add(-time.Second).Format(crawllog.MicroForm)), 1)
			return lines
		}, request)},
		{"a page names no robots.txt", true, ofLines(instead(`,robots:[^,\s]+`, ""), page)},
		{"a page names another robots.txt", true, ofLines(instead(`,robots:[^,\s]+`, ",robots:1999-12-31T00:00:00.000000Z"), page)},
		{"a robots.txt has another digest", true, ofLines(instead(`sha1:\w+`, "sha1:MWMQEVVW5PQBJHMO37FOG4TUW2XT4QVO"), rules)},
		{"a robots.txt has no digest", true, ofLines(instead(`sha1:\w+`, "-"), rules)},
		{"a robots.txt has another status", true, ofLines(instead(`^(\S+ +)200`, "${1}404"), rules)},
		{"a line is there twice", false, ofLines(func(lines [][]byte, i int) [][]byte { return slices.Insert(lines, i, lines[i]) }, request)},
		{"a line cannot be read", true, ofLines(func(lines [][]byte, i int) [][]byte { lines[i] = []byte("none\n"); return lines }, ".")},
		{"a page has another status", false, ofLines(instead(`^(\S+ +)\d+`, "${1}404"), page)},
		{"a request does not say what was asked", false, ofLines(instead(`asked:[^,]+,clock:[^,]+,`, ""), "asked:")},
		{"an answer does not say when to come again", false, ofLines(instead(`retry-after:[^,]+,`, ""), "retry-after:2")},
		{"a run was killed that was not", false, ofLines(instead(`begin:clean`, "begin:unclean"), "begin:clean")},
		{"a run had another delay", false, ofLines(instead(`begin:(\w+)`, "begin:$1,changed:delay:1ms->1s"), "begin:")},
		{"a byte is another one", false, func(log []byte, r *rand.Rand) []byte {
			log = slices.Clone(log)
			log[r.IntN(len(log))] ^= 1 << r.IntN(8)
			return log
		}},
		{"some bytes are missing", false, func(log []byte, r *rand.Rand) []byte {
			i := r.IntN(len(log) - 50)
			return slices.Delete(slices.Clone(log), i, i+1+r.IntN(49))
		}},
		{"lines change places", false, ofLines(func(lines [][]byte, i int) [][]byte {
			lines[i], lines[max(1, i-1)] = lines[max(1, i-1)], lines[i]
			return lines
		}, request)},
	}
}

// An audit finds each changed log by the checksum in the state. If the checksum was changed,
// too, it still finds contradictions in the log.
func TestForgedLogsAreNamed(t *testing.T) {
	type crawled struct {
		audit.Crawl
		log []byte
	}
	var crawls []crawled
	for seed := range uint64(6) {
		parent := t.TempDir()
		var dir string
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 2*seed+1, filepath.Join(parent, "live"))
			dir = w.crawl(t, parent)
		})
		raw, err := os.ReadFile(filepath.Join(dir, store.LogFile))
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.OpenReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		c := audit.Crawl{
			Name: "crawl.log", Robots: r.Snapshots, Killed: r.Unclean(), Committed: r.LastCommit(), Sites: r.Names(), Entries: r.Entries,
			UserAgents: []string{testIdentity.UserAgent()},
		}
		id, settings, err := kept.Asked(r)
		if err != nil {
			t.Fatal(err)
		}
		c.Identity, c.Settings = crawler.Identity(id), settings
		c.Written, c.Sum = r.LogMark()
		crawls = append(crawls, crawled{c, raw})
	}
	named := func(c audit.Crawl, log []byte) (bool, string) {
		c.Log = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil }
		r, err := c.Audit(audit.Options{})
		if err != nil {
			return true, err.Error()
		}
		return !r.Clean() || r.UnprovenLines > 0, fmt.Sprint(r.Violations)
	}
	for i, c := range crawls {
		if is, why := named(c.Crawl, c.log); is {
			t.Fatalf("crawl %d: %s", i, why)
		}
	}
	random := rand.New(rand.NewPCG(7, 7))
	all := forgeries()
	tried, without := map[string]int{}, map[string]int{}
	n := larger("PERMESSO_AUDITS", 3*len(all))
	for i := range n {
		f := all[i%len(all)]
		c := crawls[random.IntN(len(crawls))]
		log := f.do(c.log, random)
		for try := 0; (log == nil || bytes.Equal(log, c.log)) && try < 100; try++ {
			c = crawls[random.IntN(len(crawls))]
			log = f.do(c.log, random)
		}
		if log == nil || bytes.Equal(log, c.log) {
			t.Fatalf("%s cannot be done", f.name)
		}
		tried[f.name]++
		if is, why := named(c.Crawl, log); !is {
			t.Errorf("%s: nothing is said: %s", f.name, why)
		}
		unmarked := c.Crawl
		unmarked.Written = 0
		is, _ := named(unmarked, log)
		if !is {
			without[f.name]++
		}
		if !is && f.always {
			t.Errorf("%s: without the checksum nothing is said", f.name)
		}
	}
	for _, f := range all {
		t.Logf("%s: %d times; without the checksum %d times nothing is said", f.name, tried[f.name], without[f.name])
	}
}
