package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
)

// madeHere is the beginning of each unit that this program has made, and may make again.
const madeHere = "# Made by crawl schedule install.\n"

// unitName is the name of the unit.
const unitName = "crawl-schedule.service"

// unit is a service that runs the scheduler of some series.
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
	// A run that is stopped has its requests under way, each of two minutes at most.
	service += "Restart=always\nRestartSec=10s\nExecReload=/bin/kill -HUP $MAINPID\n"
	service, err := in.confined(service, all)
	return service + in.install("default.target", "multi-user.target"), err
}

// service is the beginning of a service, up to what only some have.
func (in installing) service(description string, args []string, of []*scheduled) string {
	var b strings.Builder
	b.WriteString(madeHere + "[Unit]\nDescription=" + unitText(description) + "\nDocumentation=man:crawl-schedule(1)\n")
	if in.system { // a user has no network-online.target
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

// install is the section by which a unit is enabled.
func (in installing) install(ofUser, ofSystem string) string {
	target := ofUser
	if in.system {
		target = ofSystem
	}
	return "\n[Install]\nWantedBy=" + target + "\n"
}

// confined lets a service of the machine write to what its crawls write to, and to
// nothing else. A manager of a user can confine little; and who knows what a command
// of --on-end writes to, and whom it asks.
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
	// Clocks that all crawls of the user share.
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

// unitText is a text in a unit, in which % begins what systemd puts in its place.
func unitText(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// execWord is a word of a command line, as systemd.service(5) reads it: the first one is
// not looked into for variables.
func execWord(word string, variables bool) string {
	word = unitText(word)
	if variables {
		word = strings.ReplaceAll(word, "$", "$$")
	}
	return quotedWord(word)
}

// pathWord is a path in a list of paths.
func pathWord(before, path string) string { return quotedWord(before + unitText(path)) }

func quotedWord(word string) string {
	if !strings.ContainsAny(word, " \t\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}
