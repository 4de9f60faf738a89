package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/spf13/cobra"
)

// A build describes this program. The names of its fields are never changed.
type build struct {
	Version  string            `json:"version"`
	Module   string            `json:"module_version,omitempty"` // as go install has it: a tag, or a commit as Go names it
	Commit   string            `json:"commit,omitempty"`
	Time     string            `json:"commit_time,omitempty"`
	Modified bool              `json:"modified"` // whether the source differs from the commit
	Go       string            `json:"go"`
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	Modules  map[string]string `json:"modules"` // versions of linked modules, by path
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long: `version prints the version, and with --json the commit, Go version and modules the
program was built from.`,
		Example: `  crawl version
  crawl version --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				return p.object(thisBuild())
			}
			_, err := fmt.Fprintln(p.out, "crawl (permesso)", crawler.Version)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// thisBuild returns how the program was built. Facts that are not known are left out.
func thisBuild() build {
	is := processes.This()
	b := build{
		Version: crawler.Version, Module: is.Version, Commit: is.Revision, Time: is.Time, Modified: is.Modified,
		Go: runtime.Version(), OS: is.OS, Arch: is.Arch, Modules: map[string]string{},
	}
	if b.Module == "(devel)" { // a build that knows no commit
		b.Module = ""
	}
	for _, m := range is.Modules {
		b.Modules[m.Path] = m.Version
	}
	return b
}

// manDate returns the day of the commit, or "" if it is not known.
func manDate() string {
	at, err := time.Parse(time.RFC3339, thisBuild().Time)
	if err != nil {
		return ""
	}
	return at.Format(time.DateOnly)
}
