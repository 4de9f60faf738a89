package main

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyHelp calls f with each command and the output of its --help.
func everyHelp(t *testing.T, f func(cmd *cobra.Command, text string)) {
	t.Helper()
	root := (&program{}).root()
	all := everyCommand(root)
	if len(all) < 15 {
		t.Fatalf("%d commands", len(all))
	}
	for _, cmd := range all {
		var out, err bytes.Buffer
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if code := run(args, nil, &out, &err); code != exit.Done || err.Len() > 0 {
			t.Errorf("crawl %q: exit %d: %s", args, code, &err)
		}
		f(cmd, out.String())
	}
}

// The help of each command begins with examples to copy, and fits in a terminal.
func TestEachHelpBeginsWithExamplesAndFits(t *testing.T) {
	everyHelp(t, func(cmd *cobra.Command, text string) {
		if cmd.Example == "" || !strings.HasPrefix(text, cmd.Example+"\n\nUsage:\n  "+strings.SplitN(cmd.CommandPath(), " ", 2)[0]) {
			t.Errorf("%s --help does not begin with examples:\n%s", cmd.CommandPath(), text)
		}
		if cmd.Short == "" || cmd.Long == "" {
			t.Errorf("%s does not say what it is", cmd.CommandPath())
		}
		for n, line := range strings.Split(text, "\n") {
			if utf8.RuneCountInString(line) > 80 || strings.TrimRight(line, " ") != line || strings.Contains(line, "\t") {
				t.Errorf("%s --help, line %d is wider than a terminal, or ends in blanks: %q", cmd.CommandPath(), n+1, line)
			}
		}
		listed := 0
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" {
				listed++
				if n := len(regexp.MustCompile(`(?m)^  (?:-.,|   ) --`+f.Name+`( |$)`).FindAllString(text, -1)); n != 1 {
					t.Errorf("%s --help lists --%s %d times", cmd.CommandPath(), f.Name, n)
				}
			}
		})
		if grouped := len(flagsOf(cmd)); listed > 12 && grouped < 3 {
			t.Errorf("%s --help lists %d flags below %d headings", cmd.CommandPath(), listed, grouped)
		}
	})
}

// Each command is listed once below a heading of crawl --help, one without a group below
// the last.
func TestEachCommandIsListedOnce(t *testing.T) {
	root := (&program{}).root()
	root.AddCommand(&cobra.Command{Use: "another DIR", Short: "be new", Run: func(*cobra.Command, []string) {}},
		&cobra.Command{Use: "secret", Short: "be hidden", Hidden: true, Run: func(*cobra.Command, []string) {}})
	text := help(root, 80)
	for _, c := range root.Commands() {
		want := 1
		if c.Hidden {
			want = 0
		}
		if n := strings.Count(text, "\n  "+c.Name()+" "); n != want {
			t.Errorf("crawl --help lists %s %d times", c.Name(), n)
		}
	}
	if !strings.Contains(text, "\nMore:\n  another      be new\n") {
		t.Errorf("crawl --help does not list a command without a group:\n%s", text)
	}
	for _, g := range commandGroups {
		for _, name := range g.names {
			if c, _, err := root.Find([]string{name}); err != nil || c == root {
				t.Errorf("%s lists crawl %s, which is no command", g.heading, name)
			}
		}
	}
}

