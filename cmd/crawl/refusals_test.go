package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A refusal is a call of crawl run that is refused.
type refusal struct {
	code  int
	args  []string          // added to those of the crawl
	seeds []string          // nil: those of the kept crawls, or of the job
	env   map[string]string // environment of the call
	parse bool              // refused before the directory is read: two places are enough
	begin bool              // only for a crawl in one directory: --series refuses the flags in other words
	real  bool              // uses the network of this machine, but requests nothing
}

// refusals returns calls of crawl run that are refused for settings, seeds, files and
// addresses, regardless of the directory of the crawl. They use files that refusedFiles
// makes.
func refusals(taken string) map[string]refusal {
	all := map[string]refusal{
		"a log file that cannot be made":   {code: exit.Usage, args: []string{"--log-file", "none/log"}},
		"a log file that is a directory":   {code: exit.Usage, args: []string{"--log-file", "empty"}},
		"a taken address of figures":       {code: exit.Usage, args: []string{"--metrics", taken}},
		"the same, and a log file":         {code: exit.Usage, args: []string{"--metrics", taken, "--log-file", "log"}},
		"no address":                       {code: exit.Usage, args: []string{"--metrics", "nowhere.invalid:1"}},
		"an invalid contact":               {code: exit.Usage, args: []string{"--contact", "nobody"}},
		"three contacts":                   {code: exit.Usage, args: []string{"--contact", "a@example.org", "--contact", "b@example.org", "--contact", "https://example.org/"}},
		"a name that is taken":             {code: exit.Usage, args: []string{"--name", "googlebot"}},
		"a name with a blank":              {code: exit.Usage, args: []string{"--name", "my bot"}},
		"a contact of the environment":     {code: exit.Usage, env: map[string]string{"CRAWL_CONTACT": "nobody"}, begin: true},
		"no key":                           {code: exit.Usage, args: []string{"--sign-key", "none.pem"}},
		"an invalid key":                   {code: exit.Usage, args: []string{"--sign-key", "list.txt"}},
		"no list of exclusions":            {code: exit.Usage, args: []string{"--exclude-from", "none.txt"}},
		"an invalid list of opt-outs":      {code: exit.Usage, env: map[string]string{"XDG_CONFIG_HOME": "bad"}},
		"an earlier crawl that is missing": {code: exit.Usage, args: []string{"--previous", "none.crawl"}, begin: true},
		"an invalid earlier crawl":         {code: exit.Usage, args: []string{"--previous", "empty"}, begin: true},
		"an earlier crawl that runs":       {code: exit.InUse, args: []string{"--previous", "held.crawl"}, begin: true},
		"no job":                           {code: exit.Usage, args: []string{"--job", "none.yaml"}},
		"a job with mistakes":              {code: exit.Usage, args: []string{"--job", "mistakes.yaml"}},
		"a time without a series":          {code: exit.Usage, args: []string{"--due", "2030-01-01T00:00:00Z"}, begin: true},
		"a series without a job":           {code: exit.Usage, args: []string{"--series", "empty"}, begin: true},
	}
	for flag, value := range map[string]string{
		"--scope": "planet", "--include": "(", "--exclude": "(", "--max-size": "huge", "--connect-to": "nowhere", "--output": "csv",
		"--concurrency": "0", "--delay": "-1s", "--depth": "-1", "--limit": "-1", "--header": "none", "--revisit": "often", "--proxy": "::",
		"--log-level": "loud", "--progress": "loud", "--purpose": "fun", "--bandwidth": "many", "--robots-forbidden": "perhaps", "--frobnicate": "1",
		"--provenance": "perhaps", "--patience": "soon", "--max-time": "-1s", "--timeout": "-1s", "--rate": "-1", "--requisites": "some",
	} {
		all[flag+" "+value] = refusal{code: exit.Usage, args: []string{flag, value}, parse: true}
	}
	for name, seeds := range map[string][]string{
		"no file of seeds": {"none.txt"}, "a directory for seeds": {"empty"}, "a crawl for seeds": {"held.crawl"}, "an empty list": {"nothing.txt"},
		"a table for seeds": {"table.csv"}, "bytes for seeds": {"bytes.txt"}, "a column that is not there": {"table.csv", "--column", "link"}, "a column of no file": {"http://a.example/", "--column", "url"},
		"a seed with blanks": {"http://a.example/ b"}, "no seeds": {},
		"a line that is no URL": {"blanks.txt"}, "no URL": {"nonsense"},
	} {
		all[name] = refusal{code: exit.Usage, seeds: seeds, begin: true}
	}
	all["an example address as contact"] = refusal{code: exit.Usage, seeds: []string{"https://crawled-site.com/"}, begin: true, real: true}
	return all
}

