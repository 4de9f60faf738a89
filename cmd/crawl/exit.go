package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/storage"
)

// The exit codes.
const (
	exitDone     = 0 // nothing is left; or a limit is reached; or what is left cannot be fetched, and is listed
	exitFatal    = 1
	exitUsage    = 2   // a flag, an argument, the identity, a seed file
	exitCheck    = 3   // done, but a check failed
	exitNothing  = 4   // nothing could be fetched
	exitDiskFull = 5   // or another limit of the machine
	exitState    = 6   // the crawl's directory is damaged
	exitInUse    = 7   // another process holds the crawl
	exitLayout   = 8   // this version does not read the layout of the crawl
	exitLater    = 10  // stopped early, or something waits for a clock: the same command continues it
	exitForced   = 130 // stopped at once; the same command continues it
)

// An exitMeaning says what an exit code means, and what to do then.
type exitMeaning struct {
	code        int
	means, then string
}

var exitCodes = []exitMeaning{
	{exitDone, "done: nothing is left; or a limit is reached; or only unreachable, excluded or over-budget sites remain, which are listed; or a snapshot of a series is over",
		"Nothing. The same command fetches what is new in its seeds; the budgets and limits of a crawl count for all of its runs together."},
	{exitFatal, "fatal",
		"Read the message: it names what failed, such as a file that cannot be written."},
	{exitUsage, "usage: a flag, an argument, the identity, a seed file",
		"Correct the command, or the file that the message names with line and column. No site was contacted."},
	{exitCheck, "done, but a check failed",
		"Read what is listed: a violation (`audit`), a URL that is forbidden (`robots test`, `check`), what had to be left out (`export`, `index`), a body that was cut (`explain --body`), a file that has changed since it was written (`provenance --verify`), an earlier crawl that is missing (`verify`)."},
	{exitNothing, "nothing could be fetched",
		"Read the summary: it gives the reason for each site. Nothing is lost: the same command tries again, with `--series` in the next snapshot."},
	{exitDiskFull, "disk full, or another limit of the machine",
		"Make room, or raise the limit that the message names. The same command continues the crawl."},
	{exitState, "the crawl is damaged, or a purge or repair of it was not finished",
		"The message says which command finishes a purge or a repair. `crawl verify DIR` names what is damaged, and `crawl repair DIR` repairs what can be repaired. Or restore the whole directory from a copy, or begin again with `--fresh`, which moves it aside."},
	{exitInUse, "the crawl is in use by another process",
		"Nothing: the other process works on it. For a timer this is a success."},
	{exitLayout, "the crawl was written by a version whose layout this one does not read; nothing is damaged",
		"Continue it, and export it, with the version that wrote it; or begin again with `--fresh`, which moves it aside. docs/reference/outputs.md says what a version promises."},
	{exitLater, "stopped early (also by --max-time), or nothing that is left, or to be fetched again, is due within the patience: the same command continues the crawl",
		"Run the same command, now or when a timer next fires."},
	{exitForced, "stopped at once: the same command continues the crawl",
		"Run the same command. What was acknowledged is safe."},
}

// exitHelp returns the list of exit codes for the help.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:")
	for _, e := range exitCodes {
		b.WriteString("\n" + strings.TrimSuffix(wrapped(fmt.Sprintf("%5d  %s", e.code, e.means), 7, 80), "\n"))
	}
	return b.String()
}

// An exit is an error that names its exit code. The message may be empty.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// mend returns how a user of the command can fix an error of the library, which does not
// know the flags. The flags that it names are of crawl run.
func mend(err error, crawls bool) string {
	var identity *crawler.IdentityError
	var inUse *storage.InUseError
	var damaged *storage.DamagedError
	var version *storage.VersionError
	var purge *storage.PurgeError
	var repair *storage.RepairError
	var runs *runsError
	var notBegun *storage.NotBegunError
	fresh := "--fresh"
	if !crawls {
		fresh = "crawl run --fresh"
	}
	switch {
	case errors.As(err, &purge):
		return ": crawl optout purge " + purge.Dir + " finishes it"
	case errors.As(err, &notBegun):
		return "; the command that made it begins it"
	case errors.As(err, &repair):
		return ": crawl repair " + repair.Dir + " finishes it"
	case errors.As(err, &runs):
		return ": wait until it ends; meanwhile crawl status " + runs.dir + " says how far it is, and crawl report " + runs.dir + " what it has done"
	case errors.As(err, &inUse) && crawls:
		return ": wait until it ends, or take another --dir"
	case errors.As(err, &inUse):
		return ": wait until it ends"
	case errors.As(err, &damaged):
		return ": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with " + fresh
	case errors.As(err, &version), errors.As(err, &identity):
		return ", or start again with " + fresh
	}
	return ""
}

func withMend(err error, crawls bool) string { return err.Error() + mend(err, crawls) }

// mendLimit returns how to fix an error of exitDiskFull, and what became of the work done.
func mendLimit(err error, crawls bool) string {
	more := "make room"
	switch {
	case fetch.TooManyOpen(err):
		more = "let processes open more files (ulimit -n)"
		if crawls {
			more += ", or lower --concurrency"
		}
	case errors.Is(err, syscall.EFBIG), strings.Contains(err.Error(), "file too large"):
		more = "let files be larger (ulimit -f)"
	}
	if crawls {
		return "what was acknowledged is safe: " + more + ", and the same command goes on"
	}
	return "nothing of the crawl was changed: " + more + ", and give the command again"
}

// permits returns the flag that permits a site that is not public, if detail says so.
func permits(detail string) string {
	if strings.Contains(detail, "no public address") || strings.Contains(detail, "not a public address") {
		return "; --allow-private permits it"
	}
	return ""
}

func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

func exitCode(err error) int {
	var named *exit
	var option *crawler.OptionError
	var identity *crawler.IdentityError
	var inUse *storage.InUseError
	var damaged *storage.DamagedError
	var version *storage.VersionError
	var purge *storage.PurgeError
	var repair *storage.RepairError
	var place *series.DirError
	var name *series.NameError
	var making *series.InUseError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &named):
		return named.code
	case errors.As(err, &option), errors.As(err, &identity), errors.As(err, &place), errors.As(err, &name), errors.Is(err, storage.ErrNoCrawl):
		return exitUsage
	case errors.As(err, &inUse), errors.As(err, &making):
		return exitInUse
	case errors.As(err, &version):
		return exitLayout
	case errors.As(err, &damaged), errors.As(err, &purge), errors.As(err, &repair):
		return exitState
	case storage.DiskFull(err), fetch.TooManyOpen(err):
		return exitDiskFull
	}
	return exitFatal
}

// exitOf returns the error of the command for a run that has ended by itself or was
// stopped.
func exitOf(s crawler.Summary) error {
	switch s.End {
	case crawler.EndBroken:
		return &exit{exitForced, nil}
	case crawler.EndStopped, crawler.EndTime, crawler.EndPatience:
		return &exit{exitLater, nil}
	}
	if nothingFetched(s) {
		return errNothing
	}
	return nil
}

// errNothing is the error of a run if its crawl has no answer of any site.
var errNothing = &exit{exitNothing, errors.New("nothing could be fetched: the summary says why")}
