package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/systemd"
)

// timed makes a series with a schedule, and returns its directory.
func timed(t *testing.T, name, schedule string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no systemd, and no directory is called so")
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "identity: {name: testbot, contact: https://example.org/testbot}\nseeds: [http://a.test/]\n" + schedule + "\n"
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// printed returns the units that crawl schedule install prints, by name.
func printed(t *testing.T, args ...string) map[string]string {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(append([]string{"schedule", "install", "-"}, args...), nil, &out, &said); code != exit.Done {
		t.Fatalf("exit %d: %s", code, &said)
	}
	units := map[string]string{}
	parts := regexp.MustCompile(`(?m)^# (\S+\.(?:service|timer))\n`).FindAllStringSubmatchIndex(out.String(), -1)
	for i, m := range parts {
		end := out.Len()
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		units[out.String()[m[2]:m[3]]] = out.String()[m[1]:end]
	}
	if len(units) == 0 {
		t.Fatalf("no units in %s", &out)
	}
	return units
}

// verified checks units with systemd. ok is false if systemd is missing, or reads nothing.
func verified(t *testing.T, units map[string]string) (said string, ok bool) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return "", false
	}
	dir := t.TempDir()
	args := []string{"verify", "--man=no"}
	var names []string
	for name, text := range units {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args, names = append(args, path), append(names, strings.TrimSuffix(strings.TrimSuffix(name, ".service"), ".timer"))
	}
	raw, _ := exec.Command(analyze, args...).CombinedOutput()
	var ours []string // other units of the machine may have faults
	for line := range strings.Lines(string(raw)) {
		for _, name := range names {
			if strings.Contains(line, name) {
				ours = append(ours, line)
				break
			}
		}
	}
	return strings.Join(ours, ""), true
}

// withoutSystemd skips the test if systemd cannot be used, unless that is required.
func withoutSystemd(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("PERMESSO_SYSTEMD") != "" {
		t.Errorf("systemd-analyze: %s", why)
	}
	t.Log("systemd-analyze:", why)
}

// systemd accepts the units, for any name of a directory.
func TestTheUnitsOfASeriesAreUnits(t *testing.T) {
	ownHome(t)
	weekly := timed(t, `we"ek ly%n$HOME;\x`, "schedule: {every: '0 3 * * MON', zone: Europe/Rome, jitter: 30m, catch-up: once}")
	daily := timed(t, "daily", "on-end: mail -s done me@example.org\nlog-file: ../logs/daily.log\nschedule: {every: '@daily'}")
	for name, args := range map[string][]string{
		"user": {weekly, daily}, "system": {"--system", weekly}, "command": {"--system", "--at-once", "2", weekly, daily},
	} {
		units := printed(t, args...)
		spoilt := map[string]string{}
		for of, text := range units {
			spoilt[of] = strings.ReplaceAll(text, "[Service]\n", "[Service]\nRestrat=no\n")
			if !strings.HasPrefix(text, systemd.Made) {
				t.Errorf("%s: %s does not say what has made it", name, of)
			}
		}
		if said, ok := verified(t, spoilt); !ok || !strings.Contains(said, "Restrat") {
			withoutSystemd(t, "it verifies nothing: "+said)
			continue
		}
		if said, _ := verified(t, units); said != "" {
			t.Errorf("%s: %s", name, said)
		}
	}
}

func TestAServiceMayDoWhatItsCrawlsDo(t *testing.T) {
	ownHome(t)
	weekly := timed(t, "we ek%ly", "log-file: ../logs/weekly.log\nschedule: {every: '0 3 * * MON', zone: Europe/Rome, jitter: 30m, catch-up: once}")
	above := strings.ReplaceAll(filepath.Dir(weekly), "%", "%%")
	service := printed(t, "--system", weekly)["crawl-schedule.service"]
	for _, want := range []string{
		"Type=exec\n", "Restart=always\n", "ProtectSystem=strict\n", "KillMode=mixed\n", "WantedBy=multi-user.target\n", "WorkingDirectory=" + above + "\n", " schedule run \"" + above + "/we ek%%ly\"\n",
		"ReadWritePaths=" + above + "/logs \"" + above + "/we ek%%ly\" -",
	} {
		if !strings.Contains(service, want) {
			t.Errorf("%q is not in\n%s", want, service)
		}
	}
	// The needs of a command of the user are not known.
	mails := timed(t, "mails", "on-end: mail me@example.org\nschedule: {every: '@daily'}")
	if service := printed(t, "--system", mails)["crawl-schedule.service"]; strings.Contains(service, "Protect") || strings.Contains(service, "NoNew") {
		t.Errorf("a command is confined:\n%s", service)
	}
}
