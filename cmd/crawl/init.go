package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/jobfile"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/spf13/cobra"
)

// templates are job files to begin with.
//
//go:embed templates
var templates embed.FS

// jobTemplates are the names of the templates.
var jobTemplates = []string{"site", "list", "archive", "sitemap"}

func (p *program) initCommand() *cobra.Command {
	var name string
	var all bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "write a first job file",
		Long: `init writes a commented job file (job.yaml, if no other name is given). It never
changes an existing file; with - it prints the job file. The templates:

  site      one site
  list      many sites, some pages of each
  archive   pages with their images, scripts and style sheets, to be replayed
  sitemap   what sites list in their sitemaps`,
		Example: `  crawl init
  crawl init --template archive library.yaml
  crawl init --all -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("init writes one file")
			}
			text, err := jobTemplate(name, all)
			if err != nil {
				return err
			}
			return p.writeJob(append(args, "job.yaml")[0], text)
		},
	}
	name = jobTemplates[0]
	settings.Choose(cmd.Flags(), &name, "template", "", "which one", jobTemplates...)
	cmd.Flags().BoolVar(&all, "all", false, "add all settings, with their defaults, as comments")
	return cmd
}

// jobTemplate returns the text of a template.
func jobTemplate(name string, all bool) (string, error) {
	raw, err := templates.ReadFile(path.Join("templates", name+".yaml"))
	if err != nil {
		return "", exit.Usagef("--template: %q is not one of %s", name, strings.Join(jobTemplates, ", "))
	}
	text := string(raw)
	if all {
		text += "\n# All settings, with their defaults.\n" + allSettings()
	}
	return text, nil
}

// allSettings returns the settings that a job file may have, as comments.
func allSettings() string {
	var b strings.Builder
	var group setting.Group
	for _, s := range settings.Usual().All() {
		if !jobfile.Has(s) {
			continue
		}
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n# %s\n", group)
		}
		for line := range strings.Lines(looks.Wrap(s.Help, 0, 90)) {
			b.WriteString("\n# " + strings.TrimSpace(line))
		}
		fmt.Fprintf(&b, "\n# %s: %s\n", s.Name, asYAML(s))
	}
	return b.String()
}

// asYAML returns the value of a setting as it is written in a job file.
func asYAML(s setting.Setting) string {
	if value := s.String(); value != "" {
		return value
	}
	if s.IsList() {
		return "[]"
	}
	return `""`
}

// writeJob writes a job file. It fails if the file exists.
func (p *program) writeJob(name, text string) error {
	if name == "-" {
		_, err := fmt.Fprint(p.out, text)
		return err
	}
	if strings.Contains(name, "://") {
		return exit.Usagef("%s is a URL: init takes the name of the file that it writes, as crawl init job.yaml; put the URL into that file as a seed", name)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return exit.Usagef("%s is there already: give another name, or - to print the file", name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return exit.Usagef("%w: make the directory %s first", err, filepath.Dir(name))
	}
	if err != nil {
		return exit.Usagef("%w", err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	p.note("crawl: %s is there: put your name, contact and seeds into it, then crawl check %s", name, name)
	return nil
}
