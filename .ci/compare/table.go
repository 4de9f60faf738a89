package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tables writes a row for each program of each tool, the tasks in a table of their own.
func tables(w io.Writer, list []*entry) error {
	var contests, tasks []*entry
	for _, e := range list {
		switch {
		case e.err != nil:
			return e.err
		case e.task == nil:
			contests = append(contests, e)
		default:
			tasks = append(tasks, e)
		}
	}
	if err := table(w, contests); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return taskTable(w, tasks)
}

// taskTable writes a row for each task of each tool.
func taskTable(w io.Writer, list []*entry) error {
	fmt.Fprint(w, `| program | tool | lines | right | missing | wrong | twice | requests | 304 | took | disallowed | by redirect | too early | in Retry-After | killed: missing | wrong | twice | more requests | too soon |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`)
	for _, e := range list {
		lines, err := e.lines()
		if err != nil {
			return err
		}
		want := e.task.want()
		whole := e.runs[0]
		missing, wrong := whole.compare(want)
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d | %d | %d | %d | %v | %d | %d | %d | %d", e.contest, e.tool, lines, len(want)-missing, missing, wrong, whole.twice(),
			whole.Requests, whole.Unchanged, whole.Took.Round(time.Second), whole.Disallowed, whole.Redirected, whole.Early, whole.Closed)
		for _, killed := range e.runs[1:] {
			missing, wrong := killed.compare(want)
			fmt.Fprintf(w, " | %d | %d | %d | %d | %d", missing, wrong, killed.twice(), killed.Requests-whole.Requests, killed.Early+killed.Closed)
		}
		if len(e.runs) == 1 {
			fmt.Fprint(w, " | | | | |")
		}
		fmt.Fprintln(w, " |")
	}
	return nil
}

// compare counts the records that the run lacks, and those that it should not have.
func (r *run) compare(want []string) (missing, wrong int) {
	wrong = len(r.Items)
	for _, record := range want {
		if r.Items[record] > 0 {
			wrong--
		} else {
			missing++
		}
	}
	return missing, wrong
}

// table writes a row for each program that is not a task.
func table(w io.Writer, list []*entry) error {
	fmt.Fprint(w, `| program | tool | lines | items | requests | took | disallowed | by redirect | too early | in Retry-After | killed: lost | twice | more requests | too soon |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`)
	for _, e := range list {
		lines, err := e.lines()
		if err != nil {
			return err
		}
		whole := e.runs[0]
		var lost, twice, more, soon []string
		for _, killed := range e.runs[1:] {
			lost = append(lost, fmt.Sprint(killed.lost(whole)))
			twice = append(twice, fmt.Sprint(killed.twice()))
			more = append(more, fmt.Sprint(killed.Requests-whole.Requests))
			soon = append(soon, fmt.Sprint(killed.Early+killed.Closed))
		}
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %v | %d | %d | %d | %d", e.contest, e.tool, lines, len(whole.Items),
			whole.Requests, whole.Took.Round(time.Second), whole.Disallowed, whole.Redirected, whole.Early, whole.Closed)
		for _, cell := range [][]string{lost, twice, more, soon} {
			fmt.Fprintf(w, " | %s", strings.Join(cell, ", "))
		}
		fmt.Fprintln(w, " |")
	}
	return nil
}

// lost counts the items of an undisturbed run that this one lacks.
func (r *run) lost(whole run) (n int) {
	for item := range whole.Items {
		if r.Items[item] == 0 {
			n++
		}
	}
	return n
}

// twice counts the items that were reported more than once.
func (r *run) twice() (n int) {
	for _, times := range r.Items {
		n += times - 1
	}
	return n
}

// lines counts the lines of the program that are neither blank nor comments. A program in Go
// has all files of its directory, except tests.
func (e *entry) lines() (n int, err error) {
	files := []string{e.source}
	if strings.HasSuffix(e.source, ".go") {
		if files, err = filepath.Glob(filepath.Join(filepath.Dir(e.source), "*.go")); err != nil {
			return 0, err
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") {
				n++
			}
		}
	}
	return n, nil
}
