package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shells are the shells that crawl completion supports.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (p *program) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "let a shell complete commands, flags and directories",
		Long: `completion prints a script for a shell, which then completes commands, flags, what
flags may be, and the directories that are crawls. The script calls this program, so
it need not be made again after an update.`,
		Example: `bash, in ~/.bashrc (needs the package bash-completion):
  source <(crawl completion bash)

zsh, once, into a directory of $fpath:
  crawl completion zsh > "${fpath[1]}/_crawl"

fish, once:
  crawl completion fish > ~/.config/fish/completions/crawl.fish

PowerShell, in the profile:
  crawl completion powershell | Out-String | Invoke-Expression`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) (all []string, _ cobra.ShellCompDirective) {
			for _, s := range shells {
				if len(args) == 0 && strings.HasPrefix(s, begun) {
					all = append(all, s)
				}
			}
			return all, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("crawl completion takes one argument, the shell: %s", strings.Join(shells, ", "))
			}
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.out, true)
			case "zsh":
				return root.GenZshCompletion(p.out)
			case "fish":
				return root.GenFishCompletion(p.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.out)
			}
			return exit.Usagef("crawl completion: %q is not one of %s%s", args[0], strings.Join(shells, ", "), guess.Meant(args[0], shells))
		},
	}
}

var (
	wantsCrawl = regexp.MustCompile(`\bDIR\b`)
	wantsFile  = regexp.MustCompile(`\bFILE|\bJOB\b`)
	flagInUse  = regexp.MustCompile(`--[a-z-]+ [A-Za-z.]+`)
)

// setCompletion makes the shell complete the arguments and flags of cmd, and of all commands
// below it. The usage line says what the arguments are: DIR, for example, is the directory of a
// crawl. The type of a flag says what its value is.
func setCompletion(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		setCompletion(c)
	}
	if cmd.ValidArgsFunction == nil && !cmd.HasSubCommands() {
		cmd.ValidArgsFunction = completeArgs(cmd.Use)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if by := completeFlag(f); by != nil {
			// RegisterFlagCompletionFunc fails only if the flag does not exist, or already has
			// a completion function.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, by)
		}
	})
}

// completeArgs completes the first argument that a usage line names.
func completeArgs(use string) cobra.CompletionFunc {
	use = flagInUse.ReplaceAllString(use, "")
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		switch {
		case wantsFile.MatchString(use):
			return nil, cobra.ShellCompDirectiveDefault
		case wantsCrawl.MatchString(use) && (len(args) == 0 || strings.Contains(use, "DIR...") || strings.Contains(use, "DIR ...") || len(args) == 1 && strings.Contains(use, "DIR DIR")):
			return crawlsAt(begun)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag completes the value of a flag. It returns nil if the flag takes any value.
func completeFlag(f *pflag.Flag) cobra.CompletionFunc {
	known := settings.ChoicesOf(f)
	left, _ := settings.FlagWords(f)
	_, value, _ := strings.Cut(left, "--"+f.Name)
	switch {
	case known != nil && f.NoOptDefVal == "":
		return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return completeChoice(f, known, begun), cobra.ShellCompDirectiveNoFileComp
		}
	case f.Name == "dir":
		return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return crawlsAt(begun)
		}
	case strings.Contains(value, "DIRECTORY"):
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	case strings.Contains(value, "FILE"):
		return nil // the shell completes it
	}
	return cobra.NoFileCompletions
}

// completeChoice completes one of several values or, if the flag takes a list, the last
// item of the list.
func completeChoice(f *pflag.Flag, known []string, begun string) (all []string) {
	before := ""
	if at := strings.LastIndex(begun, ","); at >= 0 && isList(f) {
		before, begun = begun[:at+1], begun[at+1:]
	}
	for _, k := range known {
		if strings.HasPrefix(k, begun) && !slices.Contains(strings.Split(before, ","), k) {
			all = append(all, before+k)
		}
	}
	return all
}

// isList reports whether a flag takes several values, with commas between them.
func isList(f *pflag.Flag) bool {
	_, slice := f.Value.(pflag.SliceValue)
	s, ok := f.Value.(settings.Value)
	return slice || ok && !strings.Contains(s.Setting.Type(), "|") // a Type such as a|b means exactly one value
}

// crawlsAt completes the directory of a crawl. It offers other directories, too, but only
// so that the user can look into them.
func crawlsAt(begun string) ([]string, cobra.ShellCompDirective) {
	above, first := filepath.Split(begun)
	entries, err := os.ReadDir(filepath.Join(above, "."))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var crawls, others []string
	for _, e := range entries {
		name := above + e.Name()
		switch {
		case !strings.HasPrefix(name, begun) || say.OneLine(name) != name || strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(first, "."):
		case crawldir.Exists(filepath.Join(name, store.StateFile)):
			crawls = append(crawls, name)
		case e.IsDir():
			others = append(others, name+string(filepath.Separator))
		}
	}
	if len(crawls) > 0 {
		return crawls, cobra.ShellCompDirectiveNoFileComp
	}
	return others, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeCommands completes the names of commands.
func completeCommands(cmd *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	of := cmd.Root()
	for _, name := range args {
		for _, c := range of.Commands() {
			if c.Name() == name {
				of = c
			}
		}
	}
	for _, c := range listedCommands(of) {
		if strings.HasPrefix(c.Name(), begun) {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
