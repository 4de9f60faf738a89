package main

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/pflag"
)

// choose makes a flag of a text that is one of a few: shells complete it, and what is
// nearly one of them is guessed.
func choose(fs *pflag.FlagSet, to *string, name, short, help string, known ...string) {
	fs.VarP(flagValue{crawler.Setting{Name: name, Help: help, Value: word{to, "", known}}}, name, short, help)
}

// eachOf checks that each of the words given for a flag is one of those that are known, which
// are called what; they are as they were meant then: without blanks around them, in lower
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

// choicesKey is the annotation of a flag that lists what it may be, where its type does
// not.
const choicesKey = "choices"

// choicesOf are the values that a flag may have; nil where there is no list of them.
func choicesOf(f *pflag.Flag) []string {
	if known := f.Annotations[choicesKey]; known != nil {
		return known
	}
	if s, ok := f.Value.(flagValue); ok {
		return s.Choices()
	}
	return nil
}

// meant guesses which choice was meant by a value that is none, or by a part of a
// list: ": did you mean ...?", or nothing.
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