// The examples of each help are valid: the command, its flags and their values, its
// arguments.
func TestEachExampleOfAnyHelpIsUnderstood(t *testing.T) {
	everyHelp(t, func(cmd *cobra.Command, _ string) {
		calls := crawlCalls(t, cmd.Example)
		if len(calls) == 0 {
			t.Errorf("%s has no example that is a command:\n%s", cmd.CommandPath(), cmd.Example)
		}
		own := 0
		for _, args := range calls {
			if strings.HasPrefix(strings.Join(args, " ")+" ", strings.TrimPrefix(cmd.CommandPath()+" ", "crawl ")) {
				own++
			}
			if err := understood(args); err != nil {
				t.Errorf("%s: crawl %q: %v", cmd.CommandPath(), args, err)
			}
		}
		if own == 0 {
			t.Errorf("no example of %s is a call of it", cmd.CommandPath())
		}
	})
	for _, wrong := range []string{"run --delya 1s http://a.test/", "run --delay 1 http://a.test/", "list --fate", "frob", "robots tset /", "verify --json=maybe a"} {
		if err := understood(strings.Fields(wrong)); err == nil {
			t.Errorf("crawl %s is understood", wrong)
		}
	}
}

// understood returns what is wrong with a command line, without running it.
func understood(args []string) error {
	root := (&program{}).root()
	cmd, rest, err := root.Find(args)
	if err == nil && (cmd == root || cmd.HasSubCommands()) && len(rest) > 0 {
		err = unknownCommand(cmd, rest[0])
	}
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	return err
}

// crawlCalls returns the calls of crawl in the indented lines of a text, as a shell would
// make them.
func crawlCalls(t *testing.T, text string) (calls [][]string) {
	t.Helper()
	text = regexp.MustCompile(`([|\\])\n *`).ReplaceAllStringFunc(text, func(s string) string { return strings.Trim(s, "\\\n ") + " " })
	for _, line := range regexp.MustCompile(`(?m)^  +(.*)$`).FindAllStringSubmatch(text, -1) {
		for _, part := range regexp.MustCompile(`&&|[|;]`).Split(line[1], -1) {
			at := strings.Index(" "+part, " crawl ")
			if sub := strings.Index(part, "<(crawl "); sub >= 0 { // its output is a file
				at, part = sub+2, strings.TrimSuffix(part, ")")
			}
			if at < 0 {
				continue
			}
			part, _, _ = strings.Cut(strings.Replace(part[at:], ">>", ">", 1), " > ")
			calls = append(calls, shellWords(part)[1:])
		}
	}
	return calls
}

// shellWords splits a line at its blanks, except those between quotation marks.
func shellWords(line string) (words []string) {
	for _, w := range regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`).FindAllString(line, -1) {
		words = append(words, regexp.MustCompile(`["']`).ReplaceAllString(w, ""))
	}
	return words
}

// On a narrow terminal prose is wrapped, and no line twice.
func TestHelpFollowsTheWidthOfATerminal(t *testing.T) {
	cmd, _, err := (&program{}).root().Find([]string{"verify"})
	if err != nil {
		t.Fatal(err)
	}
	words := func(width int) string { return strings.Join(strings.Fields(help(cmd, width)), " ") }
	if words(40) != words(100) {
		t.Error("the help says something else at 40 columns")
	}
	prose := false
	for line := range strings.Lines(help(cmd, 50)) {
		prose = prose || strings.HasPrefix(line, "verify reads")
		if n := utf8.RuneCountInString(line) - 1; prose && n > 50 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !prose {
		t.Error("verify --help has no prose")
	}
}

// A flag error of an unknown kind is passed on.
func TestOtherFlagErrorsArePassedOn(t *testing.T) {
	if got := flagError(&cobra.Command{Use: "crawl"}, errors.New("odd")).Error(); got != "odd: crawl --help lists the flags" {
		t.Error(got)
	}
}

// A command that reads files says how to make one crawl of several nodes, and names a command that
// exists.
func TestCommandsWithoutTheStateNameCollect(t *testing.T) {
	for _, name := range afterCollect {
		cmd, _, err := (&program{}).root().Find([]string{name})
		if err != nil || cmd.Name() != name {
			t.Fatalf("%s: %v, %v", name, cmd, err)
		}
		if err := cmd.ParseFlags([]string{"--state", "postgres://crawler@db/news"}); err == nil || !strings.Contains(flagError(cmd, err).Error(), "crawl collect --state URL") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
