package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each command has a page with all that its help has, and mandoc finds no fault in it.
func TestEachCommandHasAManualPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var out, said bytes.Buffer
	if code := run([]string{"man", dir}, nil, &out, &said); code != exit.Done || out.Len() > 0 {
		t.Fatalf("exit %d: %s", code, &said)
	}
	var pages []string
	everyHelp(t, func(cmd *cobra.Command, help string) {
		name := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		pages = append(pages, name)
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			return
		}
		page := strings.NewReplacer(`\-`, "-", `\e`, `\`, `\(ti`, "~", `\(ha`, "^", `\(ga`, "`", `\(dq`, `"`, `\&`, "").Replace(string(raw))
		for _, of := range []string{cmd.Short, cmd.Long, cmd.Example} {
			for line := range strings.Lines(of) {
				if !strings.Contains(page, strings.TrimRight(line, "\n")) {
					t.Errorf("%s does not say %q", name, line)
				}
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if left, text := settings.FlagWords(f); !f.Hidden && f.Name != "help" && !strings.Contains(page, ".TP\n.B \""+left+"\"\n"+text+"\n") {
				t.Errorf("%s does not list %s", name, left)
			}
		})
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(pages) {
		t.Errorf("%d files for %d commands: %v", len(files), len(pages), err)
	}
	readers := [][]string{{"man", "--warnings", "-E", "UTF-8", "-l"}, {"mandoc", "-Tlint", "-Wwarning"}, {"groff", "-man", "-ww", "-z", "-Tutf8", "-k"}}
	for _, reader := range readers {
		path, err := exec.LookPath(reader[0])
		if err != nil || runtime.GOOS != "linux" { // other systems have another man
			continue
		}
		for _, page := range pages {
			cmd := exec.Command(path, append(reader[1:], page)...)
			var faults, text bytes.Buffer
			cmd.Stdout, cmd.Stderr = &text, &faults
			if reader[0] == "mandoc" {
				cmd.Stdout = &faults
			}
			err := cmd.Run() // mandoc fails for a warning, too
			for fault := range strings.Lines(faults.String()) {
				if !strings.Contains(fault, "missing date") { // in a build without a commit
					t.Errorf("%q %s: %v: %s", reader, page, err, fault)
				}
			}
			if reader[0] != "mandoc" && err != nil {
				t.Errorf("%q %s: %v", reader, page, err)
			}
		}
	}
}

// Text that roff would read as a request, or leave out, is escaped.
func TestManualPagesHaveEachCharacter(t *testing.T) {
	r := &roff{}
	r.text(".br is a request\n'this, too\na\\b - c~^`\n")
	r.macro("B", `a "b" -c`)
	want := `\&.br is a request` + "\n" + `\&'this, too` + "\n" + `a\eb \- c\(ti\(ha\(ga` + "\n" + `.B "a \(dqb\(dq \-c"` + "\n"
	if r.b.String() != want {
		t.Errorf("%s\nwant\n%s", r.b.String(), want)
	}
	var out, said bytes.Buffer
	if code := run([]string{"man"}, nil, &out, &said); code != exit.Done || !strings.HasPrefix(out.String(), `.TH "CRAWL" "1" `) {
		t.Errorf("exit %d: %s%.100s", code, &said, &out)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"man", file}, nil, &out, &said); code != exit.Fatal || !strings.Contains(said.String(), file) {
		t.Errorf("exit %d: %s", code, &said)
	}
	if code := run([]string{"man", "a", "b"}, nil, &out, &said); code != exit.Usage {
		t.Errorf("two directories: exit %d", code)
	}
}

// The version is printed for people and for programs.
func TestTheVersionIsSaid(t *testing.T) {
	var out, said bytes.Buffer
	if code := run([]string{"version", "--json"}, nil, &out, &said); code != exit.Done {
		t.Fatalf("exit %d: %s", code, &said)
	}
	var b build
	in := json.NewDecoder(&out)
	in.DisallowUnknownFields()
	if err := in.Decode(&b); err != nil {
		t.Fatal(err)
	}
	if b.Version != crawler.Version || b.Go != runtime.Version() || b.OS != runtime.GOOS || b.Arch != runtime.GOARCH || b.Modules["go.etcd.io/bbolt"] == "" {
		t.Errorf("%+v", b)
	}
	out.Reset()
	if code := run([]string{"version"}, nil, &out, &said); code != exit.Done || out.String() != "crawl (permesso) "+crawler.Version+"\n" {
		t.Errorf("exit %d: %s", code, &out)
	}
}
