package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpAt is the column where the text about a flag begins.
const helpAt = 28

// commandGroups are the headings of crawl --help, with their commands in the order of their
// use. A command in no group is listed last.
var commandGroups = []struct {
	heading string
	names   []string
}{
	{"Start a crawl", []string{"demo", "init", "check", "run"}},
	{"Steer one that runs", []string{"status", "pause", "resume", "slow", "exclude", "add", "limit"}},
	{"Look at it", []string{"serve", "report", "explain", "list", "diff", "robots", "audit", "verify"}},
	{"Again and again", []string{"schedule"}},
	{"Hand it on", []string{"provenance", "export", "index"}},
	{"For all crawls", []string{"identity", "optout"}},
	{"This program", []string{"completion", "man", "version", "help"}},
}

// setHelp gives all commands the same form of help.
func (p *program) setHelp(root *cobra.Command) {
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(p.helpCommand())
	root.InitDefaultHelpCmd()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		width := cmp.Or(terminal.Width(p.out), 80)
		fmt.Fprint(p.out, help(cmd, min(width, 100)))
	})
}

func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND ...]",
		Short: "print the help of a command",
		Long:  "help prints the same as the flag --help of a command.",
		Example: `  crawl help run
  crawl help robots test`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			of := cmd.Root()
			for _, name := range args {
				i := slices.IndexFunc(of.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
				if i < 0 {
					return unknownCommand(of, name)
				}
				of = of.Commands()[i]
			}
			return of.Help()
		},
	}
}

// help returns the help of a command: examples to copy, then flags and commands by subject.
func help(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString(cmd.Example + "\n\nUsage:\n")
	for _, line := range usageLines(cmd) {
		b.WriteString(say.Wrapped("  "+line, 6, width))
	}
	for _, of := range say.Blocks(cmd.Long) {
		if !of.Below {
			b.WriteString("\n")
		}
		b.WriteString(of.Wrapped(width))
	}
	for _, group := range commandsOf(cmd) {
		b.WriteString("\n" + group.heading + ":\n")
		for _, c := range group.commands {
			b.WriteString(say.Wrapped(fmt.Sprintf("  %-12s %s", c.Name(), c.Short), 15, width))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help tells more about a command.\n", cmd.CommandPath())
	}
	for _, group := range flagsOf(cmd) {
		b.WriteString("\n" + group.heading + ":\n")
		for _, flag := range group.flags {
			b.WriteString(flagLines(flag, width))
		}
	}
	return b.String()
}

// flagLines returns the help of a flag.
func flagLines(flag *pflag.Flag, width int) string {
	left, text := settings.FlagWords(flag)
	if flag.Shorthand == "" {
		left = "    " + left
	}
	left = "  " + left
	var b strings.Builder
	if len(left) > helpAt-2 {
		b.WriteString(left + "\n")
		left = ""
	}
	left += strings.Repeat(" ", helpAt-len(left))
	return b.String() + say.Wrapped(left+text, helpAt, width)
}

// usageLines returns the ways to call a command.
func usageLines(cmd *cobra.Command) []string {
	path := strings.TrimSuffix(cmd.CommandPath(), cmd.Name())
	if cmd.HasAvailableSubCommands() {
		return []string{path + cmd.Name() + " COMMAND"}
	}
	lines := strings.Split(cmd.Use, " | "+cmd.Name()+" ")
	for i := range lines {
		if i > 0 {
			lines[i] = cmd.Name() + " " + lines[i]
		}
		name, rest, _ := strings.Cut(lines[i], " ")
		if len(flagsOf(cmd)) > 0 && !strings.Contains(rest, "[flags]") && !strings.Contains(rest, "--") {
			rest = strings.TrimSpace("[flags] " + rest)
		}
		lines[i] = strings.TrimSpace(path + name + " " + rest)
	}
	return lines
}

// A commandGroup is a heading and its commands.
type commandGroup struct {
	heading  string
	commands []*cobra.Command
}

// commandsOf returns the subcommands of a command, by subject.
func commandsOf(cmd *cobra.Command) (groups []commandGroup) {
	if cmd.HasParent() {
		if all := listedCommands(cmd); len(all) > 0 {
			groups = append(groups, commandGroup{"Commands", all})
		}
		return groups
	}
	rest := listedCommands(cmd)
	for _, g := range commandGroups {
		group := commandGroup{heading: g.heading}
		for _, name := range g.names {
			if i := slices.IndexFunc(rest, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
				group.commands = append(group.commands, rest[i])
				rest = slices.Delete(rest, i, i+1)
			}
		}
		groups = append(groups, group)
	}
	if len(rest) > 0 {
		groups = append(groups, commandGroup{"More", rest})
	}
	return groups
}

func listedCommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Deprecated == "" {
			all = append(all, c)
		}
	}
	return all
}

// A flagGroup is a heading and its flags.
type flagGroup struct {
	heading string
	flags   []*pflag.Flag
}

// flagsOf returns the flags of a command: first the flags without a group, then the others
// by subject.
func flagsOf(cmd *cobra.Command) (list []flagGroup) {
	list = []flagGroup{{heading: "Flags"}}
	for _, g := range settings.Groups {
		list = append(list, flagGroup{heading: string(g)})
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		at := 0
		if of := f.Annotations[settings.GroupKey]; of != nil {
			at = slices.IndexFunc(list, func(g flagGroup) bool { return g.heading == of[0] })
		}
		list[at].flags = append(list[at].flags, f)
	})
	return slices.DeleteFunc(list, func(g flagGroup) bool { return len(g.flags) == 0 })
}

// afterCollect are the commands that read the logs or the pages of all nodes.
var afterCollect = []string{"audit", "verify", "export", "index", "provenance", "diff"}

// flagError returns an error that says how to correct a flag that cannot be parsed.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid) && isSetting(invalid.GetFlag()):
		return exit.Usagef("--%s: %w%s", invalid.GetFlag().Name, invalid.Unwrap(), guess.Meant(invalid.GetValue(), settings.ChoicesOf(invalid.GetFlag())))
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		if name == "--state" && slices.Contains(afterCollect, cmd.Name()) {
			return exit.Usagef("unknown flag --state: %s needs the files of all nodes: once they have ended, make one crawl of them with crawl collect --state URL NODE.crawl... INTO.crawl, and name it", cmd.CommandPath())
		}
		like := guess.DidYouMean(name, names)
		if like == "" && strings.Contains(name, "robots") {
			like = "robots.txt is always obeyed; "
		}
		return exit.Usagef("unknown flag %s: %s%s --help lists the flags", name, like, cmd.CommandPath())
	}
	return exit.Usagef("%v: %s --help lists the flags", err, cmd.CommandPath())
}

// isSetting reports whether a flag is a setting. The errors of a setting already say how to
// correct it.
func isSetting(f *pflag.Flag) bool {
	_, ok := f.Value.(settings.Value)
	return ok
}

// noCommand returns an error if a command that only has subcommands is called with an
// argument, which names none of them.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

// unknownCommand returns the error for a name that is not a subcommand of cmd.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if !cmd.HasParent() && (strings.Contains(name, "://") || strings.ContainsAny(name, "./") || crawldir.Exists(name)) {
		return exit.Usagef("unknown command %q: to crawl it, write crawl run %s", name, say.ShellQuoted(name))
	}
	return exit.Usagef("unknown command %q: %s%s --help lists them", name, guess.DidYouMean(name, names), cmd.CommandPath())
}
