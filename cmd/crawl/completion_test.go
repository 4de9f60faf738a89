package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completed returns what a shell gets as completions of args, without descriptions. last is
// the directive for what follows.
func completed(t *testing.T, args ...string) (words []string, last string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := run(append([]string{cobra.ShellCompRequestCmd}, args...), nil, &out, &err); code != exit.Done {
		t.Fatalf("%q: exit %d: %s", args, code, &err)
	}
	for line := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		words = append(words, word)
	}
	end := len(words) - 1
	return words[:end], words[end]
}

const (
	nothingElse = ":4"
	someFile    = ":0"
	goesOn      = ":6" // without a blank after it
	someDir     = ":16"
)

// A shell completes existing values, and offers no file if none is meant.
func TestWhatAShellCompletes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"news.crawl/state.db", "name/old.crawl/state.db", ".hidden/state.db", "nothing.crawl/x", "notes.txt", "bad\x1b.crawl/state.db"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slash := string(filepath.Separator)
	for _, c := range []struct {
		args []string
		want []string
		last string
	}{
		{[]string{"ver"}, []string{"verify", "version"}, nothingElse},
		{[]string{"robots", "t"}, []string{"test"}, nothingElse},
		{[]string{"help", "robots", ""}, []string{"lint", "show", "test"}, nothingElse},
		{[]string{"run", "--dry"}, []string{"--dry-run"}, nothingElse},
		{[]string{"run", "--scope", ""}, []string{"list", "prefix", "host", "domain", "any"}, nothingElse},
		{[]string{"run", "--scope=p"}, []string{"prefix"}, nothingElse},
		{[]string{"run", "--output", "warc,"}, []string{"warc,jsonl", "warc,bodies", "warc,links", "warc,text", "warc,markdown", "warc,none"}, nothingElse},
		{[]string{"run", "--lift", ""}, nil, nothingElse},
		{[]string{"run", "--log-level", "w"}, []string{"warn"}, nothingElse},
		{[]string{"run", "--dir", "new"}, []string{"news.crawl"}, nothingElse},
		{[]string{"run", "--exclude-from", ""}, nil, someFile},
		{[]string{"run", ""}, nil, someFile},
		{[]string{"check", ""}, nil, someFile},
		{[]string{"init", ""}, nil, someFile},
		{[]string{"init", "--template", ""}, jobTemplates, nothingElse},
		{[]string{"list", "--fate", "refused,fa"}, []string{"refused,failed"}, nothingElse},
		{[]string{"diff", "--list", "gone,mov"}, []string{"gone,moved"}, nothingElse},
		{[]string{"diff", "news.crawl", "ne"}, []string{"news.crawl"}, nothingElse},
		{[]string{"diff", "news.crawl", "news.crawl", ""}, nil, nothingElse},
		{[]string{"list", ""}, []string{"news.crawl"}, nothingElse},
		{[]string{"list", "news.crawl", ""}, nil, nothingElse},
		{[]string{"list", "na"}, []string{"name" + slash}, goesOn},
		{[]string{"list", "name" + slash}, []string{"name" + slash + "old.crawl"}, nothingElse},
		{[]string{"list", "none" + slash}, nil, nothingElse},
		{[]string{"list", ".h"}, []string{".hidden"}, nothingElse},
		{[]string{"audit", "ne"}, []string{"news.crawl"}, nothingElse},
		{[]string{"audit", "--access-log", ""}, nil, someFile},
		{[]string{"robots", "show", "ne"}, []string{"news.crawl"}, nothingElse},
		{[]string{"robots", "lint", ""}, nil, someFile},
		{[]string{"robots", "test", "--dialect", "k"}, []string{"koster1996"}, nothingElse},
		{[]string{"explain", ""}, []string{"news.crawl"}, nothingElse},
		{[]string{"export", "--format", "c"}, []string{"cdxj", "csv"}, nothingElse},
		{[]string{"verify", "--temp", ""}, nil, someDir},
		{[]string{"completion", "z"}, []string{"zsh"}, nothingElse},
		{[]string{"completion", "zsh", ""}, nil, nothingElse},
		{[]string{"man", ""}, nil, someDir},
		{[]string{"schedule", "list", ""}, nil, someDir},
		{[]string{"schedule", "install", "--at-once", ""}, nil, nothingElse},
	} {
		if words, last := completed(t, c.args...); !slices.Equal(words, c.want) || last != c.last {
			t.Errorf("%q goes on with %q %s, want %q %s", c.args, words, last, c.want, c.last)
		}
	}
}

