package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Programs get the settings of a scenario in their own flags, and no others.
func TestProgramsAreToldWhatAScenarioSets(t *testing.T) {
	for _, name := range []string{"crawl", "wget2", "scrapy"} {
		c, err := findContestant(name)
		if err != nil {
			t.Fatal(err)
		}
		c.path = "/opt/" + name
		bc := smallCase()
		bc.web.Delay = 1500 * time.Millisecond
		cmd, err := c.command(newTask(bc, &c, &webHello{Port: 8080}, t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(cmd.Args, " ") + " "
		for _, want := range map[string][]string{
			"crawl":  {"/opt/crawl run ", "--delay 1.5s ", "--concurrency 4 ", "--name benchbot ", "bench.crawl "},
			"wget2":  {"/opt/wget2 ", "--wait=1500ms ", "--max-threads=4 ", "--robots=on "},
			"scrapy": {"/opt/scrapy runspider ", "DOWNLOAD_DELAY=1.5 ", "CONCURRENT_REQUESTS=4 ", "CONCURRENT_REQUESTS_PER_DOMAIN=1 ", "ROBOTSTXT_OBEY=1 "},
		}[name] {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in %s", want, said)
			}
		}
	}
}

func TestTheCommandIsToldWhatOnlySomeScenariosSet(t *testing.T) {
	dir := t.TempDir()
	cmd, err := crawlCommand(&task{Program: "crawl", Dir: dir, Seeds: []string{"http://h/"}, Port: 8080, Limit: 7, Anywhere: true, Shown: true, Cert: "PEM"})
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(cmd.Args, " ")
	for _, want := range []string{"--limit 7", "--scope any --connect-to ::127.1.0.1:8080", "--requisites page", "--delay 0s"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	if want := "SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem"); !slices.Contains(cmd.Env, want) {
		t.Errorf("%q is not in its environment", want)
	}
}

// A named command takes part, wherever it is. If it does not exist, that is an error.
func TestTheNamedCommandTakesPart(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := scenarios(1)[0]
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{exe: 1, "": 0} {
		if list, err := takePart(&s, "crawl", path); err != nil || len(list) != want || want > 0 && list[0].program() != path {
			t.Errorf("%q: %+v, %v", path, list, err)
		}
	}
	if err := runBench(t.Context(), []string{"--crawl", filepath.Join(t.TempDir(), "none")}, io.Discard); err == nil || !strings.Contains(err.Error(), "--crawl") {
		t.Errorf("a command that is not there: %v", err)
	}
}
