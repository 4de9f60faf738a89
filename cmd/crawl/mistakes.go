package main

import (
	"errors"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
		return exit.Usagef("unknown flag %s: %s%s --help lists the flags", name, guess.DidYouMean(name, names), cmd.CommandPath())
	}
	return exit.Usagef("%v: %s --help lists the flags", err, cmd.CommandPath())
}

// isSetting reports whether the errors of a flag already say how to correct it.
func isSetting(f *pflag.Flag) bool {
	_, ok := f.Value.(settings.Value)
	return ok
}

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
