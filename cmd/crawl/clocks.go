package main

import (
	"log/slog"

	"github.com/permesso-crawler/permesso/storage/machine"
)

// sharedClocks opens the clocks that all crawls of this user share. It returns nil if that
// fails: each crawl is then polite by itself.
func sharedClocks(log *slog.Logger) *machine.Table {
	path, err := machine.DefaultPath()
	if err == nil {
		var t *machine.Table
		if t, err = machine.Open(path); err == nil {
			return t
		}
	}
	log.Info("clocks are not shared with other crawls of this machine", "error", err)
	return nil
}
