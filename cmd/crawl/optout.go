package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// optOutFile is the list of what no crawl of this user asks for anything, in the
// directory of his configuration.
const optOutFile = "opt-out.txt"

// optOut is that list; nil where there is none. One that cannot be read, or not be
// understood, is an error: nobody knows then who is to be left alone.
func optOut() (func(frontier.URL) string, error) {
	path, err := optOutPath()
	if err != nil && os.Getenv("XDG_CONFIG_HOME") == "" {
		return nil, nil // there is no home that it could be in
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usage("the opt-out list cannot be read: %v", err)
	}
	defer file.Close()
	list, err := crawler.ReadOptOutList(file, path)
	if err != nil {
		return nil, usage("the opt-out list: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return list.Why, nil
}

// optOutPath is where the list is, or would be.
func optOutPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", usage("the opt-out list cannot be found: %v", err)
	}
	return filepath.Join(dir, "permesso", optOutFile), nil
}
