// Package systemd makes the unit by which systemd runs crawl schedule run.
package systemd

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/jobfile"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/internal/series"
)

// Made is the first line of each unit that this program has made. The program may overwrite
// such a unit.
const Made = "# Made by crawl schedule install.\n"

// Name is the name of the unit, and of its file.
const Name = "crawl-schedule.service"

// A Unit is a service that runs the scheduler of some series.
type Unit struct {
	System bool // a unit of the machine, not of the user
	AtOnce int  // maximum number of runs at a time
}

// Text returns the text of the unit. self is the path of the program, dirs are the series,
// with absolute paths.
func (u Unit) Text(self string, dirs []string) (string, error) {
	args := []string{self, "schedule", "run"}
	if u.AtOnce != 4 {
		args = append(args, "--at-once", fmt.Sprint(u.AtOnce))
	}
	names := make([]string, len(dirs))
	for i, dir := range dirs {
		args, names[i] = append(args, dir), scheduler.Name(dir)
	}
	service := u.beginning("Scheduled crawls: "+strings.Join(names, ", "), args, dirs)
	// A run that is stopped finishes its requests under way, and each takes at most
	// two minutes.
	service += "Restart=always\nRestartSec=10s\nExecReload=/bin/kill -HUP $MAINPID\n"
	service, err := u.confined(service, dirs)
	return service + u.install("default.target", "multi-user.target"), err
}

// Dir returns the directory that systemd reads such units from.
func (u Unit) Dir() (string, error) {
	if u.System {
		return "/etc/systemd/system", nil
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "systemd", "user"), err
}

// beginning returns the text of the unit up to the settings that make systemd start the service
// again.
func (u Unit) beginning(description string, args, dirs []string) string {
	var b strings.Builder
	b.WriteString(Made + "[Unit]\nDescription=" + unitText(description) + "\nDocumentation=man:crawl-schedule(1)\n")
	if u.System { // units of a user have no network-online.target
		b.WriteString("Wants=network-online.target\nAfter=network-online.target\n")
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = execWord(a, i > 0)
	}
	b.WriteString("\n[Service]\nType=exec\nExecStart=" + strings.Join(words, " ") + "\n")
	if len(dirs) > 0 {
		b.WriteString("WorkingDirectory=" + unitText(filepath.Dir(dirs[0])) + "\n")
	}
	b.WriteString("KillMode=mixed\nTimeoutStopSec=150s\n")
	return b.String()
}

// install returns the section that enables a unit.
func (u Unit) install(ofUser, ofSystem string) string {
	target := ofUser
	if u.System {
		target = ofSystem
	}
	return "\n[Install]\nWantedBy=" + target + "\n"
}

// confined restricts a system service, so that it can write only where its crawls write. It does
// not restrict a user service, because the systemd of a user has few means to do so. It does not
// restrict a service if a job has a command of --on-end, because that command may write anywhere
// and contact any host.
func (u Unit) confined(service string, dirs []string) (string, error) {
	if !u.System {
		return service, nil
	}
	name, home, err := owner()
	if err != nil {
		return "", err
	}
	service += "User=" + unitText(name) + "\n"
	paths := []string{}
	command := false
	for _, dir := range dirs {
		more, runs := writes(dir)
		paths, command = append(append(paths, dir), more...), command || runs
	}
	if command {
		return service, nil
	}
	words := make([]string, 0, len(paths)+1)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		words = append(words, pathWord("", path))
	}
	// The directory in which all crawls of the user record their last requests, to keep pauses
	// together.
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

// unitText escapes each % in the text of a unit, because % begins a specifier of systemd.
func unitText(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// execWord returns a word of a command line as systemd.service(5) reads it. variables says
// whether systemd expands variables such as $HOME in the word; it is false for the first word.
func execWord(word string, variables bool) string {
	word = unitText(word)
	if variables {
		word = strings.ReplaceAll(word, "$", "$$")
	}
	return quotedWord(word)
}

// pathWord returns a path for a list of paths.
func pathWord(before, path string) string { return quotedWord(before + unitText(path)) }

// quotedWord quotes a word with blanks, quotation marks or semicolons in it.
func quotedWord(word string) string {
	if !strings.ContainsAny(word, " \t\"'\\;") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// owner returns the name of the user that services of the machine run as, and the home
// directory of that user.
func owner() (name, home string, err error) {
	caller, err := user.Current()
	if sudo := os.Getenv("SUDO_USER"); err == nil && caller.Uid == "0" && sudo != "" {
		caller, err = user.Lookup(sudo)
	}
	if err != nil {
		return "", "", fmt.Errorf("the user of the service is not known: %w", err)
	}
	return caller.Username, caller.HomeDir, nil
}

// writes returns the directories, besides dir, to which the job of the series in dir writes.
// command is true if the job runs a command of the user.
func writes(dir string) (more []string, command bool) {
	f := settings.Usual()
	f.Job = filepath.Join(dir, series.JobFile)
	if _, err := jobfile.Read(f, func(string) bool { return false }); err != nil {
		return nil, false
	}
	if f.LogFile != "" {
		if whole, err := filepath.Abs(cmp.Or(filepath.Dir(f.LogFile), ".")); err == nil {
			more = append(more, whole)
		}
	}
	return more, f.OnEnd != ""
}
