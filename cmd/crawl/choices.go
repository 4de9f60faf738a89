package main

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/pflag"
)

// choose adds a flag whose value is one of a few texts. Shells complete it, and errors
// suggest the nearest value.
func choose(fs *pflag.FlagSet, to *string, name, short, help string, known ...string) {
	fs.VarP(flagValue{crawler.Setting{Name: name, Help: help, Value: word{to, "", known}}}, name, short, help)
}

// eachOf returns an error if one of the words given for a flag is not one of known, which
// are called what. It changes given to known words: without blanks around them, in lower
// case.
func eachOf(flag, what string, given, known []string) error {
	for i, word := range given {
		given[i] = strings.ToLower(strings.TrimSpace(word))
		if !slices.Contains(known, given[i]) {
			return usage("--%s: %q is no %s: %sthere are %s", flag, word, what, didYouMean(given[i], known), strings.Join(known, ", "))
		}
	}
	return nil
}

// choicesKey is the annotation of a flag that lists its values, if its type does not.
const choicesKey = "choices"

// choicesOf returns the values that a flag may have, or nil if they are not listed.
func choicesOf(f *pflag.Flag) []string {
	if known := f.Annotations[choicesKey]; known != nil {
		return known
	}
	if s, ok := f.Value.(flagValue); ok {
		return s.Choices()
	}
	return nil
}

// meant guesses which of known an invalid value, or an item of a list, was meant to be: ":
// did you mean ...?", or "".
func meant(value string, known []string) string {
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if slices.Contains(known, part) {
			continue
		}
		if like := didYouMean(part, known); like != "" {
			return ": " + strings.TrimSpace(like)
		}
	}
	return ""
}
