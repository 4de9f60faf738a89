package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/cobra"
)

func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man [DIRECTORY]",
		Short: "write the manual pages",
		Long: `man writes a manual page for each command into a directory, in section 1: as
crawl.1 and crawl-run.1. Without a directory it prints the page of crawl.`,
		Example: `  crawl man ~/.local/share/man/man1
  crawl man | man -l -`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				_, err := fmt.Fprint(p.out, manPage(cmd.Root()))
				return err
			case 1:
				return p.writeMan(cmd.Root(), args[0])
			}
			return exit.Usagef("crawl man takes one argument at most, a directory")
		},
	}
}

// writeMan writes the pages of all commands.
func (p *program) writeMan(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	all := everyCommand(root)
	for _, c := range all {
		if err := os.WriteFile(filepath.Join(dir, manName(c)+".1"), []byte(manPage(c)), 0o644); err != nil {
			return err
		}
	}
	p.note("crawl: %s in %s", say.Plural(len(all), "page"), dir)
	return nil
}

// everyCommand returns a command and all commands below it that are not hidden.
func everyCommand(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range listedCommands(cmd) {
		all = append(all, everyCommand(c)...)
	}
	return all
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the manual page of a command, in the macros of man(7).
func manPage(cmd *cobra.Command) string {
	r := &roff{}
	r.macro("TH", strings.ToUpper(manName(cmd)), "1", manDate(), "permesso "+crawler.Version, "permesso")
	r.macro("SH", "NAME")
	r.text(manName(cmd) + ` - ` + cmd.Short)
	r.macro("SH", "SYNOPSIS")
	for i, line := range usageLines(cmd) {
		if i > 0 {
			r.macro("br")
		}
		r.text(line)
	}
	r.macro("SH", "DESCRIPTION")
	r.blocks(cmd.Long)
	for _, group := range commandsOf(cmd) {
		r.macro("SH", strings.ToUpper(group.heading))
		for _, c := range group.commands {
			r.term(manName(c)+"(1)", c.Short)
		}
	}
	for _, group := range flagsOf(cmd) {
		r.macro("SH", strings.ToUpper(group.heading))
		for _, flag := range group.flags {
			r.term(settings.FlagWords(flag))
		}
	}
	r.macro("SH", "EXAMPLES")
	r.blocks(cmd.Example)
	if !cmd.HasParent() {
		r.macro("SH", "ENVIRONMENT")
		r.term("CRAWL_NAME, CRAWL_CONTACT", "name and contact of the crawler, if no flag sets them")
		r.term("TERM", "dumb: lines are not drawn over others")
		r.term("NO_COLOR", "without effect: nothing is coloured")
	} else {
		r.macro("SH", "SEE ALSO")
		r.text(manName(cmd.Parent()) + "(1)")
	}
	return r.b.String()
}

// A roff builds the text of a manual page.
type roff struct{ b strings.Builder }

// macro writes the line of a macro.
func (r *roff) macro(name string, args ...string) {
	r.b.WriteString("." + name)
	for _, a := range args {
		r.b.WriteString(` "` + strings.ReplaceAll(escapeRoff(a), `"`, `\(dq`) + `"`)
	}
	r.b.WriteString("\n")
}

// text writes words, which roff breaks into lines.
func (r *roff) text(text string) {
	for line := range strings.Lines(text) {
		line = escapeRoff(strings.TrimRight(line, "\n"))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line // so that roff does not take it for a request
		}
		r.b.WriteString(line + "\n")
	}
}

// term writes a term and its explanation.
func (r *roff) term(of, text string) {
	r.macro("TP")
	r.macro("B", of)
	r.text(text)
}

// blocks writes paragraphs, and indented lines unchanged.
func (r *roff) blocks(text string) {
	for i, of := range say.Blocks(text) {
		if i > 0 && !of.Below {
			r.macro("PP")
		}
		if of.AsIs {
			r.macro("nf")
		}
		r.text(strings.Join(of.Lines, "\n"))
		if of.AsIs {
			r.macro("fi")
		}
	}
}

// escapeRoff escapes what roff would read as a command. It also escapes hyphens, because
// roff would print a typographic hyphen instead of the minus sign that a reader may copy.
func escapeRoff(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "`", `\(ga`).Replace(text)
}
