package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// optOutFile is the list of places that no crawl of this user contacts, in the directory of
// the user's configuration.
const optOutFile = "opt-out.txt"

// optOut returns a function that returns why a URL is on the list, or nil if there is no
// list. A list that cannot be read or parsed is an error, because the crawl would not know
// which sites to leave alone.
func optOut() (func(frontier.URL) string, error) {
	path, err := optOutPath()
	if err != nil && os.Getenv("XDG_CONFIG_HOME") == "" {
		return nil, nil // there is no home directory
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, exit.Usagef("the opt-out list cannot be read: %v", err)
	}
	defer file.Close()
	list, err := crawler.ReadOptOutList(file, path)
	if err != nil {
		return nil, exit.Usagef("the opt-out list: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return list.Why, nil
}

// optOutPath returns the path of the list, whether it exists or not.
func optOutPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", exit.Usagef("the opt-out list cannot be found: %v", err)
	}
	return filepath.Join(dir, "permesso", optOutFile), nil
}