// Each flag and command is completed by what it says about itself.
func TestEachFlagAndCommandIsCompleted(t *testing.T) {
	root := (&program{}).root()
	setCompletion(root)
	for _, cmd := range everyCommand(root) {
		if !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil {
			t.Errorf("nothing completes the arguments of %s", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal != "" || f.Name == "help" {
				return
			}
			_, has := cmd.GetFlagCompletionFunc(f.Name)
			if left, _ := settings.FlagWords(f); !has && !strings.Contains(left, "FILE") {
				t.Errorf("%s --%s is completed by names of files: %s", cmd.CommandPath(), f.Name, left)
			}
		})
	}
	another := &cobra.Command{Use: "another [flags] DIR"}
	var of string
	settings.Choose(another.Flags(), &of, "of", "", "", "this", "that")
	setCompletion(another)
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("a.crawl", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("a.crawl", "state.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := another.ValidArgsFunction(another, nil, ""); !slices.Equal(got, []string{"a.crawl"}) {
		t.Errorf("DIR: %q", got)
	}
	f, _ := another.GetFlagCompletionFunc("of")
	if got, _ := f(another, nil, "thi"); !slices.Equal(got, []string{"this"}) {
		t.Errorf("--of: %q", got)
	}
}

// The installed shells accept their scripts.
func TestShellsReadTheirScripts(t *testing.T) {
	for _, shell := range shells {
		var out, said bytes.Buffer
		if code := run([]string{"completion", shell}, nil, &out, &said); code != exit.Done || !strings.Contains(out.String(), "__complete") {
			t.Errorf("%s: exit %d: %s", shell, code, &said)
		}
		path, err := exec.LookPath(shell)
		if err != nil || shell == "powershell" {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = &out
		if text, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, text)
		}
	}
	var said bytes.Buffer
	if code := run([]string{"completion", "bsah"}, nil, &said, &said); code != exit.Usage || !strings.Contains(said.String(), "did you mean bash?") {
		t.Errorf("exit %d: %s", code, &said)
	}
}

// An error suggests the nearest choice, for flags, job files and arguments.
func TestNearlyAChoice(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("job.yaml", []byte("seeds: [http://a.test/]\nscope: hots\noutput: [wacr]\nsitemaps: nothing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, want string }{
		{"run --scope hots http://a.test/", "--scope: \"hots\" is not one of list, prefix, host, domain, any: did you mean host?\n"},
		{"run --user-agent x http://a.test/", "unknown flag --user-agent: did you mean --name? crawl run --help lists the flags\n"},
		{"limit --max-pages 9 a.crawl", "did you mean --limit? "},
		{"run --ignore-robots http://a.test/", "unknown flag --ignore-robots: robots.txt is always obeyed; crawl run --help lists the flags\n"},
		{"run --output warc,jsnl http://a.test/", "did you mean jsonl?\n"},
		{"run --same idnex http://a.test/", "did you mean index?\n"},
		{"run --progress plian http://a.test/", "did you mean plain?\n"},
		{"run --forms=yse http://a.test/", "did you mean yes?\n"},
		{"run --name a --contact a@example.org --log-level wran http://a.test/", "did you mean warn?\n"},
		{"run --scope planet http://a.test/", "is not one of list, prefix, host, domain, any\n"},
		{"run --job job.yaml", "job.yaml:2:8: scope: \"hots\" is not one of list, prefix, host, domain, any: did you mean host?\n"},
		{"run --job job.yaml", "job.yaml:3:10: output: \"wacr\" is not one of warc, jsonl, bodies, links, text, markdown, none: did you mean warc?\n"},
		{"run --job job.yaml", "sitemaps: \"nothing\" is not one of also, only, none\n"},
		{"list --fate fetchd a.crawl", "did you mean fetched?"},
		{"export --format paruqet a.crawl", "--format: \"paruqet\" is not one of cdxj, wacz, jsonl, csv, parquet, text, markdown, wet: did you mean parquet?\n"},
		{"init --template sitmap", "--template: \"sitmap\" is not one of site, list, archive, sitemap: did you mean sitemap?\n"},
		{"robots lint --dialect gogle robots.txt", "did you mean google?\n"},
		{"help vrify", "unknown command \"vrify\": did you mean verify?"},
		{"help robots lnit", "unknown command \"lnit\": did you mean lint?"},
	} {
		var said bytes.Buffer
		if code := run(strings.Fields(c.line), nil, &said, &said); code != exit.Usage || !strings.Contains(said.String(), c.want) {
			t.Errorf("crawl %s: exit %d: %s, want %q in it", c.line, code, &said, c.want)
		}
	}
}
