package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/permesso-crawler/permesso/storage"
	"github.com/spf13/cobra"
)

// maxProblems is how many problems are listed; all are counted.
const maxProblems = 100

func (p *program) verifyCommand() *cobra.Command {
	var asJSON, here bool
	cmd := &cobra.Command{
		Use:   "verify [flags] DIR",
		Short: "check a crawl's state and outputs for damage",
		Long: `verify reads everything that a crawl consists of and changes nothing: the
checksum of each record, the queue and what ended against what was seen, the
stored robots.txt files, pages.jsonl, links.jsonl, crawl.log, and each record of
the WARC files with its digests. It exits with 6 where
something is not as it was written. No crawl may run in the directory.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("crawl verify takes one argument, the directory of a crawl")
			}
			if here {
				return p.verify(args[0], asJSON)
			}
			return p.verifyApart(args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	cmd.Flags().BoolVar(&here, "in-process", false, "do not start a child process")
	if err := cmd.Flags().MarkHidden("in-process"); err != nil {
		panic(err)
	}
	return cmd
}

// verifyApart verifies in a child process: some damage makes bbolt end the
// process that opens the file.
func (p *program) verifyApart(dir string, asJSON bool) error {
	self, err := exec.LookPath(os.Args[0])
	if err != nil {
		if self, err = os.Executable(); err != nil {
			return err
		}
	}
	args := []string{"verify", "--in-process", dir}
	if asJSON {
		args = append(args, "--json")
	}
	child := exec.Command(self, args...)
	var said limited
	child.Stdout, child.Stderr = p.out, &said
	err = child.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &ended):
		return err
	case slices.Contains([]int{exitFatal, exitUsage, exitState, exitInUse}, ended.ExitCode()):
		if _, err := p.err.Write(said.b); err != nil {
			return err
		}
		return &exit{ended.ExitCode(), nil}
	}
	return &storage.DamagedError{Path: dir, Err: fmt.Errorf("the state file cannot be read at all (%w)", err)}
}

// limited keeps the beginning of what is written to it.
type limited struct{ b []byte }

func (l *limited) Write(p []byte) (int, error) {
	l.b = append(l.b, p[:min(len(p), 64<<10-len(l.b))]...)
	return len(p), nil
}

func (p *program) verify(dir string, asJSON bool) error {
	var problems []string
	v, err := storage.Verify(dir, func(problem error) {
		if len(problems) < maxProblems {
			problems = append(problems, problem.Error())
		}
	})
	if err != nil {
		return err
	}
	if asJSON {
		raw, err := json.Marshal(struct {
			Dir       string   `json:"dir"`
			Sites     int      `json:"sites"`
			Entries   int      `json:"entries"`
			Snapshots int      `json:"snapshots"`
			Pages     int      `json:"pages"`
			LogLines  int      `json:"log_lines"`
			Records   int      `json:"warc_records"`
			Problems  int      `json:"problems"`
			List      []string `json:"list"`
		}{dir, v.Sites, v.Entries, v.Snapshots, v.Pages, v.LogLines, v.Records, v.Problems, append([]string{}, problems...)})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(p.out, "%s\n", raw); err != nil {
			return err
		}
	} else {
		for _, text := range problems {
			fmt.Fprintln(p.out, text)
		}
		said := "all as it was written"
		if v.Problems > 0 {
			said = plural(v.Problems, "problem")
		}
		fmt.Fprintf(p.out, "%s: %s in %s, %s of robots.txt, %s, %s of crawl.log, %s in WARC files: %s\n", dir,
			plural(v.Entries, "URL"), plural(v.Sites, "site"), copies(v.Snapshots), plural(v.Pages, "page"),
			plural(v.LogLines, "line"), plural(v.Records, "record"), said)
	}
	if v.Problems > 0 {
		return &exit{exitState, errors.New("the crawl is damaged: restore it from a copy, or start again with --fresh")}
	}
	return nil
}

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}
