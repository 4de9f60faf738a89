package exit

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// An Error is an error that names its exit code. The message may be empty.
type Error struct {
	code int
	err  error
}

func (e *Error) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *Error) Unwrap() error { return e.err }

// Mend returns how a user of the command can fix an error of the library. The library does not
// say this, because it does not know the flags. The flags that Mend names are those of crawl
// run. crawls says whether the user has called crawl run.
func Mend(err error, crawls bool) string {
	var identity *crawler.IdentityError
	var inUse *store.InUseError
	var damaged *store.DamagedError
	var version *store.VersionError
	var purge *store.PurgeError
	var repair *store.RepairError
	var runs *runsError
	var notBegun *store.NotBegunError
	var behind behind
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
	case errors.As(err, &behind):
		dir := behind.Behind()
		return ". If it is the right database, crawl repair --rewind " + dir + " lets the node go on: what the database lacks is fetched again, and what the node has of it is kept in " + dir + "/forgotten-*"
	case errors.As(err, &damaged):
		return ": restore the whole directory from a copy, repair what can be repaired with crawl repair, or start again with " + fresh
	case errors.As(err, &version), errors.As(err, &identity):
		return ", or start again with " + fresh
	}
	return ""
}

// behind is an error of package postgres: the database of a node is older than the files in the
// directory of the node, which Behind returns.
type behind interface {
	error
	Behind() string
}

// WithMend returns the text of an error, followed by the text of Mend.
func WithMend(err error, crawls bool) string { return err.Error() + Mend(err, crawls) }

// MendLimit returns a sentence that says how to correct an error with the code DiskFull, and
// what became of the work done.
func MendLimit(err error, crawls bool) string {
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

// With returns an error with the exit code code. The message is that of err, which may be
// nil.
func With(code int, err error) error { return &Error{code, err} }

// Usagef returns an error with the code of a mistake of the user. The arguments are those of
// fmt.Errorf.
func Usagef(format string, args ...any) error { return With(Usage, fmt.Errorf(format, args...)) }

// Code returns the exit code of an error, which is Done for nil.
func Code(err error) int {
	var named *Error
	var option *crawler.OptionError
	var identity *crawler.IdentityError
	var inUse *store.InUseError
	var damaged *store.DamagedError
	var version *store.VersionError
	var purge *store.PurgeError
	var repair *store.RepairError
	var place *series.DirError
	var name *series.NameError
	var making *series.InUseError
	var behind behind
	switch {
	case err == nil:
		return Done
	case errors.As(err, &named):
		return named.code
	case errors.As(err, &option), errors.As(err, &identity), errors.As(err, &place), errors.As(err, &name), errors.Is(err, store.ErrNoCrawl):
		return Usage
	case errors.Is(err, postgres.ErrSession):
		return Later
	case errors.As(err, &inUse), errors.As(err, &making):
		return InUse
	case errors.As(err, &version):
		return Layout
	case errors.As(err, &damaged), errors.As(err, &purge), errors.As(err, &repair), errors.As(err, &behind):
		return State
	case store.DiskFull(err), fetch.TooManyOpen(err):
		return DiskFull
	}
	return Fatal
}

// OfRun returns the error of the command for a run that has ended by itself or was
// stopped.
func OfRun(s crawler.Summary) error {
	switch s.End {
	case crawler.EndBroken:
		return With(Forced, nil)
	case crawler.EndStopped, crawler.EndTime, crawler.EndPatience:
		return With(Later, nil)
	}
	if NothingFetched(s) {
		return ErrNothing
	}
	return nil
}

// ErrNothing is the error of a run if its crawl has no answer of any site.
var ErrNothing = With(Nothing, errors.New("nothing could be fetched: the summary says why"))

// NothingFetched reports whether a crawl has no answer of any site.
func NothingFetched(s crawler.Summary) bool { return s.Fetched == 0 && s.Frontier.Spent.Pages == 0 }

// A runsError says that a process runs the crawl in dir, and that the command can only work
// when no process runs it.
type runsError struct {
	dir string
	error
}

func (e *runsError) Unwrap() error { return e.error }

// If err says that the crawl in dir is in use, Meanwhile returns an error for which Mend names
// commands that can read the crawl while it runs. Otherwise it returns err.
func Meanwhile(dir string, err error) error {
	var inUse *store.InUseError
	if errors.As(err, &inUse) {
		return &runsError{dir, err}
	}
	return err
}
