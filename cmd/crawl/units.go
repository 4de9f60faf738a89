package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
)

// madeHere is the first line of each unit that this program has made, and may overwrite.
const madeHere = "# Made by crawl schedule install.\n"

// unitName is the name of the unit.
const unitName = "crawl-schedule.service"

// unit returns a service that runs the scheduler of some series.
func (in installing) unit(self string, all []*scheduled) (string, error) {
	args := []string{self, "schedule", "run"}
	if in.atOnce != 4 {
		args = append(args, "--at-once", fmt.Sprint(in.atOnce))
	}
	names := make([]string, len(all))
	for i, s := range all {
		args, names[i] = append(args, s.dir), scheduler.Name(s.dir)
	}
	service := in.service("Scheduled crawls: "+strings.Join(names, ", "), args, all)
	// A run that is stopped finishes its requests under way, each of two minutes at most.
	service += "Restart=always\nRestartSec=10s\nExecReload=/bin/kill -HUP $MAINPID\n"
	service, err := in.confined(service, all)
	return service + in.install("default.target", "multi-user.target"), err
}

// service returns the beginning of a service, which all services share.
func (in installing) service(description string, args []string, of []*scheduled) string {
	var b strings.Builder
	b.WriteString(madeHere + "[Unit]\nDescription=" + unitText(description) + "\nDocumentation=man:crawl-schedule(1)\n")
	if in.system { // units of a user have no network-online.target
		b.WriteString("Wants=network-online.target\nAfter=network-online.target\n")
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = execWord(a, i > 0)
	}
	b.WriteString("\n[Service]\nType=exec\nExecStart=" + strings.Join(words, " ") + "\n")
	if len(of) > 0 {
		b.WriteString("WorkingDirectory=" + unitText(filepath.Dir(of[0].dir)) + "\n")
	}
	b.WriteString("KillMode=mixed\nTimeoutStopSec=150s\n")
	return b.String()
}

// install returns the section that enables a unit.
func (in installing) install(ofUser, ofSystem string) string {
	target := ofUser
	if in.system {
		target = ofSystem
	}
	return "\n[Install]\nWantedBy=" + target + "\n"
}

// confined restricts a service of the machine to write only where its crawls write. It does
// not restrict units of a user, whose manager can do little, or jobs with a command of
// --on-end, which may write anywhere and contact any host.
func (in installing) confined(service string, of []*scheduled) (string, error) {
	if !in.system {
		return service, nil
	}
	name, home, err := owner()
	if err != nil {
		return "", err
	}
	service += "User=" + unitText(name) + "\n"
	paths := []string{}
	command := false
	for _, s := range of {
		more, runs := writes(s.dir)
		paths, command = append(append(paths, s.dir), more...), command || runs
	}
	if command {
		return service, nil
	}
	words := make([]string, 0, len(paths)+1)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		words = append(words, pathWord("", path))
	}
	// The clocks that all crawls of the user share.
	words = append(words, pathWord("-", filepath.Join(home, ".local", "state")))
	return service + "ReadWritePaths=" + strings.Join(words, " ") + `
ProtectSystem=strict
NoNewPrivileges=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectControlGroups=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictSUIDSGID=yes
LockPersonality=yes
`, nil
}

// unitText escapes % in the text of a unit, which begins a specifier of systemd.
func unitText(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// execWord returns a word of a command line as systemd.service(5) reads it. variables is
// false for the first word, in which variables are not expanded.
func execWord(word string, variables bool) string {
	word = unitText(word)
	if variables {
		word = strings.ReplaceAll(word, "$", "$$")
	}
	return quotedWord(word)
}

// pathWord returns a path for a list of paths.
func pathWord(before, path string) string { return quotedWord(before + unitText(path)) }

func quotedWord(word string) string {
	if !strings.ContainsAny(word, " \t\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
