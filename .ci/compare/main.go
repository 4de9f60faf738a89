// Command compare runs the examples, and the same programs for colly and Scrapy, against
// one site that judges them, and prints the results as a table. compare.sh calls it.
//
//	compare BINARIES SOURCES DIR
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
	"strings"
	"sync"
	"syscall"
)

// A contest is one program, written for each of the tools.
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

// An entry is one program of one tool.
type entry struct {
	contest, tool string
	source        string
	program       []string
	runs          []run // undisturbed, and killed
	err           error
}

func main() {
	if len(os.Args) > 3 && os.Args[1] == "case" {
		if err := all(os.Args[2], os.Args[3:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	if len(os.Args) != 4 {
		log.Fatal("usage: compare BINARIES SOURCES DIR")
	}
	binaries, sources, dir := os.Args[1], os.Args[2], os.Args[3]
	list := entries(binaries, sources)
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
	if err := table(os.Stdout, list); err != nil {
		log.Fatal(err)
	}
}

func entries(binaries, sources string) (list []*entry) {
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
		scrapy := []string{"/usr/bin/python3", "-m", "scrapy", "runspider", spider, "-s", "JOBDIR=job"}
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
	cmd := exec.Command(self, append([]string{"case", dir}, e.program...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s for %s: %w\n%s", e.contest, e.tool, err, said.Bytes())
	}
	return json.Unmarshal(out, &e.runs)
}
