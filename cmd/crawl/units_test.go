package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// packaged returns the units of releases, with the name of an instance as systemd replaces %i.
func packaged(t *testing.T) map[string]string {
	t.Helper()
	units := map[string]string{}
	for _, name := range []string{"crawl@.service", "crawl@.timer", "crawl-series@.service"} {
		units[name] = document(t, "cmd/release/systemd/"+name)
	}
	return units
}

// systemd accepts the units of releases, and finds mistakes in them.
func TestTheUnitsOfReleasesAreUnits(t *testing.T) {
	// systemd-analyze looks for the program and for the units that a timer starts.
	instances, spoilt := map[string]string{}, map[string]string{}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range packaged(t) {
		name, text = strings.Replace(name, "@", "@news", 1), strings.ReplaceAll(text, "=/usr/bin/crawl ", "="+self+" ")
		instances[name] = text
		spoilt[name] = regexp.MustCompile(`(?m)^(\[(Service|Timer)\])$`).ReplaceAllString(text, "$1\nRestrat=no")
	}
	if said, ok := verified(t, spoilt); !ok || strings.Count(said, "Restrat") != 3 {
		withoutSystemd(t, "it verifies nothing: "+said)
	} else if said, _ := verified(t, instances); said != "" {
		t.Error(said)
	}
}

// The units of releases run commands that this program has, leave runs the time to end, take for
// a success what is one, and are confined alike.
func TestTheUnitsOfReleasesFitTheCommand(t *testing.T) {
	var confined [][]string
	for name, text := range packaged(t) {
		if strings.HasSuffix(name, ".timer") {
			continue
		}
		command := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/(crawl .*)$`).FindStringSubmatch(text)
		if command == nil {
			t.Fatalf("%s runs nothing:\n%s", name, text)
		}
		for _, args := range crawlCalls(t, "  "+strings.ReplaceAll(command[1], "%i", "news")+"\n") {
			if err := understood(args); err != nil {
				t.Errorf("%s: crawl %q: %v", name, args, err)
			}
		}
		stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)s$`).FindStringSubmatch(text)
		if stop == nil {
			t.Fatalf("%s has no time to stop", name)
		}
		timeout := regexp.MustCompile("(?m)^\\| `--timeout` \\| [^|]* \\| (\\d+s) ").FindStringSubmatch(document(t, "docs/reference/settings.md"))
		if timeout == nil {
			t.Fatal("--timeout is not in the documents")
		}
		phase, err := time.ParseDuration(timeout[1])
		if n, _ := strconv.Atoi(stop[1]); err != nil || time.Duration(n)*time.Second <= 4*phase {
			t.Errorf("%s kills a run after %s s, while a request may take %v (%v)", name, stop[1], 4*phase, err)
		}
		if name == "crawl@.service" && (!strings.Contains(text, "\nSuccessExitStatus=7 10\n") || exit.InUse != 7 || exit.Later != 10) {
			t.Errorf("%s takes something else for a success", name)
		}
		_, service, _ := strings.Cut(text, "\n[Service]\n")
		service, _, _ = strings.Cut(service, "\n[Install]\n")
		_, rest, _ := strings.Cut(service, "\nUser=permesso\n")
		confined = append(confined, strings.Split(strings.TrimSpace(rest), "\n"))
	}
	if len(confined) != 2 || len(confined[0]) < 25 || !slices.Equal(confined[0], confined[1]) {
		t.Errorf("the units are confined differently:\n%q", confined)
	}
}

// systemd-analyze finds little that the units of releases could do besides crawling.
func TestTheUnitsOfReleasesMayDoLittle(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		withoutSystemd(t, "it is not installed")
		return
	}
	units := packaged(t)
	for _, name := range slices.Sorted(maps.Keys(units)) {
		if strings.HasSuffix(name, ".timer") {
			continue
		}
		judge := func(text string) (string, error) {
			path := filepath.Join(t.TempDir(), strings.Replace(name, "@", "@news", 1))
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			// The threshold is ten times the exposure, which is between 0 and 10.
			raw, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=20", path).CombinedOutput()
			return string(raw), err
		}
		if said, err := judge(regexp.MustCompile(`(?m)^(Protect|Restrict|System).*$`).ReplaceAllString(units[name], "")); err == nil {
			withoutSystemd(t, "it judges nothing: "+said)
		} else if said, err := judge(units[name]); err != nil {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}
