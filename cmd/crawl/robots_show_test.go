package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// keptAt makes a crawl whose site had one robots.txt at noon, another one on the next day,
// and did not answer for it on the third.
func keptAt(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	day := func(n int) time.Time { return time.Date(2026, 7, n, 12, 0, 0, 0, time.UTC) }
	first := &robots.Snapshot{URL: "http://a.test/robots.txt", Fetched: day(1), Status: 200, Body: []byte("User-agent: *\nDisallow: /first/\n")}
	second := &robots.Snapshot{URL: "http://a.test/robots.txt", Fetched: day(2), Status: 200, Body: []byte("User-agent: *\nDisallow: /second/\n")}
	third := (&robots.Snapshot{URL: "http://a.test/robots.txt", Fetched: day(3), Failure: "connect"}).After(second)
	for _, s := range []*robots.Snapshot{first, second, third} {
		if err := db.PutSnapshot("http://a.test", s); err != nil {
			t.Fatal(err)
		}
	}
	u, err := frontier.ParseURL("http://a.test/")
	if err == nil {
		err = db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	other := *first
	other.URL = "https://a.test/robots.txt"
	for _, site := range []frontier.Site{"https://a.test", "http://b.test"} {
		if err := db.PutSnapshot(site, &other); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// For each time the copy is shown that was the last one fetched before it. A date means its
// end.
func TestTheCopyThatWasInForceIsShown(t *testing.T) {
	dir := keptAt(t)
	for _, c := range []struct{ at, want string }{
		{"2026-07-01", "copy         1 of 3, in force until 2026-07-02T12:00:00Z"},
		{"2026-07-01T12:00:00Z", "/first/"},
		{"2026-07-02T11:59:59.999Z", "/first/"},
		{"2026-07-02T14:00:00+02:00", "/second/"},
		{"2026-07-02", "copy         2 of 3, in force until 2026-07-03T12:00:00Z"},
		{"2026-07-03", "copy         3 of 3, the last one"},
		{"", "in force     the copy of 2026-07-02T12:00:00Z, 33 B, since there was no answer"},
		{"", "answered     no answer (connect), 0 B"},
		{"", "Disallow: /second/"},
		{"", "group        line 1: *"},
	} {
		var out, said bytes.Buffer
		args := []string{"robots", "show", dir, "http://a.test"}
		if c.at != "" {
			args = append(args, "--at", c.at)
		}
		if code := run(args, nil, &out, &said); code != exit.Done || !strings.Contains(out.String(), c.want) || said.Len() > 0 {
			t.Errorf("at %q: exit code %d, %s%s\nwant %s", c.at, code, &out, &said, c.want)
		}
	}
}

// The bytes are those in force, also if they are the copy of an earlier answer.
func TestTheFileInForceIsPrintedByteByByte(t *testing.T) {
	dir := keptAt(t)
	var out, said bytes.Buffer
	if code := run([]string{"robots", "show", dir, "http://a.test/", "--raw"}, nil, &out, &said); code != exit.Done || out.String() != "User-agent: *\nDisallow: /second/\n" {
		t.Errorf("exit code %d, %q, %s", code, &out, &said)
	}
}

// A host without a scheme means the https site, if that was crawled; the other site is
// named.
func TestABareHostIsASiteThatWasAsked(t *testing.T) {
	dir := keptAt(t)
	for host, want := range map[string]string{
		"a.test": "this is https://a.test; http://a.test has a robots.txt of its own: name it so",
		"b.test": "",
	} {
		var out, said bytes.Buffer
		code := run([]string{"robots", "show", dir, host}, nil, &out, &said)
		if code != exit.Done || !strings.Contains(said.String(), want) || want == "" && said.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", host, code, &said)
		}
	}
}
