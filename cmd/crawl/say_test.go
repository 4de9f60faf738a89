package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// steer is what a hostile site, file or name may send to a terminal: a new title, by C0 and
// by C1, a cleared screen, text that runs backwards.
const steer = "\x1b]0;STEER\x07\u009b2J\u202e\x7f"

// forged would look like a line of the command.
const forged = "\nFORGED"

// hostile makes a directory in which every name and text contains steer.
func hostile(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no file there is called so")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"+steer))
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	files := map[string]string{
		steer + ".txt":                           "http://" + steer + "/\n" + steer + "\n",
		"robots.txt":                             "User-agent: *\nDisallow: /a" + steer + "\nAllow: /" + steer + "\nDisalow: /" + steer + "\n" + steer + "\nSitemap: " + steer + "\n",
		"access.log":                             `192.0.2.7 - - [04/May/2026:10:00:00 +0000] "GET /` + steer + ` HTTP/1.1" 200 1 "-" "testbot/1 ` + steer + `"` + "\n",
		"places.txt":                             "(" + steer + "\n",
		"cases.jsonl":                            `{"id":"\u001b]0;STEER\u0007\nFORGED","robots":"User-agent: *\nDisallow: /\u009b\u202e","agent":"a","url":"/\u009b\u202e","allow":true}` + "\n",
		"dialect.jsonl":                          `{"id":"\u001b]0;STEER\u0007","dialect":"\u001b]0;STEER\u0007","agent":"a","url":"/","allow":true}` + "\n",
		"lacking.jsonl":                          `{"id":"\u001b]0;STEER\u0007\u009b"}` + "\n",
		"job.yaml":                               `scope: "\e]0;STEER\a\u009b\u202e\nFORGED"` + "\n" + `"\e]0;STEER\u009b": 1` + "\n",
		filepath.Join("timed"+steer, "job.yaml"): "identity: {name: testbot, contact: me@example.org}\nseeds: [http://a.test/]\nschedule: {every: '@daily'}\noutput: [" + `"\e]0;STEER\a"` + "]\n",
		filepath.Join("fine"+steer, "job.yaml"):  "seeds: [http://a.test/]\nschedule: {every: '@daily'}\n",
		filepath.Join("config"+steer, "permesso", "identity.json"): steer,
	}
	if err := errors.Join(writeArchive("a.crawl"), writeArchive(steer+".crawl")); err != nil {
		t.Fatal(err)
	}
	files[filepath.Join("a.crawl", "warc", steer+forged+".warc.gz")] = steer
	files[filepath.Join("a.crawl", "pages.jsonl")] = `{"url":"http://a.test/` + steer + "\n"
	files[filepath.Join("a.crawl", "index.cdxj")] = `test,a)/ 20300102030405 {"url":"http://a.test/","filename":"` + strings.ReplaceAll(steer, "\x1b", `\u001b`) + `.warc.gz","offset":"0","length":"1"}` + "\n"
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// hostileWeb serves such texts.
func hostileWeb(t *testing.T) (at string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "moved.test" {
			w.Header()["Location"] = []string{"/other\u009b2JSTEER"}
			w.WriteHeader(http.StatusFound)
			return
		}
		fmt.Fprintf(w, "User-agent: *\nDisallow: /a%s\nSitemap: http://a.test/%s\nCrawl-delay: %s\n", steer, steer, steer)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/other"):
			fmt.Fprint(w, "User-agent: "+steer)
		case strings.HasPrefix(r.URL.Path, "/to"):
			w.Header()["Location"] = []string{"http://a.test/\u009b2JSTEER"}
			w.WriteHeader(http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/odd"):
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprintf(conn, "HTTP/1.1 %s\r\nA%s: b\r\n\r\n", steer, steer)
				conn.Close()
			}
		default:
			w.Header()["Content-Type"] = []string{"text/html; \u009b2J"}
			fmt.Fprintf(w, "<title>%s</title><a href=\"/to\">%s</a><a href=\"/odd\">o</a><a href=\"/a%s\">x</a>", steer, steer, steer)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return "::" + strings.TrimPrefix(server.URL, "http://")
}

