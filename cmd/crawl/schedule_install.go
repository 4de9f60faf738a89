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

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/spf13/cobra"
)

// An installing has the flags of crawl schedule install.
type installing struct {
	user, system bool
	print        bool // write nothing
	atOnce       int
}

func (p *program) scheduleInstallCommand() *cobra.Command {
	var in installing
	cmd := &cobra.Command{
		Use:   "install [flags] [-] DIR ...",
		Short: "write a unit for systemd",
		Long: `install writes a service for systemd that runs crawl schedule run for some series
whenever the machine is up: for this user, or with --system for the machine, as the
user who calls it. With - it prints what it would write.

Without systemd, have cron start the scheduler with the machine:

  @reboot crawl schedule run /srv/crawls/weekly`,
		Example: `  crawl schedule install weekly daily
  crawl schedule install --system - /srv/crawls/weekly`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if i := slices.Index(args, "-"); i >= 0 {
				in.print, args = true, slices.Delete(slices.Clone(args), i, i+1)
			}
			return p.scheduleInstall(in, args)
		},
	}
	cmd.Flags().BoolVar(&in.user, "user", false, "a unit of this user (the default)")
	cmd.Flags().BoolVar(&in.system, "system", false, "a unit of the machine")
	cmd.Flags().IntVar(&in.atOnce, "at-once", 4, "runs at a time, of the service")
	return cmd
}

func (p *program) scheduleInstall(in installing, dirs []string) error {
	if in.user && in.system {
		return exit.Usagef("--user and --system name two places for the unit: take one out")
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
			return exit.Usagef("%q: a unit cannot name a directory with control characters", all[i].dir)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := in.unit(self, all)
	if err != nil {
		return err
	}
	if in.print {
		_, err := fmt.Fprint(p.out, "# "+unitName+"\n"+text)
		return err
	}
	return p.writeUnit(in, text)
}

// unitsDir returns the directory of the units of systemd.
func (in installing) unitsDir() (string, error) {
	if in.system {
		return "/etc/systemd/system", nil
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "systemd", "user"), err
}

// writeUnit writes the unit. It fails if the file exists and was not made by this program.
func (p *program) writeUnit(in installing, text string) error {
	dir, err := in.unitsDir()
	if err != nil {
		return exit.Usagef("the directory for units: %v: - prints the unit", err)
	}
	path := filepath.Join(dir, unitName)
	switch raw, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !strings.HasPrefix(string(raw), madeHere):
		return exit.Usagef("%s is there, and crawl schedule install has not made it: move it away, or print the unit with -", path)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	if err := p.say("%s", path); err != nil {
		return err
	}
	control := "systemctl --user"
	if in.system {
		control = "systemctl"
	}
	p.note("crawl: to start it: %s daemon-reload && %s enable --now %s", control, control, unitName)
	if !in.system {
		p.note("crawl: to let it run while you are not logged in: loginctl enable-linger")
	}
	return nil
}

// owner returns the user that services of the machine run as, and the user's home
// directory.
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

// writes returns the directories outside of the series that a job writes to, and whether it
// runs a command of the user.
func writes(dir string) (more []string, command bool) {
	f := settings.Usual()
	f.Job = filepath.Join(dir, series.JobFile)
	if _, err := readJob(f, func(string) bool { return false }); err != nil {
		return nil, false
	}
	if f.LogFile != "" {
		if whole, err := filepath.Abs(cmp.Or(filepath.Dir(f.LogFile), ".")); err == nil {
			more = append(more, whole)
		}
	}
	return more, f.OnEnd != ""
}
