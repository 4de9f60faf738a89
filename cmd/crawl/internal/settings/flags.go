package settings

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/spf13/pflag"
)

// Choose adds a flag whose value must be one of the texts in known. Shells complete it, and an
// error about another value suggests the nearest text.
func Choose(fs *pflag.FlagSet, to *string, name, short, help string, known ...string) {
	fs.VarP(Value{setting.Setting{Name: name, Help: help, Value: word{to, "", known}}}, name, short, help)
}

// EachOf returns an error if one of the words given for a flag is not in known. The second
// argument is the noun for such a word in the error. EachOf removes blanks around the given
// words and makes them lower case.
func EachOf(flag, what string, given, known []string) error {
	for i, word := range given {
		given[i] = strings.ToLower(strings.TrimSpace(word))
		if !slices.Contains(known, given[i]) {
			return exit.Usagef("--%s: %q is no %s: %sthere are %s", flag, word, what, guess.DidYouMean(given[i], known), strings.Join(known, ", "))
		}
	}
	return nil
}

// ChoicesKey is the annotation of a flag that lists the values of the flag. A flag needs
// it if its type does not list them.
const ChoicesKey = "choices"

// ChoicesOf returns the values that a flag may have, or nil if they are not listed.
func ChoicesOf(f *pflag.Flag) []string {
	if known := f.Annotations[ChoicesKey]; known != nil {
		return known
	}
	if s, ok := f.Value.(Value); ok {
		return s.Choices()
	}
	return nil
}

// GroupKey is the annotation of a flag that names its heading in the help.
const GroupKey = "group"

// FlagWords returns a flag with a placeholder for its value, and the help text of the
// flag.
func FlagWords(flag *pflag.Flag) (left, text string) {
	name, text := pflag.UnquoteUsage(flag)
	if s, ok := flag.Value.(Value); ok {
		name = placeholder(s.Setting)
	} else if name != "" {
		name = " " + strings.ToUpper(name)
	}
	left = "--" + flag.Name + name
	if flag.Shorthand != "" {
		left = "-" + flag.Shorthand + ", " + left
	}
	return left, text + byDefault(flag)
}

// placeholder returns the word for the value of a flag.
func placeholder(s setting.Setting) string {
	of := s.Type()
	switch {
	case s.IsBoolFlag():
		return ""
	case strings.ContainsAny(of, "|:"):
		return " " + of
	}
	return " " + strings.ToUpper(of)
}

// byDefault returns the text about the default of a flag, or "" if it has none.
func byDefault(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "0" || f.DefValue == "[]" || f.NoOptDefVal != "" {
		return ""
	}
	return " (default " + f.DefValue + ")"
}

// Borrow adds flags for the named settings of a crawl to a command that does not crawl.
func Borrow(fs *pflag.FlagSet, o *crawler.Options, when string, names ...string) {
	for _, s := range o.Settings() {
		if slices.Contains(names, s.Name) {
			s.Help = when + s.Help
			addFlag(fs, s)
		}
	}
}

// addFlag adds the flag of a setting.
func addFlag(fs *pflag.FlagSet, s setting.Setting) *pflag.Flag {
	short := ""
	if s.Name == "dir" {
		short = "d"
	}
	flag := fs.VarPF(Value{s}, s.Name, short, s.Help)
	if s.IsBoolFlag() {
		flag.NoOptDefVal, flag.DefValue = "true", "false"
	}
	return flag
}

// A Value is a setting as the value of a flag. Its type for booleans is bool, which pflag
// requires.
type Value struct{ setting.Setting }

func (v Value) Type() string {
	if v.IsBoolFlag() {
		return "bool"
	}
	return v.Setting.Type()
}