// All input, in files of any name, is shown as text. A terminal obeys none of it, and none
// of it makes a line that looks like the command's.
func TestNothingThatIsReadSteersTheTerminal(t *testing.T) {
	hostile(t)
	site := []string{"--name", "testbot", "--contact", "me@example.org", "--connect-to", hostileWeb(t)}
	for _, args := range [][]string{
		{"run", steer + ".txt"}, {"run", steer}, {"run", "--" + steer, "a"}, {"run", "--scope", steer, "http://a.test/"}, {"run", "--exclude-from", "places.txt", "http://a.test/"},
		{"run", "http://a.test/"}, // it reads the identity
		append([]string{"run", "--log-level", "debug", "--progress", "plain", "--delay", "10ms", "--patience", "1s", "--dir", "run" + steer, "--limit", "5", "http://a.test/", "http://moved.test/"}, site...),
		append([]string{"run", "--delay", "10ms", "--patience", "1s", "--fresh", "--dir", "run" + steer, "--limit", "2", "http://a.test/", "http://moved.test/"}, site...),
		{"robots", "test", "--agent", "testbot", "--file", "robots.txt", "/a" + steer, "/" + steer},
		{"robots", "test", "--json", "--agent", "testbot", "--file", "robots.txt", "/a" + steer, "/" + steer},
		{"robots", "test", "--agent", steer, "--file", "robots.txt", "/"}, {"robots", "test", "--agent", "testbot", "--file", steer, "/"},
		{"robots", "test", "--cases", "cases.jsonl"}, {"robots", "test", "--json", "--cases", "cases.jsonl"}, {"robots", "test", "--cases", "dialect.jsonl"},
		{"robots", "test", "--cases", "lacking.jsonl"}, {"robots", "test", "--cases", steer + ".txt"},
		{"robots", "lint", "robots.txt"}, {"robots", "lint", "--json", "robots.txt"}, {"robots", "lint", steer + ".txt"},
		{"robots", "lint", "--dialect", "koster1996", "robots.txt"}, {"robots", "lint", "--json", "--dialect", "koster1996", "robots.txt"},
		append([]string{"robots", "show", "--site", "http://a.test/"}, site...), append([]string{"robots", "show", "--json", "--site", "http://a.test/"}, site...),
		append([]string{"robots", "show", "--site", "http://moved.test/"}, site...), append([]string{"robots", "show", "--json", "--site", "http://moved.test/"}, site...),
		append([]string{"robots", "lint", "--site", "http://a.test/"}, site...), append([]string{"robots", "show", "--site", steer}, site...),
		{"verify", "--in-process", "run" + steer}, {"verify", "--json", "--in-process", "run" + steer},
		{"list", "run" + steer}, {"list", "--json", "run" + steer}, {"list", "--count", steer}, {"list", "--fate", steer, "a.crawl"}, {"list", "--site", steer + ".test", "run" + steer}, {"list", steer},
		{"serve", steer}, {"serve", "--listen", steer, "run" + steer}, {"serve", "config" + steer},
		{"diff", "run" + steer, "run" + steer}, {"diff", "--json", "run" + steer, "run" + steer}, {"diff", steer}, {"diff", "--list", steer, "a", "b"}, {"diff", "--site", steer, "run" + steer, "run" + steer},
		{"explain", "--dir", "run" + steer, "http://a.test/"}, {"explain", "--dir", "run" + steer, "--json", "http://a.test/"}, {"explain", "--dir", "run" + steer, "http://b.test/" + steer},
		{"explain", "--dir", steer, "http://a.test/"}, {"explain", "http://" + steer}, {"explain", "--dir", "run" + steer, "--body", "http://b.test/" + steer},
		{"robots", "show", "run" + steer, "http://a.test"}, {"robots", "show", "--json", "run" + steer, "http://a.test"}, {"robots", "show", "run" + steer, steer}, {"robots", "show", steer, "a.test"},
		{"robots", "show", "run" + steer, "http://a.test", "--at", steer},
		{"index", "a.crawl"}, {"index", steer + ".crawl"}, {"index", steer},
		{"export", "a.crawl", "--format", "cdxj", "--output", "a.cdxj"}, {"export", "a.crawl", "--format", "csv", "--output", steer + ".csv"},
		{"export", "a.crawl", "--format", "wacz", "--output", "a.wacz"}, {"export", steer, "--format", "csv"}, {steer}, {"robots", steer}, {"version", steer},
		append([]string{"run", "--progress", "json", "--log-level", "debug", "--delay", "10ms", "--patience", "1s", "--fresh", "--dir", "run" + steer, "--limit", "3", "http://a.test/", steer + ".txt"}, site...),
		{"audit", "run" + steer}, {"audit", "--out", steer + "/x", "run" + steer}, {"audit", "--site", steer, "run" + steer},
		{"audit", "--access-log", "access.log", "--agent", "testbot"}, {"audit", "--access-log", "access.log", "--agent", steer}, {"check", "job.yaml"}, {"check", steer + ".txt"}, {"status", "run" + steer}, {"status", "--json", "run" + steer},
		{"pause", "run" + steer}, {"exclude", "run" + steer, steer, "--reason", steer}, {"slow", "run" + steer, "--delay", steer}, {"limit", "--limit", steer, "run" + steer},
		{"provenance", "run" + steer}, {"provenance", "--json", "run" + steer}, {"provenance", "--verify", "run" + steer}, {"provenance", "--verify", "--json", "run" + steer},
		{"provenance", steer}, {"provenance", "--sign-key", steer, "run" + steer}, {"provenance", "--verify", "--key", steer, "run" + steer},
		{"schedule", "list", steer}, {"schedule", "next", "--json", "timed" + steer}, {"schedule", "next", "fine" + steer}, {"schedule", "list", "fine" + steer},
		{"schedule", "list", "--json", "fine" + steer}, {"schedule", "run", steer}, {"schedule", "install", "-", steer}, {"schedule", "install", "-", "fine" + steer},
		{"run", "--job", filepath.Join("timed"+steer, "job.yaml"), "--series", "timed" + steer},
		{"help", "robots", steer},
	} {
		if args[0] == "verify" { // a file that does not belong to the crawl
			if err := os.WriteFile(filepath.Join("run"+steer, "warc", steer+forged+".warc.gz"), []byte(steer), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		showsText(t, args, true)
	}
	showsText(t, []string{"audit", "--site", "a.test", "run" + steer}, false)
	showsText(t, []string{"audit", "--access-log", "robots.txt", "--agent", steer}, false)
	// All commands, also those without a row above. The names differ, so that no command
	// reads what another one makes.
	for _, cmd := range everyCommand((&program{}).root()) {
		path := strings.Fields(cmd.CommandPath())[1:]
		showsText(t, append(slices.Clone(path), "--"+steer), true)
		if cmd.HasParent() {
			showsText(t, append(slices.Clone(path), strings.Join(path, "-")+steer+forged), false) // some need another argument first
		}
	}
}

// showsText runs a command with something hostile, and checks that it is shown as text, if
// at all.
func showsText(t *testing.T, args []string, shown bool) {
	t.Helper()
	var said bytes.Buffer
	code := run(args, nil, &said, &said)
	if i := strings.IndexFunc(said.String(), commands); i >= 0 {
		t.Errorf("crawl %q: exit %d, and byte %d steers the terminal:\n%q", args, code, i, said.String())
	}
	if strings.Contains(said.String(), forged) {
		t.Errorf("crawl %q: what was read makes a line of its own:\n%s", args, said.String())
	}
	if shown && !strings.Contains(said.String(), "STEER") {
		t.Errorf("crawl %q shows nothing that is hostile:\n%s", args, said.String())
	}
}

// commands reports whether a terminal could read r as part of a control sequence: it is a
// control character (C0, DEL, C1), or changes the direction of text.
func commands(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Cf, r)
}

// Log lines are text, too.
func TestLogLinesAreText(t *testing.T) {
	var said bytes.Buffer
	log, err := logger(&said, "debug")
	if err != nil {
		t.Fatal(err)
	}
	log.Debug(steer+forged, "url", "http://a.test/"+steer+forged, "error", errors.New(steer+forged), steer+forged, []string{steer + forged})
	if strings.Count(said.String(), "STEER") != 5 || strings.Count(said.String(), "\n") != 1 || strings.ContainsFunc(said.String(), commands) {
		t.Errorf("%q", said.String())
	}
}

// A program that reads the JSON gets the original text.
func TestObjectsKeepTheirTexts(t *testing.T) {
	for _, text := range []string{steer + forged, "<a&b>", "é 漢 \U0001f600", "\U000e0041", "\\u001b", "\u2028\u2029", "\x00\t\"", ""} {
		var out bytes.Buffer
		if err := (&program{out: &out}).object(text); err != nil {
			t.Fatal(err)
		}
		var read string
		if err := json.Unmarshal(out.Bytes(), &read); err != nil || read != text || strings.Count(out.String(), "\n") != 1 || strings.ContainsFunc(out.String(), commands) {
			t.Errorf("%q is %s, which is read as %q (%v)", text, out.Bytes(), read, err)
		}
	}
}