// refusedFiles makes the files that refusals use, in the working directory. held.crawl is
// in use until the test ends.
func refusedFiles(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"empty", filepath.Join("bad", "permesso", "opt-out.txt")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"list.txt": "http://a.example/\n", "nothing.txt": "# nothing\n", "table.csv": "id,url\n1,http://a.example/\n", "blanks.txt": "http://a.example/ http://b.example/\n",
		"bytes.txt": "\x00\x01\x02\xff\xfe\x00", "mistakes.yaml": "sceds: [http://a.example/]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.Open("held.crawl", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
}

// placeDirs makes the directories that a refused run may find, by name, in the working
// directory. The last are series.
func placeDirs(t *testing.T, kept string) map[string]string {
	t.Helper()
	all := map[string]string{"none": "none.crawl", "not begun": "unbegun.crawl", "ended": endedCrawl, "killed": killedCrawl, "a series": "weekly", "a series that was killed": "daily", "a new series": "yearly"}
	unpack(t, kept)
	err := os.Mkdir("unbegun.crawl", 0o755)
	if err == nil {
		unbegun(t)["empty outputs"]("unbegun.crawl")
	}
	job := []byte("identity: {name: testbot, contact: https://example.org/testbot}\nseeds: [http://a.example/, http://b.example/]\noutput: [warc, jsonl, links]\n")
	for dir, last := range map[string]string{"weekly": endedCrawl, "daily": killedCrawl, "yearly": ""} {
		if last != "" {
			err = errors.Join(err, os.MkdirAll(dir, 0o755), os.CopyFS(filepath.Join(dir, "20260101T000000Z.crawl"), os.DirFS(last)),
				os.WriteFile(filepath.Join(dir, series.LockFile), []byte("{\"pid\":1}\n"), 0o644))
		}
		err = errors.Join(err, os.WriteFile(dir+".yaml", job, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ofPlace returns the arguments of crawl run for a place.
func ofPlace(name, dir string, seeds []string) []string {
	args := []string{"run", "--progress", "none", "--output", "warc,jsonl,links", "--max-time", "1s"}
	if strings.Contains(name, "series") {
		return append(args, "--series", dir, "--job", dir+".yaml")
	}
	if seeds == nil {
		seeds = []string{"http://a.example/", "http://b.example/"}
	}
	return append(append(args, "-d", dir), seeds...)
}

// assertRefused calls crawl run, and fails the test unless it ends with the code and
// changes nothing in the working directory.
func assertRefused(t *testing.T, r refusal, args []string) {
	t.Helper()
	t.Setenv("CRAWL_NAME", "testbot")
	t.Setenv("CRAWL_CONTACT", "https://example.org/testbot")
	for name, value := range r.env {
		t.Setenv(name, value)
	}
	before := contents(t, ".")
	var out bytes.Buffer
	p := &program{out: &out, err: &out, in: strings.NewReader(""), network: crawltest.New(t), control: true}
	if r.real {
		p.network = nil
	}
	root := p.root()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if code := exit.Code(err); code != r.code || err == nil {
		t.Errorf("crawl %q: exit %d, want %d: %s%v", args, code, r.code, &out, err)
	}
	if strings.Contains(out.String(), "before this run") {
		t.Errorf("crawl %q never began: %s", args, &out)
	}
	after := contents(t, ".")
	for name, is := range after {
		if was, ok := before[name]; !ok {
			t.Errorf("crawl %q made %s", args, name)
		} else if was != is {
			t.Errorf("crawl %q changed %s", args, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("crawl %q removed %s", args, name)
		}
	}
}

// A run that is refused for its settings, seeds, files or addresses changes nothing in any
// directory, also with --fresh, and as the next snapshot of a series.
func TestARefusedRunChangesNothing(t *testing.T) {
	kept := keptLayouts(t)[0]
	atHome(t)
	refusedFiles(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	all := refusals(l.Addr().String())
	for place, dir := range placeDirs(t, kept) {
		for name, r := range all {
			if r.begin && strings.Contains(place, "series") || r.parse && place != "killed" && place != "a new series" {
				continue
			}
			t.Run(place+"/"+name, func(t *testing.T) {
				args := append(ofPlace(place, dir, r.seeds), r.args...)
				if slices.Contains(r.args, "--job") { // its seeds would be others
					args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "http://") })
				}
				assertRefused(t, r, args)
				if place == "ended" || place == "killed" || strings.Contains(place, "series") {
					assertRefused(t, r, append(args, "--fresh"))
				}
			})
		}
	}
	t.Run("two ways to name a crawl", func(t *testing.T) {
		for _, args := range [][]string{{"--dir", "other.crawl"}, {"--previous", endedCrawl}, {"--revisit", "fixed:1d"}, {"--due", "2025-01-01T00:00:00Z", "--fresh"}} {
			assertRefused(t, refusal{code: exit.Usage}, append(ofPlace("a series", "weekly", nil), args...))
		}
	})
}

// A run that is refused because of the directory changes nothing there.
func TestADirectoryThatRefusesARunStaysAsItIs(t *testing.T) {
	kept := keptLayouts(t)[0]
	atHome(t)
	refusedFiles(t)
	all := placeDirs(t, kept)
	write := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
	}
	instead := func(name string) func(dir string) error {
		return func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.Mkdir(filepath.Join(dir, name), 0o755))
		}
	}
	for name, c := range map[string]struct {
		code   int // 0: any, except those of a run
		change func(dir string) error
		args   []string
	}{
		"another name":    {exit.Usage, nil, []string{"--name", "otherbot"}},
		"another contact": {exit.Usage, nil, []string{"--contact", "https://example.org/other"}},
		"another layout":  {exit.Layout, func(dir string) error { stateVersion(t, dir, 999); return nil }, nil},
		"a purge":         {exit.State, write("purge.jsonl", "{\"time\":\"2030-01-02T03:04:05Z\"}\n{\"place\":\"a.test\"}\n{\"end\":true}\n"), nil},
		"half a purge":    {exit.State, write("purge.jsonl", "{\"time\":"), nil},
		"a repair": {exit.State, func(dir string) error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "repair"), 0o755), write("repair/repair.json", "{}")(dir))
		}, nil},
		"a state of zeros": {exit.State, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, store.StateFile), make([]byte, 1<<16), 0o644)
		}, nil},
		"no state":              {exit.State, func(dir string) error { return os.Remove(filepath.Join(dir, store.StateFile)) }, nil},
		"a state that is a dir": {0, instead(store.StateFile), nil},
		"no pages":              {exit.State, func(dir string) error { return os.Remove(filepath.Join(dir, store.PagesFile)) }, nil},
		"pages that are cut":    {exit.State, write(store.PagesFile, ""), nil},
		"pages that are a dir":  {0, instead(store.PagesFile), nil},
		"links that are a dir":  {0, instead(store.LinksFile), nil},
		"a log that is a dir":   {0, instead(store.LogFile), nil},
		"an archive as a file": {0, func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, store.ArchiveDir)), write(store.ArchiveDir, "x")(dir))
		}, nil},
		"a crawl that runs": {exit.InUse, func(dir string) error { return held(t, dir) }, nil},
	} {
		for _, place := range []string{"ended", "killed", "a series that was killed"} {
			t.Run(place+"/"+name, func(t *testing.T) {
				dir := all[place]
				crawl := dir
				if place == "a series that was killed" {
					if crawl = filepath.Join(dir, "20260101T000000Z.crawl"); runtime.GOOS == "windows" {
						t.Skip("the lock of a series cannot be read there")
					}
				}
				if name == "an archive as a file" && place == "ended" {
					t.Skip("it makes another one: see docs/reference/outputs.md")
				}
				if err := os.CopyFS("kept", os.DirFS(crawl)); err != nil {
					t.Fatal(err)
				}
				if c.change != nil {
					if err := c.change(crawl); err != nil {
						t.Fatal(err)
					}
				}
				assertRefusedAny(t, c.code, append(ofPlace(place, dir, nil), c.args...))
				if err := errors.Join(os.RemoveAll(crawl), os.Rename("kept", crawl)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	t.Run("a file", func(t *testing.T) {
		assertRefusedAny(t, 0, ofPlace("ended", "list.txt", nil))
		assertRefusedAny(t, 0, ofPlace("ended", filepath.Join("list.txt", "a.crawl"), nil))
		assertRefusedAny(t, exit.Usage, append(ofPlace("ended", "empty", nil), "--fresh"))
		assertRefusedAny(t, exit.Usage, ofPlace("a series", "list.txt", nil))
	})
	t.Run("a series in use", func(t *testing.T) {
		r, err := series.Series{Dir: "yearly"}.Begin(series.Job{Options: &crawler.Options{Seeds: []string{"http://a.example/"}}}, series.Moment{Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		assertRefusedAny(t, exit.InUse, ofPlace("a series", "yearly", nil))
		if err := r.Undo(); err != nil || crawldir.Exists("yearly") {
			t.Errorf("a run that was undone is left: %v", err)
		}
	})
}

// assertRefusedAny is assertRefused; code 0 means any code except those of a run.
func assertRefusedAny(t *testing.T, code int, args []string) {
	t.Helper()
	if code == 0 {
		var out bytes.Buffer
		t.Setenv("CRAWL_NAME", "testbot")
		t.Setenv("CRAWL_CONTACT", "https://example.org/testbot")
		before := contents(t, ".")
		code = run(args, strings.NewReader(""), &out, &out)
		if slices.Contains([]int{exit.Done, exit.Nothing, exit.Later, exit.Forced}, code) {
			t.Errorf("crawl %q: exit %d: %s", args, code, &out)
		}
		if after := contents(t, "."); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("crawl %q changed something", args)
		}
	}
	assertRefused(t, refusal{code: code}, args)
}

// held locks a crawl until the test ends.
func held(t *testing.T, dir string) error {
	db, err := store.Open(dir, store.Options{Links: true, Archive: &store.Archive{}})
	if err == nil {
		t.Cleanup(func() { db.Close() })
	}
	return err
}
