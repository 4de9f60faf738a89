// Package optout keeps the list of places that no crawl of this user contacts. Its errors have
// the exit code of a mistake of the user.
package optout

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/places"
)

// optOutFile is the list of places that no crawl of this user contacts, in the directory of
// the user's configuration.
const optOutFile = "opt-out.txt"

// Why returns a function that returns the reason why a URL is on the opt-out list, or "" if it
// is not. Why returns nil if there is no list. A list that cannot be read or parsed is an
// error, because the crawl would not know which sites to leave alone.
func Why() (func(frontier.URL) string, error) {
	path, err := Path()
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
	list, err := places.Read(file, path)
	if err != nil {
		return nil, exit.Usagef("the opt-out list: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return list.Why, nil
}

// Path returns the path of the list, whether it exists or not.
func Path() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", exit.Usagef("the opt-out list cannot be found: %v", err)
	}
	return filepath.Join(dir, "permesso", optOutFile), nil
}

// Read reads the list. A missing file is an empty list.
func Read(path string) ([]byte, *places.List, error) {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, exit.Usagef("the opt-out list cannot be read: %v", err)
	}
	list, err := places.Read(bytes.NewReader(raw), path)
	if err != nil {
		return nil, nil, exit.Usagef("the opt-out list: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return raw, list, nil
}

// Append appends text to a file in one write, so that other processes can append at the
// same time.
func Append(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Place returns the host or URL in an argument as an entry of an opt-out list.
func Place(text string) (entry places.Entry, err error) {
	list, err := places.Read(strings.NewReader(text), "argument")
	if err != nil {
		return entry, exit.Usagef("%v", err)
	}
	entries := list.Entries()
	if len(entries) != 1 || entries[0].Comment != "" {
		return entry, exit.Usagef("%q is not a host or a URL: write a host, such as example.org, or a URL, such as https://example.org/~joe/", text)
	}
	return entries[0], nil
}
