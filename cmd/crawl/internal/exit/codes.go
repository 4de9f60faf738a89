// Package exit has the exit codes of the command, and the errors that carry an exit code.
// A command returns an error. Code returns the exit code for that error, and Mend returns
// what the user can do about it.
package exit

import (
	"fmt"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
)

// The exit codes.
const (
	Done     = 0 // nothing is left to fetch; or a limit is reached; or what is left cannot be fetched, and is listed
	Fatal    = 1
	Usage    = 2   // a mistake in a flag, an argument, the identity of the crawler, or a seed file
	Check    = 3   // done, but a check failed
	Nothing  = 4   // nothing could be fetched
	DiskFull = 5   // the disk is full, or another limit of the machine is reached
	State    = 6   // the crawl's directory is damaged, or newer than the database of its node
	InUse    = 7   // another process holds the crawl
	Layout   = 8   // this version does not read the layout of the crawl
	Later    = 10  // stopped early, or a site must not be asked yet: the same command continues the crawl
	Forced   = 130 // stopped at once by a second interrupt; the same command continues the crawl
)

// A Meaning says what an exit code means, and what the user can do then.
type Meaning struct {
	Code        int
	Means, Then string
}

var Codes = []Meaning{
	{Done, "done: nothing is left; or a limit is reached; or only unreachable, excluded or over-budget sites remain, which are listed; or a snapshot of a series is over",
		"Nothing. The same command fetches what is new in its seeds; the budgets and limits of a crawl count for all of its runs together."},
	{Fatal, "fatal",
		"Read the message: it names what failed, such as a file that cannot be written."},
	{Usage, "usage: a flag, an argument, the identity, a seed file",
		"Correct the command, or the file that the message names with line and column. No site was contacted."},
	{Check, "done, but a check failed",
		"Read what is listed: a violation (`audit`), a URL that is forbidden (`robots test`, `check`), what had to be left out (`export`, `index`), a body that was cut (`explain --body`), a file that has changed since it was written (`provenance --verify`), an earlier crawl that is missing (`verify`), what sites cannot see of this crawler (`identity verify`)."},
	{Nothing, "nothing could be fetched",
		"Read the summary: it gives the reason for each site. Nothing is lost: the same command tries again, with `--series` in the next snapshot."},
	{DiskFull, "disk full, or another limit of the machine",
		"Make room, or raise the limit that the message names. The same command continues the crawl."},
	{State, "the crawl is damaged, or a purge or repair of it was not finished",
		"The message says which command finishes a purge or a repair. `crawl verify DIR` names what is damaged, and `crawl repair DIR` repairs what can be repaired; `crawl repair --rewind DIR` is for a node whose database is older than its files. Or restore the whole directory from a copy, or begin again with `--fresh`, which moves it aside."},
	{InUse, "the crawl is in use by another process",
		"Nothing: the other process works on it. For a timer this is a success."},
	{Layout, "the crawl was written by a version whose layout this one does not read; nothing is damaged",
		"Continue it, and export it, with the version that wrote it; or begin again with `--fresh`, which moves it aside. docs/reference/outputs.md says what a version promises."},
	{Later, "stopped early (also by --max-time), or nothing that is left, or to be fetched again, is due within the patience: the same command continues the crawl",
		"Run the same command, now or when a timer next fires."},
	{Forced, "stopped at once: the same command continues the crawl",
		"Run the same command. What was acknowledged is safe."},
}

// Help returns the list of exit codes for the help.
func Help() string {
	var b strings.Builder
	b.WriteString("Exit codes:")
	for _, e := range Codes {
		b.WriteString("\n" + strings.TrimSuffix(say.Wrapped(fmt.Sprintf("%5d  %s", e.Code, e.Means), 7, 80), "\n"))
	}
	return b.String()
}
