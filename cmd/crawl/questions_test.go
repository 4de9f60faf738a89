package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Each question of docs/questions.md is answered by its command, of a crawl that has what
// is asked about.
func TestTheFifteenQuestionsAreAnswered(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| (.*) \\| `(.*)` \\|$").FindAllStringSubmatch(document(t, "docs/questions.md"), -1)
	wants := []struct {
		says string
		code int
	}{
		{`(?m)^robots.txt +forbids it by line 2: Disallow: /private/`, exitDone},
		{`"url":"http://example.org/private/x".*"reason":".*line 2: Disallow: /private/`, exitDone},
		{`(?m)^http://broken.test: 1 waiting$`, exitDone},
		{`(?s)^requests.*pauses +least \S+, median \S+, most `, exitDone},
		{"", 0}, {"", 0}, // DuckDB is asked by .ci/reading/check.sh
		{`(?m)^result +no rule was broken$`, exitDone},
		{`(?s)^copy.*group +line 1: \*.*Disallow: /private/`, exitDone},
		{`(?m)^in all: 3 fetched, 1 refused, `, exitDone},
		{`not as in the last run: --exclude: none -> \^http://example.org/ \(tighter\)`, exitLater},
		{`not as in the last run: --delay: 10ms -> 10s \(tighter\)`, exitLater},
		{`(?m)^ended +done: nothing is left$`, exitDone},
		{`(?m)^ended +done: nothing is left$`, exitDone},
		{`(?m)^changed:delay:10ms->10s$`, exitDone},
		{`: all as it was written$`, exitDone},
	}
	if len(rows) != len(wants) {
		t.Fatalf("%d questions", len(rows))
	}
	dir := t.TempDir()
	web, err := startWeb(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer web.close()
	ownHome(t)
	t.Chdir(dir)
	job := "identity: {name: testbot, contact: me@example.org}\nseeds: [http://example.org/, http://broken.test/]\noutput: [warc, jsonl, links]\n" +
		"delay: 10ms\npatience: 1s\nconnect-to: [\"::" + web.address + "\"]\n"
	for name, text := range map[string]string{"news.yaml": job, "seeds.txt": "http://a.test/\nhttp://b.test/\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(args ...string) (string, int) {
		var said bytes.Buffer
		code := run(args, nil, &said, &said)
		return strings.TrimSpace(said.String()), code
	}
	if said, code := ask("run", "--job", "news.yaml"); code != exitLater {
		t.Fatalf("the crawl ends with %d: %s", code, said)
	}
	here := strings.NewReplacer("https://", "http://", "2026-07-01", time.Now().UTC().Format(time.DateOnly))
	for i, row := range rows {
		words := shellWords(here.Replace(row[2]))
		switch {
		case words[0] == "duckdb":
			continue
		case words[0] == "grep":
			log, err := os.ReadFile("news.crawl/crawl.log")
			found := regexp.MustCompile(words[2]).FindAllString(string(log), -1)
			if err != nil || !regexp.MustCompile(wants[i].says).MatchString(strings.Join(found, "\n")) {
				t.Errorf("%s %s: %q, %v", row[1], row[2], found, err)
			}
			continue
		case words[1] == "verify":
			words = append(words, "--in-process") // the child would be this test
		case words[1] == "run" && words[2] != "--job":
			words = append(words, "--name", "testbot", "--contact", "me@example.org", "--delay", "10ms", "--patience", "1s", "--connect-to", "::"+web.address)
		}
		said, code := ask(words[1:]...)
		if code != wants[i].code || !regexp.MustCompile(wants[i].says).MatchString(said) {
			t.Errorf("%s %s: exit %d, want %d and %s\n%s", row[1], row[2], code, wants[i].code, wants[i].says, said)
		}
	}
}
