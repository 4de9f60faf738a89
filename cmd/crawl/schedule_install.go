package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler/series"
	"github.com/spf13/cobra"
)

// An installing is what crawl schedule install is asked for.
type installing struct {
	user, system, timers, crontab bool
	print                         bool // write nothing
	atOnce                        int
}

func (p *program) scheduleInstallCommand() *cobra.Command {
	var in installing
	cmd := &cobra.Command{
		Use:   "install [flags] [-] DIR ...",
		Short: "write units for systemd, or a line for crontab",
		Long: `install writes a service for systemd that runs crawl schedule run for some series
whenever the machine is up: for this user, or with --system for the machine, as the
user who calls it. With --timers there is no service that waits, but a timer for each
series; what a timer cannot say is told. - prints what would be written.

--crontab prints a line for crontab, for who has no systemd: it starts crawl schedule
run with the machine.`,
		Example: `  crawl schedule install weekly daily
  crawl schedule install --system --timers - /srv/crawls/weekly
  crawl schedule install --crontab weekly`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if i := slices.Index(args, "-"); i >= 0 {
				in.print, args = true, slices.Delete(slices.Clone(args), i, i+1)
			}
			return p.scheduleInstall(in, args)
		},
	}
	cmd.Flags().BoolVar(&in.user, "user", false, "units of this user (the usual)")
	cmd.Flags().BoolVar(&in.system, "system", false, "units of the machine")
	cmd.Flags().BoolVar(&in.timers, "timers", false, "a timer for each series, in place of a service that waits")
	cmd.Flags().BoolVar(&in.crontab, "crontab", false, "print a line for crontab")
	cmd.Flags().IntVar(&in.atOnce, "at-once", 4, "runs at a time, of the service")
	return cmd
}

func (p *program) scheduleInstall(in installing, dirs []string) error {
	switch {
	case in.user && in.system:
		return usage("--user and --system name two places for the units: take one out")
	case in.crontab && (in.user || in.system || in.timers):
		return usage("--crontab prints a line for cron, and the other flags are about systemd: take them out")
	case in.timers && in.atOnce != 4:
		return usage("--at-once: timers know nothing of each other: leave --timers out")
	}
	all, err := allSeries("install", dirs)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].dir, err = filepath.Abs(all[i].dir); err != nil {
			return err
		}
		if strings.ContainsFunc(all[i].dir, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return usage("%q: a unit cannot name a directory with control characters", all[i].dir)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if in.crontab {
		return p.say("%s", crontabLine(self, all))
	}
	units, err := in.units(self, all)
	if err != nil {
		return err
	}
	if in.print {
		for i, u := range units {
			text := "# " + u.name + "\n" + u.text
			if i > 0 {
				text = "\n" + text
			}
			if _, err := fmt.Fprint(p.out, text); err != nil {
				return err
			}
		}
		return nil
	}
	return p.writeUnits(in, units)
}

// crontabLine starts the scheduler with the machine.
func crontabLine(self string, all []*scheduled) string {
	words := []string{shellQuoted(self), "schedule", "run"}
	for _, s := range all {
		words = append(words, shellQuoted(s.dir))
	}
	// cron takes % for the end of a line, whatever stands around it.
	return "@reboot " + strings.ReplaceAll(strings.Join(words, " "), "%", `\%`)
}

func shellQuoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unitsDir is where the units of systemd live.
func (in installing) unitsDir() (string, error) {
	if in.system {
		return "/etc/systemd/system", nil
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "systemd", "user"), err
}

// writeUnits writes units, over none that somebody else has written.
func (p *program) writeUnits(in installing, units []unit) error {
	dir, err := in.unitsDir()
	if err != nil {
		return usage("the directory for units: %v: - prints them", err)
	}
	for _, u := range units {
		path := filepath.Join(dir, u.name)
		switch raw, err := os.ReadFile(path); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !strings.HasPrefix(string(raw), madeHere):
			return usage("%s is there, and crawl schedule install has not made it: move it away, or print the units with -", path)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var start []string
	for _, u := range units {
		path := filepath.Join(dir, u.name)
		if err := os.WriteFile(path, []byte(u.text), 0o644); err != nil {
			return err
		}
		if err := p.say("%s", path); err != nil {
			return err
		}
		if u.start {
			start = append(start, shellQuoted(u.name))
		}
	}
	control := "systemctl --user"
	if in.system {
		control = "systemctl"
	}
	p.note("crawl: to start them: %s daemon-reload && %s enable --now %s", control, control, strings.Join(start, " "))
	if !in.system {
		p.note("crawl: and to have them run while you are not logged in: loginctl enable-linger")
	}
	return nil
}

// owner is the user as whom services of the machine run, and his home.
func owner() (name, home string, err error) {
	who, err := user.Current()
	if sudo := os.Getenv("SUDO_USER"); err == nil && who.Uid == "0" && sudo != "" {
		who, err = user.Lookup(sudo)
	}
	if err != nil {
		return "", "", fmt.Errorf("the user as whom the service is to run: %w", err)
	}
	return who.Username, who.HomeDir, nil
}

// writes are the directories beside the series that a job writes to, and whether it runs
// a command of the user's.
func writes(dir string) (more []string, command bool) {
	f := usualFlags()
	f.job = filepath.Join(dir, series.JobFile)
	if _, err := readJob(f, func(string) bool { return false }); err != nil {
		return nil, false
	}
	if f.logFile != "" {
		if whole, err := filepath.Abs(cmp.Or(filepath.Dir(f.logFile), ".")); err == nil {
			more = append(more, whole)
		}
	}
	return more, f.onEnd != ""
}
