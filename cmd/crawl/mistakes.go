package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError returns an error that says how to correct a flag that cannot be parsed.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid) && isSetting(invalid.GetFlag()):
		return usage("--%s: %w%s", invalid.GetFlag().Name, invalid.Unwrap(), meant(invalid.GetValue(), choicesOf(invalid.GetFlag())))
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		return usage("unknown flag %s: %s%s --help lists the flags", name, didYouMean(name, names), cmd.CommandPath())
	}
	return usage("%v: %s --help lists the flags", err, cmd.CommandPath())
}

// isSetting reports whether the errors of a flag already say how to correct it.
func isSetting(f *pflag.Flag) bool {
	_, ok := f.Value.(flagValue)
	return ok
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if !cmd.HasParent() && (strings.Contains(name, "://") || strings.ContainsAny(name, "./") || exists(name)) {
		return usage("unknown command %q: to crawl it, write crawl run %s", name, shellQuoted(name))
	}
	return usage("unknown command %q: %s%s --help lists them", name, didYouMean(name, names), cmd.CommandPath())
}

// didYouMean suggests the known name that is most like name, or returns "" if none is.
func didYouMean(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	name = strings.ToLower(name)
	best := slices.MinFunc(known, func(a, b string) int {
		return cmp.Or(distance(name, a)-distance(name, b), common(name, b)-common(name, a))
	})
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name) }); i >= 0 {
		best = known[i]
	}
	if distance(name, best) > max(1, len(strings.Trim(name, "-"))/3) && !strings.HasPrefix(best, name) {
		return ""
	}
	return "did you mean " + best + "? "
}

// common returns how many letters at the beginning of two names are equal.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// distance returns how many letters must be added, removed, changed, or swapped with their
// neighbour to turn a into b.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// shellQuoted returns a word quoted for a shell.
func shellQuoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
