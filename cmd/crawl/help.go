package main

import (
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpAt is the column at which the help of a flag begins.
const helpAt = 28

// help begins with what somebody may copy, and lists the flags by what they are
// about.
func help(cmd *cobra.Command, settings []crawler.Setting, width int) string {
	var b strings.Builder
	b.WriteString(cmd.Example + "\n\nUsage:\n  " + cmd.UseLine() + "\n\n" + cmd.Long + "\n")
	var group crawler.Group
	for _, s := range settings {
		if s.Group != group {
			group = s.Group
			b.WriteString("\n" + string(group) + ":\n")
		}
		flag := cmd.Flags().Lookup(s.Name)
		left := "      --" + s.Name + placeholder(s)
		if flag.Shorthand != "" {
			left = "  -" + flag.Shorthand + ", --" + s.Name + placeholder(s)
		}
		if len(left) > helpAt-2 {
			b.WriteString(left + "\n")
			left = ""
		}
		left += strings.Repeat(" ", helpAt-len(left))
		for line := range strings.Lines(wrap(left+s.Help+byDefault(flag), helpAt, width)) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	return b.String()
}

// placeholder stands for the value of a flag.
func placeholder(s crawler.Setting) string {
	of := s.Type()
	switch {
	case s.IsBoolFlag():
		return ""
	case strings.ContainsAny(of, "|:"):
		return " " + of
	}
	return " " + strings.ToUpper(of)
}

// byDefault says what a flag is by default, where that is anything.
func byDefault(f *pflag.Flag) string {
	if f.DefValue == "" || f.DefValue == "0" || f.NoOptDefVal != "" {
		return ""
	}
	return " (default " + f.DefValue + ")"
}
