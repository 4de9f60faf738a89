package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/cobra"
)

func (p *program) optOutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "optout",
		Short: "keep the list of sites that no crawl of this user contacts",
		Long: `optout keeps the list of hosts and URLs that no crawl of this user contacts,
not even for robots.txt, regardless of its seeds, scope and settings. It is the file
permesso/opt-out.txt in the directory of the configuration, and may be edited by hand.
A crawl reads it when a run begins. For a running crawl use crawl exclude.`,
		Example: `  crawl optout add --reason "mail of 3 May" example.org
  crawl optout list
  crawl optout purge --dry-run news.crawl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.optOutAddCommand(), p.optOutListCommand(), p.optOutPurgeCommand())
	return cmd
}

func (p *program) optOutAddCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "add [flags] HOST|URL ...",
		Short: "add hosts, or URLs with all that begins with them, to the list",
		Long: `add puts hosts on the list, each with all hosts below it, and every scheme and port;
or URLs, and all of a site that begins with one. What is on the list is not added
again. What was captured before stays: crawl optout purge removes it from a crawl.`,
		Example: `  crawl optout add --reason "mail of 3 May" example.org
  crawl optout add https://example.org/~joe/`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("crawl optout add needs a host, as example.org, or a URL, as https://example.org/~joe/")
			}
			return p.optOutAdd(args, reason)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the readers of the list")
	return cmd
}

func (p *program) optOutListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "print the list",
		Long:    "list prints the hosts and URLs on the list, with their lines in the file.",
		Example: "  crawl optout list",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.optOutList(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object for each")
	return cmd
}

// optOutAdd appends places to the list, without those that are on it.
func (p *program) optOutAdd(places []string, reason string) error {
	path, err := optOutPath()
	if err != nil {
		return err
	}
	raw, list, err := readOptOut(path)
	if err != nil {
		return err
	}
	if strings.ContainsAny(reason, "\r\n") {
		return exit.Usagef("--reason: give it in one line")
	}
	var text strings.Builder
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		text.WriteByte('\n')
	}
	added := 0
	for _, place := range places {
		entry, err := onePlace(place)
		if err != nil {
			return err
		}
		if list.Has(entry.Place) {
			p.note("crawl: %s is on the list", place)
			continue
		}
		added++
		note := "added " + time.Now().UTC().Format(time.DateOnly)
		if reason != "" {
			note += ": " + reason
		}
		fmt.Fprintf(&text, "%s # %s\n", strings.TrimSpace(place), note)
	}
	if added > 0 {
		if err := appendTo(path, text.String()); err != nil {
			return fmt.Errorf("the opt-out list: %w", err)
		}
	}
	return p.say("%s added to %s: no run that begins from now on contacts it", say.Plural(added, "place"), path)
}

// An optOutEntry is a line of crawl optout list --json. The names of its fields are never
// changed.
type optOutEntry struct {
	Place string `json:"place"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Note  string `json:"note,omitempty"`
}

func (p *program) optOutList(asJSON bool) error {
	path, err := optOutPath()
	if err != nil {
		return err
	}
	_, list, err := readOptOut(path)
	if err != nil {
		return err
	}
	entries := list.Entries()
	for _, e := range entries {
		if asJSON {
			err = p.object(optOutEntry{e.Place, path, e.Line, e.Comment})
		} else if e.Comment != "" {
			err = p.say("%s  # %s", e.Place, e.Comment)
		} else {
			err = p.say("%s", e.Place)
		}
		if err != nil {
			return err
		}
	}
	if len(entries) == 0 && !asJSON {
		p.note("crawl: the list is empty: %s", path)
	}
	return nil
}

// readOptOut reads the list. A missing file is an empty list.
func readOptOut(path string) ([]byte, *crawler.OptOutList, error) {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, exit.Usagef("the opt-out list cannot be read: %v", err)
	}
	list, err := crawler.ReadOptOutList(bytes.NewReader(raw), path)
	if err != nil {
		return nil, nil, exit.Usagef("the opt-out list: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return raw, list, nil
}

// appendTo appends text to a file in one write, so that other processes can append at the
// same time.
func appendTo(path, text string) error {
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
