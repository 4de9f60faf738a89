package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// eventsOf parses output that must be events, one on each line, of one version.
func eventsOf(t *testing.T, said string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(said) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(e["time"])); err != nil || e["version"] != 2.0 || e["event"] == nil || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), commands) {
			t.Errorf("%v: %q", err, line)
		}
		all = append(all, e)
	}
	return all
}

// A program gets events for the beginning, each half minute, and the end. The summary does
// not change.
func TestEventsTellOfARun(t *testing.T) {
	var p *program
	out, said := watched(t, func(of *program, _ *bytes.Buffer) screen {
		p = of
		return of.screen("json", false)
	})
	var last bytes.Buffer
	p.events.W = &last
	p.events.Last(exit.Done)
	all := eventsOf(t, said)
	if len(all) != 3 || all[0]["event"] != "start" || all[0]["token"] != "testbot" || all[0]["seeds"] != 1.0 {
		t.Fatalf("%v", all)
	}
	for i, e := range all[1:] {
		waiting, _ := e["waiting"].(map[string]any)
		if e["event"] != "progress" || e["seconds"] != 30.0*float64(i+1) || e["pages"] != 4.0*float64(i+1) || e["queued"] != 10-4.0*float64(i+1) || e["skipped_urls"] != 1.0 || e["busy"] != 0.0 ||
			waiting["site"] != "http://a.example" || waiting["clock"] != "own" || waiting["seconds"].(float64) > 7 {
			t.Errorf("%v", e)
		}
	}
	var end map[string]any
	if err := json.Unmarshal(last.Bytes(), &end); err != nil || end["event"] != "end" || end["code"] != 0.0 || end["end"] != "done" || end["pages"] != 10.0 || end["queued"] != 0.0 || end["early_requests"] != 0.0 {
		t.Errorf("%s, %v", &last, err)
	}
	if !strings.HasPrefix(out, "10 pages of 1 site, no request early; nothing is left\n\nended        done: nothing is left\n") {
		t.Errorf("the summary is %s", out)
	}
	table := document(t, "docs/guide/running.md")
	for _, e := range append(all, end, map[string]any{"text": ""}, map[string]any{"asking": ""}, map[string]any{"failed_requests": 0}) {
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if !strings.Contains(table, "`"+name+"`") {
				t.Errorf("docs/guide/running.md does not name %s", name)
			}
		}
	}
}

// All other output becomes notes: mistakes in seeds, log lines, why no run began. There is
// always a last event.
func TestAllThatIsSaidIsAnEvent(t *testing.T) {
	ownHome(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("seeds.txt", []byte("no seed at all\nhttp://127.0.0.1:1/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("job.yaml", []byte("progress: json\nidentity: {name: testbot, contact: me@example.org}\nseeds: [\"http://127.0.0.1:1/\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	identity := []string{"--name", "testbot", "--contact", "me@example.org", "--patience", "1s"}
	for _, c := range []struct {
		args []string
		code int
		has  string
	}{
		{append([]string{"run", "--progress", "json", "seeds.txt"}, identity...), exit.Nothing, "seeds.txt:1: "},
		{append([]string{"run", "--progress", "json", "--log-level", "info", "--delay", "4s", "seeds.txt"}, identity...), exit.Nothing, "level=INFO"},
		{append([]string{"run", "--progress", "json", "--delay", "3s", "seeds.txt"}, identity...), exit.Nothing, "not as in the last run: --delay: "},
		{append([]string{"run", "--progress", "json", "--fresh", "seeds.txt"}, identity...), exit.Nothing, "the crawl that was in seeds.crawl is now in "},
		{[]string{"run", "--progress", "json", "nothing.txt"}, exit.Usage, "there is no file nothing.txt"},
		{[]string{"run", "--progress", "json", "http://127.0.0.1:1/"}, exit.Usage, "who crawls? "},
		{[]string{"run", "--job", "job.yaml", "--dir", filepath.Join("job.yaml", "x")}, exit.Fatal, "job.yaml"},
	} {
		var out, said bytes.Buffer
		code := run(c.args, nil, &out, &said)
		all := eventsOf(t, said.String())
		if code != c.code || len(all) < 2 {
			t.Errorf("%q: exit %d: %s", c.args, code, &said)
			continue
		}
		if last := all[len(all)-1]; last["event"] != "end" || last["code"] != float64(code) {
			t.Errorf("%q: the last is %v", c.args, last)
		}
		if !slices.ContainsFunc(all, func(e map[string]any) bool {
			return e["event"] == "note" && strings.Contains(fmt.Sprint(e["text"]), c.has) && !strings.HasPrefix(fmt.Sprint(e["text"]), "crawl: ")
		}) {
			t.Errorf("%q: no note has %q: %s", c.args, c.has, &said)
		}
	}
}

// A note is one line, however it is written.
func TestANoteIsALine(t *testing.T) {
	var said bytes.Buffer
	p := &program{err: &said}
	p.beginEvents()
	p.beginEvents()
	for _, part := range []string{"crawl: a\n       b\n", "c", "d", "\n", "\n", "e" + steer + "\n", "not ended"} {
		if n, err := p.err.Write([]byte(part)); n != len(part) || err != nil {
			t.Error(n, err)
		}
	}
	var texts []string
	for _, e := range eventsOf(t, said.String()) {
		texts = append(texts, fmt.Sprint(e["text"]))
	}
	if want := []string{"a\n       b", "cd", "e" + steer}; !slices.Equal(texts, want) {
		t.Errorf("%q, want %q", texts, want)
	}
}
