package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/storage"
)

// The help and docs/reference/exit-codes.md have the exit codes in the same words.
func TestExitCodesAreSaidInHelp(t *testing.T) {
	var help bytes.Buffer
	if code := run([]string{"--help"}, nil, &help, &help); code != exitDone {
		t.Fatalf("crawl --help exits with %d", code)
	}
	if !strings.Contains(help.String(), exitHelp()) {
		t.Error("crawl --help does not list the exit codes")
	}
}

// The page of the exit codes is made from the same table, which has each named code.
func TestExitCodesStandInTheDocuments(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Exit codes

Each command of ` + "`crawl`" + ` exits with one of these codes, if it ends by itself. The code
tells a script what to do next, so it need not parse the output.

| code | what it means | what to do then |
|---|---|---|
`)
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.code, e.means, e.then)
	}
	b.WriteString(`
For a timer 0, 7 and 10 are a success ([running](../guide/running.md)). ` + "`crawl check` and `crawl\nrobots test`" + ` say with 3 that a URL is not allowed, ` + "`crawl audit`" + ` that a rule was
broken, so that they can stand in a script of their own:

    crawl check job.yaml && crawl run --job job.yaml

This page is made from the table in cmd/crawl/exit.go.
`)
	same(t, "../../docs/reference/exit-codes.md", b.String())
	for _, code := range []int{exitDone, exitFatal, exitUsage, exitCheck, exitNothing, exitDiskFull, exitState, exitInUse, exitLater, exitForced} {
		if n := len(slices.DeleteFunc(slices.Clone(exitCodes), func(e exitMeaning) bool { return e.code != code || e.means == "" || e.then == "" })); n != 1 {
			t.Errorf("exit code %d is %d times in the table", code, n)
		}
	}
	if !slices.IsSortedFunc(exitCodes, func(a, b exitMeaning) int { return a.code - b.code }) {
		t.Error("the exit codes are not in order")
	}
}

func TestEachLimitNamesItsMend(t *testing.T) {
	for _, c := range []struct {
		err    error
		crawls bool
		want   []string
	}{
		{syscall.ENOSPC, true, []string{"make room", "the same command goes on"}},
		{fmt.Errorf("state.db: %w", syscall.EFBIG), true, []string{"ulimit -f"}},
		{syscall.EMFILE, true, []string{"ulimit -n", "--concurrency"}},
		{syscall.EMFILE, false, []string{"ulimit -n", "nothing of the crawl was changed"}},
		{syscall.ENOSPC, false, []string{"make room", "nothing of the crawl was changed"}},
	} {
		got := mendLimit(c.err, c.crawls)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q, want %q in it", c.err, got, want)
			}
		}
		if !c.crawls && strings.Contains(got, "goes on") {
			t.Errorf("%v: %q, but nothing goes on", c.err, got)
		}
	}
}

// Each way in which a crawl ends has its exit code, and its text in the summary.
func TestEachEndHasItsExitCode(t *testing.T) {
	fetched, before, none := crawler.Summary{}, crawler.Summary{}, crawler.Summary{}
	fetched.Fetched, before.Frontier.Spent.Pages = 1, 1
	for end, c := range map[crawler.End]struct {
		code, empty int // empty: if nothing could be fetched
		words       string
	}{
		crawler.EndDone:     {exitDone, exitNothing, "done: nothing is left"},
		crawler.EndUnasked:  {exitDone, exitNothing, "done; what is left belongs to sites that were given up, were excluded, or have spent their budget"},
		crawler.EndLimit:    {exitDone, exitNothing, "done: the limit is reached"},
		crawler.EndPatience: {exitLater, exitLater, "what is left is not due within the patience; the same command goes on"},
		crawler.EndTime:     {exitLater, exitLater, "stopped: the time is up; the same command goes on"},
		crawler.EndStopped:  {exitLater, exitLater, "stopped; the same command goes on"},
		crawler.EndBroken:   {exitForced, exitForced, "stopped at once; the same command goes on"},
	} {
		for _, s := range []struct {
			crawler.Summary
			code int
		}{{fetched, c.code}, {before, c.code}, {none, c.empty}} {
			s.End = end
			err := exitOf(s.Summary)
			words := c.words
			if s.Fetched == 0 && s.Frontier.Spent.Pages == 0 && (end == crawler.EndDone || end == crawler.EndUnasked) {
				words = "nothing could be fetched"
			}
			if exitCode(err) != s.code || ending(s.Summary) != words {
				t.Errorf("%s, %d fetched: exit %d, want %d: %q", end, s.Fetched, exitCode(err), s.code, ending(s.Summary))
			}
			// The summary has everything, except why nothing could be fetched.
			if err != nil && (err.Error() != "") != (s.code == exitNothing) {
				t.Errorf("%s: says %q", end, err)
			}
		}
	}
}

// Each kind of error has its exit code and its advice, however it is wrapped.
func TestEachErrorHasItsExitCode(t *testing.T) {
	for _, c := range []struct {
		err         error
		code        int
		mend, other string // advice of crawl run, and of other commands
	}{
		{nil, exitDone, "", ""},
		{errors.New("odd"), exitFatal, "", ""},
		{usage("odd"), exitUsage, "", ""},
		{&exit{exitCheck, nil}, exitCheck, "", ""},
		{&crawler.OptionError{Field: "Delay", Reason: "odd"}, exitUsage, "", ""},
		{&crawler.IdentityError{Dir: "a.crawl"}, exitUsage, ", or start again with --fresh", ", or start again with crawl run --fresh"},
		{&storage.InUseError{Dir: "a.crawl"}, exitInUse, ": wait until it ends, or take another --dir", ": wait until it ends"},
		{&storage.DamagedError{Path: "state.db", Err: errors.New("odd")}, exitState,
			": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with --fresh", ": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with crawl run --fresh"},
		{&storage.VersionError{Path: "state.db", Have: 2, Can: 1}, exitLayout, ", or start again with --fresh", ", or start again with crawl run --fresh"},
		{syscall.ENOSPC, exitDiskFull, "", ""}, {syscall.EDQUOT, exitDiskFull, "", ""}, {syscall.EFBIG, exitDiskFull, "", ""}, {syscall.EMFILE, exitDiskFull, "", ""},
		// The error of a damaged file may look like a full disk: it is damage all the same.
		{&storage.DamagedError{Path: "state.db", Err: syscall.EFBIG}, exitState,
			": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with --fresh", ": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with crawl run --fresh"},
	} {
		for _, err := range []error{c.err, fmt.Errorf("while it ran: %w", c.err), errors.Join(errors.New("first"), c.err)} {
			if c.err == nil {
				err = nil
			}
			if got := exitCode(err); got != c.code {
				t.Errorf("%v: exit code %d, want %d", err, got, c.code)
			}
			if run, other := mend(err, true), mend(err, false); run != c.mend || other != c.other {
				t.Errorf("%v: mends %q and %q, want %q and %q", err, run, other, c.mend, c.other)
			}
		}
	}
}
