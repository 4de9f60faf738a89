package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/robots"
)

// document returns the text of a file of the documentation.
func document(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// documents returns the paths of README.md and of each file below docs.
func documents(t *testing.T) (paths []string) {
	t.Helper()
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(top, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d documents: %v", len(paths), err)
	}
	return append(paths, filepath.Join(top, "README.md"))
}

// fenced returns the blocks of a document that are marked with a kind.
func fenced(text, kind string) (list []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+kind+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// Each command in a document is valid: in indented lines, in cells of tables, and in units
// of other programs.
func TestEachCommandOfTheDocumentsIsUnderstood(t *testing.T) {
	transcript := regexp.MustCompile(`(?m)^    (\$ )?`)
	command := regexp.MustCompile(`^    (\$ )?(crawl [a-z]|.*(&&|[|]) *(xargs .*)?crawl [a-z])`)
	commands := 0
	for _, file := range documents(t) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		for _, kind := range []string{"crontab", "ini"} {
			for _, block := range fenced(text, kind) {
				text += "\n" + regexp.MustCompile(`(?m)^(ExecStart=\S*/)?`).ReplaceAllString(block, "    ")
			}
		}
		text = regexp.MustCompile("(?m)^\\| .*? \\| `(crawl [^`]*)` \\|").ReplaceAllString(text, "    $1")
		var lines []string
		for line := range strings.Lines(text) {
			if command.MatchString(line) && !strings.Contains(line, "DIR") {
				lines = append(lines, transcript.ReplaceAllString(line, "  "))
			}
		}
		for _, args := range crawlCalls(t, strings.Join(lines, "")) {
			commands++
			if err := understood(args); err != nil {
				t.Errorf("%s: crawl %q: %v", file, args, err)
			}
		}
	}
	if commands < 20 {
		t.Errorf("%d commands in the documents", commands)
	}
}

// A link from one document to another leads to a file, and to a heading of it.
func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	links := 0
	for _, file := range append(documents(t), filepath.Join("..", "..", "CONTRIBUTING.md")) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)\s]*)?\)`).FindAllStringSubmatch(string(raw), -1) {
			links++
			to := file
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(file), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if m[2] != "" && !hasHeading(t, to, m[2][1:]) {
				t.Errorf("%s: %s has no heading %s", file, to, m[2])
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links", links)
	}
}

// docs/README.md has a line for each document.
func TestTheIndexHasEachDocument(t *testing.T) {
	index := document(t, "docs/README.md")
	top := filepath.Join("..", "..", "docs")
	for _, path := range documents(t) {
		name, err := filepath.Rel(top, path)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		if name != "README.md" && name != "../README.md" && strings.Count(index, "]("+name+"): ") != 1 {
			t.Errorf("docs/README.md has no line for %s", name)
		}
	}
}

// hasHeading reports whether a document has a heading that a link calls name.
func hasHeading(t *testing.T, file, name string) bool {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(raw), -1) {
		slug := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == name {
			return true
		}
	}
	return false
}

// The units of docs/guide/running.md are accepted by systemd, and treat as a success what
// is one.
func TestTheUnitsOfTheDocumentsAreUnits(t *testing.T) {
	units := fenced(document(t, "docs/guide/running.md"), "ini")
	if len(units) != 2 {
		t.Fatalf("%d units", len(units))
	}
	if !strings.Contains(units[0], "\nSuccessExitStatus=7 10\n") || exit.InUse != 7 || exit.Later != 10 {
		t.Errorf("the service takes something else for a success:\n%s", units[0])
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	verify := func(service, timer string) (string, error) {
		for name, text := range map[string]string{"crawl-news.service": service, "crawl-news.timer": timer} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(analyze, "verify", "--man=no", filepath.Join(dir, "crawl-news.service"), filepath.Join(dir, "crawl-news.timer"))
		said, err := cmd.CombinedOutput()
		var ours []string // other units of the machine may have faults
		for line := range strings.Lines(string(said)) {
			if strings.Contains(line, "crawl-news") {
				ours = append(ours, line)
			}
		}
		return strings.Join(ours, ""), err
	}
	service := strings.ReplaceAll(units[0], "/usr/local/bin/crawl", self)
	if said, _ := verify(strings.ReplaceAll(service, "SuccessExitStatus", "SucessExitStatus"), units[1]); !strings.Contains(said, "SucessExitStatus") {
		t.Skipf("systemd-analyze verifies nothing here: %q", said)
	}
	if said, err := verify(service, units[1]); said != "" {
		t.Errorf("%v: %s", err, said)
	}
}

// The line for cron prints something, which makes cron send mail, exactly if the run
// failed.
func TestTheLineForCronMailsWhatFailed(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no shell")
	}
	tab := fenced(document(t, "docs/guide/running.md"), "crontab")
	if len(tab) != 1 || !strings.Contains(tab[0], "\n17 3 * * * cd /var/lib/crawl && ") {
		t.Fatalf("%q", tab)
	}
	_, line, _ := strings.Cut(tab[0], "17 3 * * * cd /var/lib/crawl && ")
	if strings.Contains(line, "%") {
		t.Error("cron takes % for the end of a line")
	}
	dir := t.TempDir()
	for _, e := range exit.Codes {
		fake := fmt.Sprintf("#!%s\necho summary\nexit %d\n", sh, e.Code)
		if err := os.WriteFile(filepath.Join(dir, "crawl"), []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(sh, "-c", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
		said, err := cmd.CombinedOutput()
		if fine := e.Code == exit.Done || e.Code == exit.InUse || e.Code == exit.Later; err != nil || fine != (len(said) == 0) {
			t.Errorf("exit %d: %v, cron gets %q", e.Code, err, said)
		}
	}
}

// The robots.txt rules of docs/guide/site-owners.md do what it says of them.
func TestTheRulesForSiteOwnersDoWhatIsSaid(t *testing.T) {
	files := fenced(document(t, "docs/guide/site-owners.md"), "robots")
	wants := []struct{ path, somebody, mybot, delay string }{
		{"/", "allow", "disallow", ""},
		{"/private/x", "allow", "disallow", ""},
		{"/", "allow", "allow", "10s"},
	}
	if len(files) != len(wants) {
		t.Fatalf("%d files", len(files))
	}
	for i, want := range wants {
		f := robots.Parse([]byte(files[i]), robots.RFC9309)
		delay := ""
		if d, ok := f.Group("mybot").CrawlDelay(); ok {
			delay = d.String()
		}
		mine, other := f.Group("mybot").Match(want.path).Access.String(), f.Group("somebody").Match(want.path).Access.String()
		if mine != want.mybot || other != want.somebody || delay != want.delay || len(f.Problems()) > 0 {
			t.Errorf("%s%s: mybot %s with a pause of %q, others %s; %v", files[i], want.path, mine, delay, other, f.Problems())
		}
	}
}

// The name of the crawler is the first word of User-Agent, and the contact follows it.
//
// For site owners: "The name is the first word of User-Agent, and the name that a group
// in robots.txt uses."
// For site owners: "A contact URL follows the name in User-Agent; an e-mail address is
// in the From field."
func TestSiteOwnersFindTheNameInTheirLog(t *testing.T) {
	log := newAccessLog(t)
	t.Chdir(t.TempDir())
	ownHome(t)
	var said bytes.Buffer
	code := run([]string{"run", "--name", "mybot", "--contact", "https://example.org/mybot", "--contact", "me@example.org", "--delay", "1ms", "--patience", "1s",
		"--connect-to", "::" + log.address, "http://a.test/", "http://closed.test/"}, nil, &said, &said)
	if code != exit.Done || len(log.lines()) < 3 {
		t.Fatalf("exit %d, %d requests: %s", code, len(log.lines()), &said)
	}
	for _, r := range log.lines() {
		if !strings.HasPrefix(r.agent, "mybot (+https://example.org/mybot) ") || r.from != "me@example.org" {
			t.Errorf("%s: User-Agent %q, From %q", r.path, r.agent, r.from)
		}
		if r.host == "closed.test" && r.path != "/robots.txt" {
			t.Errorf("a group for mybot does not count: %s", r.path)
		}
	}
}

// ownHome gives the test a home directory of its own, and returns the path of the identity
// file.
func ownHome(t *testing.T) (identity string) {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "CRAWL_NAME": "", "CRAWL_CONTACT": ""} {
		t.Setenv(name, value)
	}
	return filepath.Join(home, ".config", "permesso", "identity.json")
}
