package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/storage/machine"
)

// sharedClocks opens the clocks that all crawls of this user share. Without
// them each crawl is as polite as ever, by itself.
func sharedClocks(log *slog.Logger) *machine.Table {
	path, err := clocksFile()
	if err == nil {
		var t *machine.Table
		if t, err = machine.Open(path); err == nil {
			return t
		}
	}
	log.Info("clocks are not shared with other crawls of this machine", "error", err)
	return nil
}

// clocksFile is where they are: in the user's state directory, as the XDG Base
// Directory Specification names it.
func clocksFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" || !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		if home == "" {
			return "", errors.New("there is no home directory")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "permesso", "clocks"), nil
}
