// Command compare runs the examples, and the same programs for colly and Scrapy, against
// one site that judges them, and prints the results as a table. compare.sh calls it.
//
//	compare BINARIES SOURCES DIR [PROGRAM]...
//
// Without the names of programs it runs all.
//
// It needs root, on Linux: each program has a network of its own.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A contest is one program, written for each of the tools. Its runs are compared with each other,
// those of a task with a known result.
type contest struct {
	name  string
	ours  string   // where its source is, below the repository
	args  []string // of ours; colly's takes those that are words
	words string
}

var contests = []contest{
	{name: "titles", ours: "examples/titles", args: []string{"http://shop.test/"}},
	{name: "catalogue", ours: "examples/catalogue", args: []string{"books", "http://shop.test/"}},
	{name: "linkcheck", ours: "examples/linkcheck", args: []string{"http://shop.test/"}},
	{name: "focused", ours: "examples/focused", args: []string{"http://shop.test/", "walnut", "oil"}, words: "walnut oil"},
	{name: "sitemap", ours: "examples/sitemap", args: []string{"http://shop.test/"}},
	{name: "canonical", ours: "examples/canonical", args: []string{"http://shop.test/"}},
	{name: "lines", ours: ".ci/compare/permesso/lines"},
	{name: "pause"}, // ours is titles
}

const python = "/usr/bin/python3"

// An entry is one program of one tool.
type entry struct {
	contest, tool string
	task          *task // nil: not a task
	source        string
	program       []string
	runs          []run // undisturbed, and killed
	err           error
}

func main() {
	if len(os.Args) > 4 && os.Args[1] == "case" {
		if err := all(os.Args[2], os.Args[3], os.Args[4:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	if len(os.Args) < 4 {
		log.Fatal("usage: compare BINARIES SOURCES DIR [PROGRAM]...")
	}
	binaries, sources, dir := os.Args[1], os.Args[2], os.Args[3]
	list := entries(binaries, sources, os.Args[4:])
	// Programs that keep pauses mostly wait, and need no processor of their own.
	at := map[bool]chan struct{}{true: make(chan struct{}, len(list)), false: make(chan struct{}, 2)}
	var wait sync.WaitGroup
	for _, patient := range []bool{false, true} {
		for _, e := range list {
			if patient != (e.tool == "permesso" || e.contest == "pause") {
				continue
			}
			// It ends with its program.
			wait.Go(func() {
				at[patient] <- struct{}{}
				e.err = e.run(filepath.Join(dir, e.contest+"-"+e.tool))
				<-at[patient]
			})
		}
		wait.Wait()
	}
	if err := tables(os.Stdout, list); err != nil {
		log.Fatal(err)
	}
}

// entries returns the programs with the given names, or all.
func entries(binaries, sources string, names []string) (list []*entry) {
	list = append(contestEntries(binaries, sources), taskEntries(binaries, sources)...)
	if len(names) > 0 {
		list = slices.DeleteFunc(list, func(e *entry) bool { return !slices.Contains(names, e.contest) })
	}
	return list
}

func taskEntries(binaries, sources string) (list []*entry) {
	compare := filepath.Join(sources, ".ci", "compare")
	for i, t := range tasks {
		spider := filepath.Join(compare, "scrapy", t.name+".py")
		scrapy := append([]string{python, "-m", "scrapy", "runspider", spider}, t.scrapy...)
		switch {
		case t.alone, t.drive != nil: // programs without the command of Scrapy
			scrapy = []string{python, spider}
		case !t.fresh:
			scrapy = append(scrapy, "-s", "JOBDIR=job")
		}
		for _, e := range []entry{
			{tool: "permesso", source: filepath.Join(sources, t.ours, "main.go"), program: append([]string{filepath.Join(binaries, "permesso-"+t.name)}, t.args...)},
			{tool: "colly", source: filepath.Join(compare, "colly", t.name, "main.go"), program: []string{filepath.Join(binaries, "colly-"+t.name)}},
			{tool: "Scrapy", source: spider, program: scrapy},
		} {
			e.contest, e.task = t.name, &tasks[i]
			list = append(list, &e)
		}
	}
	return list
}

func contestEntries(binaries, sources string) (list []*entry) {
	compare := filepath.Join(sources, ".ci", "compare")
	for _, c := range contests {
		if c.ours != "" {
			list = append(list, &entry{
				contest: c.name, tool: "permesso", source: filepath.Join(sources, c.ours, "main.go"),
				program: append([]string{filepath.Join(binaries, "permesso-"+c.name)}, c.args...),
			})
		}
		list = append(list, &entry{
			contest: c.name, tool: "colly", source: filepath.Join(compare, "colly", c.name, "main.go"),
			program: append([]string{filepath.Join(binaries, "colly-"+c.name)}, strings.Fields(c.words)...),
		})
		spider := filepath.Join(compare, "scrapy", c.name+".py")
		scrapy := []string{python, "-m", "scrapy", "runspider", spider, "-s", "JOBDIR=job"}
		if c.name != "catalogue" && c.name != "lines" { // these name their outputs themselves
			scrapy = append(scrapy, "-o", "items.jsonl:jsonlines")
		}
		if c.words != "" {
			scrapy = append(scrapy, "-a", "words="+c.words)
		}
		list = append(list, &entry{contest: c.name, tool: "Scrapy", source: spider, program: scrapy})
	}
	return list
}

// run starts this program again in namespaces of its own, to run it.
func (e *entry) run(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{"case", e.contest, dir}, e.program...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s for %s: %w\n%s", e.contest, e.tool, err, said.Bytes())
	}
	return json.Unmarshal(out, &e.runs)
}
