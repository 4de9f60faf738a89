package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// table writes a row for each program of each tool.
func table(w io.Writer, list []*entry) error {
	fmt.Fprint(w, `| program | tool | lines | items | requests | took | disallowed | by redirect | too early | in Retry-After | killed: lost | twice | more requests | too soon |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`)
	for _, e := range list {
		if e.err != nil {
			return e.err
		}
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

// lines counts the lines of the program that are neither blank nor comments.
func (e *entry) lines() (n int, err error) {
	raw, err := os.ReadFile(e.source)
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n, err
}
