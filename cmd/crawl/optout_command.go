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

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/cobra"
)

func (p *program) optOutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "optout",
		Short: "who is asked for nothing, by any crawl of this machine's user",
		Long: `optout keeps the list of hosts and URLs that no crawl of this user asks for anything,
not even for robots.txt, whatever its seeds, scope and settings say. It is the file
permesso/opt-out.txt in the directory of the configuration, and may be edited by hand.
A crawl reads it when a run begins: one that runs is told by crawl exclude.`,
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
		Short: "ask a host, or what begins with a URL, for nothing any more",
		Long: `add puts hosts on the list, each with all hosts below it, and every scheme and port;
or URLs, and all of a site that begins with one. What is there already is not added
again. What was captured before stays: crawl optout purge takes it out of a crawl.`,
		Example: `  crawl optout add --reason "mail of 3 May" example.org
  crawl optout add https://example.org/~joe/`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("who is asked for nothing? a host, as example.org, or a URL, as https://example.org/~joe/")
			}
			return p.optOutAdd(args, reason)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for who reads the list")
	return cmd
}

func (p *program) optOutListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "print the list",
		Long:    "list prints who is asked for nothing, and the line of the file that says so.",
		Example: "  crawl optout list",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.optOutList(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object for each")
	return cmd
}

// optOutAdd appends to the list what is not on it.
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
		return usage("--reason: a line has to hold it")
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
	return p.say("%s added to %s: no crawl that begins from now on asks there for anything", plural(added, "place"), path)
}

// optOutEntry is what crawl optout list prints. The names of its fields are never changed.
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
		p.note("crawl: nobody is on the list: %s", path)
	}
	return nil
}

// readOptOut reads the list, which may not be there.
func readOptOut(path string) ([]byte, *crawler.OptOutList, error) {
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usage("the opt-out list cannot be read: %v", err)
	}
	list, err := crawler.ReadOptOutList(bytes.NewReader(raw), path)
	if err != nil {
		return nil, nil, usage("the opt-out list: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return raw, list, nil
}

// appendTo adds text to the end of a file, in one piece: nobody who adds to it at the same
// time is overwritten.
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
