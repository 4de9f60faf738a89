package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/cobra"
)

// A build is what a program says of itself. The names of its fields are never changed.
type build struct {
	Version  string            `json:"version"`
	Commit   string            `json:"commit,omitempty"`
	Time     string            `json:"commit_time,omitempty"`
	Modified bool              `json:"modified"` // beyond the commit
	Go       string            `json:"go"`
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	Modules  map[string]string `json:"modules"` // that are linked, by their paths
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long: `version prints the version, and with --json of which commit, Go and modules the
program was built.`,
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

// thisBuild is what the program was built of, as far as it was told.
func thisBuild() build {
	b := build{Version: crawler.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Modules: map[string]string{}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Modules[m.Path] = m.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// manDate is the day of the commit; empty where that is not known.
func manDate() string {
	at, err := time.Parse(time.RFC3339, thisBuild().Time)
	if err != nil {
		return ""
	}
	return at.Format(time.DateOnly)
}
